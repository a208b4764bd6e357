"""Automatic mixed precision: which numbers are float16 or bfloat16, and loss scaling.

Weights and optimizer stay float32 at every level: O1 casts what Paddle's lists allow,
O2 (``use_pure_fp16``) everything but its black list. float16 needs its loss scaled, so
that small gradients do not vanish; bfloat16 does not.
"""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from babelmill.errors import UserError

# PaddleNLP's: safe in half precision, although Paddle's own list leaves them out.
WHITE_LIST = ("softmax", "layer_norm", "gelu")


def level(settings: Mapping[str, Any]) -> str:
    """O0 (float32), O1 or O2."""
    if settings.get("use_pure_fp16"):
        return "O2"
    return settings.get("amp_level", "O1") if settings.get("use_amp") else "O0"


def dtype(settings: Mapping[str, Any]) -> str:
    """float16 or bfloat16, where the level is not O0."""
    if settings.get("use_pure_fp16"):
        return "float16"
    return settings.get("amp_dtype", "float16")


def check_device(settings: Mapping[str, Any], device: str) -> None:
    """Refuse what only a GPU can do, before anything starts.

    On the CPU, Paddle ignores mixed precision in dynamic mode and crashes in static
    mode.
    """
    if device != "cpu":
        return
    for name in ("use_amp", "use_pure_fp16"):
        if settings.get(name):
            raise UserError(f"{name} needs a GPU: set it to false, or --device gpu")


def autocast(settings: Mapping[str, Any]):
    """A context in which the forward pass is computed (and a static one built)."""
    if level(settings) == "O0":
        return contextlib.nullcontext()
    import paddle

    return paddle.amp.auto_cast(
        custom_white_list=settings.get("custom_white_list", WHITE_LIST),
        custom_black_list=settings.get("custom_black_list", ()),
        level=level(settings),
        dtype=dtype(settings),
    )


@dataclass
class LossScale:
    """The factor of the loss: halved when gradients overflow, doubled when rarely.

    PaddlePaddle's GradScaler, as numbers that a checkpoint holds: a step whose
    gradients are not finite is left out.
    """

    value: float = 1.0
    dynamic: bool = False
    good_steps: int = 0

    _STEPS_TO_DOUBLE = 1000
    _SMALLEST = 1.0

    def update(self, finite: bool) -> None:
        """Learn from a step whether its gradients were finite."""
        if not self.dynamic:
            return
        self.good_steps = self.good_steps + 1 if finite else 0
        if not finite:
            self.value = max(self.value / 2, self._SMALLEST)
        elif self.good_steps == self._STEPS_TO_DOUBLE:
            self.value, self.good_steps = self.value * 2, 0

    def state(self) -> list[float]:
        """What a checkpoint holds of it."""
        return [self.value, self.good_steps]

    def restore(self, state: list[float]) -> None:
        """Put back what ``state`` gave."""
        self.value, self.good_steps = state


def loss_scale(settings: Mapping[str, Any]) -> LossScale:
    """``scale_loss`` to start with in float16, 1 otherwise."""
    if level(settings) == "O0" or dtype(settings) == "bfloat16":
        return LossScale()
    return LossScale(settings.get("scale_loss", 32768.0), dynamic=True)
