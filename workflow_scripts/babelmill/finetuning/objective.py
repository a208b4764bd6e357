"""What a classifier or a regression is trained towards and judged by."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from babelmill.metrics import score
from babelmill.tasks import Example
from babelmill.training import engines


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

    def count(self, targets: np.ndarray) -> int:
        """How many terms the loss of such targets is the sum of."""
        return len(targets)

    def loss(self, logits, targets):
        """Cross-entropy of classes (nats), squared error of numbers; sums over rows.

        Args:
            logits: (rows, outputs) float32.
            targets: (rows,) as ``targets`` gives them.
        """
        import paddle.nn.functional as F

        if self.labels:
            return F.cross_entropy(logits, targets, reduction="sum")
        return F.mse_loss(logits.squeeze(-1), targets, reduction="sum")

    def of_parts(self, family: ModuleType) -> engines.Objective:
        """The loss of parts of a batch, which add up to the mean over its targets."""

        def losses(model, batch, causal):
            import paddle

            loss = self.loss(family.classify(model, batch), batch["labels"])
            loss = loss * batch["per_target"]
            return paddle.stack([loss, paddle.zeros_like(loss)])

        return losses

    def predictions(self, logits: np.ndarray) -> np.ndarray:
        """The likeliest class of each row, or its number."""
        return logits.argmax(-1) if self.labels else logits[:, 0]

    def score(self, targets: np.ndarray, logits: np.ndarray) -> float:
        """The metric of all rows together."""
        return float(score(self.metric, targets, self.predictions(logits)))
