"""What an engine does, and what it is given."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

Arrays = dict[str, np.ndarray]

# (model, tensors of a part, causal) -> losses (2,): what a part adds to the losses of
# its global batch.
Objective = Callable[[Any, dict[str, Any], bool], Any]


@dataclass(frozen=True)
class Part:
    """The input of one forward pass.

    Attributes:
        arrays: by name, always the same names, ranks and dtypes; input_ids are (rows,
            length).
        causal: whether tokens see only what is left of them.
    """

    arrays: Arrays
    causal: bool = False

    @property
    def kind(self) -> tuple[int, int | None]:
        """Parts of one kind are computed by one program: with the same sizes fixed.

        PaddleNLP's XLM can leave one size of its input open, not two, and none where it
        is causal (there, rows of a stream are all of one length).
        """
        rows, length = self.arrays["input_ids"].shape
        return rows, length if self.causal else None

    def open_shapes(self) -> dict[str, list[int | None]]:
        """The arrays' shapes, None for sizes that are not fixed."""
        return {
            name: list(self.kind) if value.ndim == 2 else [None] * value.ndim
            for name, value in self.arrays.items()
        }


class Engine(Protocol):
    """Gradients and updates of one model; ``training.steps`` says when.

    ``accumulate`` as often as there are parts, then ``reduce``, then ``apply`` or
    ``drop``.
    """

    def accumulate(self, part: Part, loss_scale: float) -> None:
        """Add a part's losses, and their gradients times ``loss_scale``."""

    def reduce(self) -> tuple[float, list[float]]:
        """Sum over all processes; returns the norm of the gradients and the losses."""

    def apply(self, factor: float, step: int) -> None:
        """Update the weights by the gradients times ``factor``."""

    def drop(self) -> None:
        """Forget the gradients."""

    def layer(self) -> Any:
        """A layer in dynamic mode that has the present weights."""

    def state(self) -> dict[str, Arrays]:
        """Weights and optimizer, by the model's names, in either engine's order."""

    def restore(self, state: dict[str, Arrays]) -> None:
        """Put back what ``state`` of either engine gave; the optimizer may be empty."""
