"""Labeled examples and the order in which a run sees them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from babelmill.finetuning.objective import Objective
from babelmill.models.inputs import Batch, Inputs
from babelmill.randomness import stream
from babelmill.training.engines import Part
from babelmill.training.run import Run

_BATCHES_PER_WINDOW = 50


@dataclass(frozen=True)
class Labeled:
    """Inputs with their targets, an array with a row for each, as the objective's."""

    inputs: Inputs
    targets: np.ndarray

    @classmethod
    def joined(cls, parts: Sequence["Labeled"]) -> "Labeled":
        """The examples of all parts."""
        return cls(
            Inputs.joined([part.inputs for part in parts]),
            np.concatenate([part.targets for part in parts]),
        )

    def batch(self, rows: np.ndarray, fields: Sequence[str], pad_id: int) -> Batch:
        """Some examples: ``fields`` of their inputs, and ``labels``."""
        batch = self.inputs.batch(rows, pad_id)
        return {name: batch[name] for name in fields} | {"labels": self.targets[rows]}


class TrainingBatches:
    """Every example once an epoch, in batches of like length, shuffled by the seed.

    Args:
        fields: of the model's input (``family.input_fields``).
        run: whose processes share every batch, and cut their shares into parts.
    """

    def __init__(
        self,
        train: Labeled,
        objective: Objective,
        fields: Sequence[str],
        batch_size: int,
        pad_id: int,
        seed: int,
        run: Run,
    ):
        self._train, self._objective, self._fields = train, objective, fields
        self._batch_size, self._pad_id, self._seed = batch_size, pad_id, seed
        self._processes, self._part_size = run.processes, run.part_size(batch_size)
        self.per_epoch = -(-len(self._train.targets) // batch_size)

    def from_step(self, step: int, steps: int) -> Iterator[tuple[list[Part], int]]:
        """Yield this process's parts of steps ``step`` to before ``steps``.

        With the number of tokens that the step has in all processes.
        """
        while step < steps:
            epoch, at = divmod(step, self.per_epoch)
            for rows in self._epoch(epoch)[at : at + steps - step]:
                yield self._parts(rows), int(self._train.inputs.lengths[rows].sum())
                step += 1

    def _parts(self, rows: np.ndarray) -> list[Part]:
        # Rows are sorted by length: dealt like cards, all processes have as much to do.
        mine = rows[self._processes.rank :: self._processes.world]
        count = self._objective.count(self._train.targets[rows])
        scale = {"per_target": np.float32(1 / max(count, 1))}
        return [
            Part(self._train.batch(part, self._fields, self._pad_id) | scale)
            for part in in_pieces(mine, self._part_size)
        ]

    def _epoch(self, epoch: int) -> list[np.ndarray]:
        rng = stream(self._seed, "fine-tuning epoch", epoch)
        order = rng.permutation(len(self._train.targets))
        batches = []
        for part in in_pieces(order, self._batch_size * _BATCHES_PER_WINDOW):
            part = part[np.argsort(self._train.inputs.lengths[part], kind="stable")]
            batches += in_pieces(part, self._batch_size)
        return [batches[i] for i in rng.permutation(len(batches))]


def in_pieces(rows: np.ndarray, size: int) -> list[np.ndarray]:
    """The rows, ``size`` at a time."""
    return [rows[start : start + size] for start in range(0, len(rows), size)]
