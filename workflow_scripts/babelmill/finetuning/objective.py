"""What a classifier or a regression is trained towards and judged by."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from babelmill.metrics import score
from babelmill.tasks import Example


@dataclass(frozen=True)
class Objective:
    """The outputs of a task.

    Attributes:
        labels: the names of the classes; none for a regression, whose labels are
            numbers.
        metric: what the best step is chosen by.
    """

    labels: Sequence[str]
    metric: str

    @property
    def outputs(self) -> int:
        """How many numbers the model gives for an example."""
        return max(len(self.labels), 1)

    def targets(self, examples: Sequence[Example]) -> np.ndarray:
        """Class numbers (examples,) int64, or numbers (examples,) float32."""
        if not self.labels:
            return np.asarray([float(e.label) for e in examples], np.float32)
        number = {label: i for i, label in enumerate(self.labels)}
        return np.asarray([number[e.label] for e in examples], np.int64)

    def loss(self, logits, targets):
        """Mean cross-entropy of classes, mean squared error of numbers.

        Args:
            logits: (rows, outputs) float32.
            targets: (rows,) as ``targets`` gives them.
        """
        import paddle.nn.functional as F

        if self.labels:
            return F.cross_entropy(logits, targets)
        return F.mse_loss(logits.squeeze(-1), targets)

    def predictions(self, logits: np.ndarray) -> np.ndarray:
        """The likeliest class of each row, or its number."""
        return logits.argmax(-1) if self.labels else logits[:, 0]

    def score(self, targets: np.ndarray, logits: np.ndarray) -> float:
        """The metric of all rows together."""
        return float(score(self.metric, targets, self.predictions(logits)))
