"""Noticing a loss that explodes."""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from babelmill.errors import UserError

_STEPS = 20
_TIMES = 3.0
_SHARE_OF_FIRST = 0.5


@dataclass
class LossWatch:
    """Stops a run whose loss climbs back most of the way that it had come down.

    That is, when the mean of the last 20 losses is over 3 times the lowest such mean so
    far and over half of the first. A noisy loss is not: it has to stay high, and high
    is measured by what the model lost when it knew nothing.
    """

    recent: list[float] = field(default_factory=list)
    first: float | None = None
    lowest: float | None = None

    def add(self, loss: float, step: int) -> None:
        """Take the loss of a step.

        Raises:
            UserError: the loss explodes.
        """
        self.recent = [*self.recent[-_STEPS + 1 :], loss]
        if len(self.recent) < _STEPS:
            return
        mean = float(np.mean(self.recent))
        if self.first is None:
            self.first = self.lowest = mean
        self.lowest = min(self.lowest, mean)
        if mean > max(_TIMES * self.lowest, _SHARE_OF_FIRST * self.first):
            raise UserError(
                f"the loss explodes: {mean:.3f} over the {_STEPS} steps to step {step},"
                f" after it was down at {self.lowest:.3f}: lower learning_rate or"
                " max_grad_norm, or lengthen the warm-up; earlier checkpoints are kept"
            )

    def state(self) -> dict[str, Any]:
        """What a checkpoint holds of it."""
        return asdict(self)
