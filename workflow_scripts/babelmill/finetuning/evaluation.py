"""Evaluations on dev, and the weights of the best one."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from types import ModuleType
from typing import Any

import numpy as np

from babelmill.heads import Encoded, Head
from babelmill.models.inputs import sorted_batches
from babelmill.models.weights import Tensors, model_tensors
from babelmill.training.processes import Processes

_ALONE = Processes()
_BATCH_SIZE = 64


def evaluate(
    models: ModuleType,
    model,
    encoded: Encoded,
    head: Head,
    pad_id: int,
    processes: Processes = _ALONE,
) -> float:
    """The metric of a model of a family on the examples of one language.

    Every process computes its share of the outputs; then all have all of them.
    """
    import paddle

    outputs = np.zeros(head.output_shape(encoded.inputs), np.float32)
    batches = sorted_batches(encoded.inputs, _BATCH_SIZE, pad_id)
    model.eval()
    with paddle.no_grad():
        for rows, batch in islice(batches, processes.rank, None, processes.world):
            tensors = {name: paddle.to_tensor(value) for name, value in batch.items()}
            logits = models.classify(model, tensors).numpy()
            outputs[rows, : logits.shape[1]] = logits
    model.train()
    predictions = head.predictions(encoded, processes.summed(outputs))
    return head.score(head.metric, encoded.examples, predictions)


@dataclass
class History:
    """The evaluations of a run.

    Attributes:
        records: of all evaluations: ``step``, mean training ``loss`` since the one
            before, ``dev`` by language and ``dev_mean``.
        losses: since the last evaluation.
        best: the weights of the first of the best evaluations.
    """

    records: list[dict[str, Any]] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    best: Tensors | None = None

    @property
    def scores(self) -> list[float]:
        """The mean metric on dev of every evaluation, oldest first."""
        return [record["dev_mean"] for record in self.records]

    def add(self, step: int, scores: Mapping[str, float], model) -> dict[str, Any]:
        """Note an evaluation after ``step`` updates; keep the weights if it is best.

        Returns:
            its record.
        """
        mean = float(np.mean(list(scores.values())))
        if not self.scores or mean > max(self.scores):
            self.best = model_tensors(model)
        loss = round(float(np.mean(self.losses)), 6)
        record = {"step": step, "loss": loss, "dev": dict(scores), "dev_mean": mean}
        self.records.append(record)
        self.losses = []
        return record

    def arrays(self) -> dict[str, Tensors]:
        """What a checkpoint keeps as arrays."""
        return {} if self.best is None else {"best": self.best}

    def values(self) -> dict[str, Any]:
        """What a checkpoint keeps as JSON."""
        return {"records": self.records, "losses": self.losses}

    @classmethod
    def restored(
        cls, arrays: Mapping[str, Tensors], values: Mapping[str, Any]
    ) -> "History":
        """The history that a checkpoint kept."""
        return cls(values["records"], values["losses"], arrays.get("best"))
