"""Noticing a loss that explodes."""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from babelmill.errors import UserError

_STEPS = 20
_TIMES = 3.0
_SHARE_OF_GUESSING = 0.5


@dataclass
class LossWatch:
    """Stops a run whose loss is far over what it had come down to.

    That is, when the mean of the last 20 losses is over 3 times the lowest such mean so
    far and over half of the loss of one who guesses. A noisy loss is not: it has to
    stay high. A run that never learns anything is stopped at 3 times of guessing.

    Attributes:
        guessing: loss of a model that gives all targets the same chance, in nats.
        lowest: mean of 20 losses in a row, or ``guessing`` where that is lower.
        recent: the last losses, 20 at most.
    """

    guessing: float
    lowest: float = float("inf")
    recent: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lowest = min(self.lowest, self.guessing)

    def add(self, loss: float, step: int) -> None:
        """Take the loss of a step.

        Raises:
            UserError: the loss explodes.
        """
        self.recent = [*self.recent[-_STEPS + 1 :], loss]
        if len(self.recent) < _STEPS:
            return
        mean = float(np.mean(self.recent))
        self.lowest = min(self.lowest, mean)
        if self._is_high(mean):
            raise UserError(
                f"the loss explodes: {mean:.3f} over the {_STEPS} steps to step {step},"
                f" where {self.lowest:.3f} was in reach: lower learning_rate or"
                " max_grad_norm, or lengthen the warm-up"
            )

    @property
    def is_calm(self) -> bool:
        """Whether the last loss is none of an explosion: its state is worth keeping."""
        return not self._is_high(self.recent[-1])

    def _is_high(self, loss: float) -> bool:
        return loss > max(_TIMES * self.lowest, _SHARE_OF_GUESSING * self.guessing)

    def state(self) -> dict[str, Any]:
        """What a checkpoint holds of it."""
        return asdict(self)
