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
    def rows(self) -> int:
        """How many there are."""
        return len(self.arrays["input_ids"])

    @property
    def kind(self) -> tuple[int, bool]:
        """Parts of one kind are computed by one program."""
        return self.rows, self.causal

    def any_length(self) -> dict[str, list[int | None]]:
        """The arrays' shapes, None for all sizes but the rows'.

        PaddleNLP's XLM can leave one size of its input open, not two.
        """
        return {
            name: [
                self.rows if at == 0 and size == self.rows and value.ndim > 1 else None
                for at, size in enumerate(value.shape)
            ]
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
