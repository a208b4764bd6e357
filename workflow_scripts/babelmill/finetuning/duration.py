"""How long a run trains, and when it is evaluated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Duration:
    """The steps of a run.

    Attributes:
        steps: all of them, unless it stops early.
        warmup_steps: those until the highest learning rate.
        per_epoch: steps that see every training example once.
        evaluations_per_epoch: evenly spread, the last at the end of the epoch.
        patience: evaluations in a row without a better one that end the run; None -
            it does not stop early.
    """

    steps: int
    warmup_steps: int
    per_epoch: int
    evaluations_per_epoch: int
    patience: int | None

    @classmethod
    def of(cls, settings: Mapping[str, Any], per_epoch: int) -> "Duration":
        """What the settings mean for a training set of so many batches.

        Where they are set, ``max_steps`` counts instead of ``num_train_epochs`` and
        ``warmup_steps`` instead of ``warmup_proportion``, as in ``run_glue.py``.
        """
        steps = settings["max_steps"]
        if steps is None:
            steps = per_epoch * settings["num_train_epochs"]
        warmup_steps = settings["warmup_steps"]
        if warmup_steps is None:
            warmup_steps = int(steps * settings["warmup_proportion"])
        return cls(
            steps,
            warmup_steps,
            per_epoch,
            settings["evaluations_per_epoch"],
            settings["early_stopping_patience"],
        )

    def evaluates_after(self, step: int) -> bool:
        """Whether the weights of so many steps are evaluated; the last ones always."""
        due = step * self.evaluations_per_epoch // self.per_epoch
        before = (step - 1) * self.evaluations_per_epoch // self.per_epoch
        return step == self.steps or due > before

    def stops_after(self, scores: Sequence[float]) -> bool:
        """Whether so many last evaluations were no better than one before them.

        Args:
            scores: of all evaluations, oldest first.
        """
        if self.patience is None or not scores:
            return False
        return len(scores) - 1 - scores.index(max(scores)) >= self.patience
