"""All gradients of a step as one vector, with the losses at its end.

One vector is summed over the processes in one piece, has one norm, and is made alike
by both engines: they then agree bit for bit. The functions work on tensors in dynamic
mode and on values of a static program.
"""

import math
from collections.abc import Iterable, Sequence

# Every step has two losses; one that a model does not have stays 0.
LOSSES = 2


def size(shapes: Iterable[Sequence[int]]) -> int:
    """Elements of the vector of gradients of these shapes."""
    return sum(map(math.prod, shapes)) + LOSSES


def flattened(gradients: Sequence, losses):
    """Concatenate gradients and ``losses`` (2,) to one float32 vector."""
    import paddle

    parts = [gradient.flatten().astype("float32") for gradient in gradients]
    return paddle.concat([*parts, losses.astype("float32")])


def summed(flat, world: int) -> None:
    """Add up the vectors of all processes, in place."""
    import paddle.distributed as dist

    if world > 1:
        dist.all_reduce(flat)


def norm_and_losses(flat):
    """The global norm of the gradients and the losses, (3,) float32."""
    import paddle

    norm = paddle.linalg.norm(flat[:-LOSSES])
    return paddle.concat([norm.reshape([1]), flat[-LOSSES:]])


def cut(flat, shapes: Sequence[Sequence[int]], factor) -> list:
    """The gradients times ``factor``, each in its shape."""
    import paddle

    parts = paddle.split(flat[:-LOSSES] * factor, [math.prod(s) for s in shapes])
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
