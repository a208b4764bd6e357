"""Labeled examples and the order in which a run sees them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from babelmill.models.inputs import Batch, Inputs
from babelmill.randomness import stream

_BATCHES_PER_WINDOW = 50


@dataclass(frozen=True)
class Labeled:
    """Inputs with their targets, (examples,) int64 (classes) or float32 (numbers)."""

    inputs: Inputs
    targets: np.ndarray


class TrainingBatches:
    """Every example once an epoch, in batches of like length, shuffled by the seed."""

    def __init__(
        self, train: Sequence[Labeled], batch_size: int, pad_id: int, seed: int
    ):
        self._inputs = Inputs.joined([part.inputs for part in train])
        self._targets = np.concatenate([part.targets for part in train])
        self._batch_size, self._pad_id, self._seed = batch_size, pad_id, seed
        self.per_epoch = -(-len(self._inputs) // batch_size)

    def from_step(self, step: int, steps: int) -> Iterator[tuple[Batch, np.ndarray]]:
        """Yield the batches of steps ``step`` to ``steps`` with their targets."""
        while step < steps:
            epoch, at = divmod(step, self.per_epoch)
            for rows in self._epoch(epoch)[at : at + steps - step]:
                yield self._inputs.batch(rows, self._pad_id), self._targets[rows]
                step += 1

    def _epoch(self, epoch: int) -> list[np.ndarray]:
        rng = stream(self._seed, "fine-tuning epoch", epoch)
        order = rng.permutation(len(self._inputs))
        window = self._batch_size * _BATCHES_PER_WINDOW
        batches = []
        for start in range(0, len(order), window):
            part = order[start : start + window]
            part = part[np.argsort(self._inputs.lengths[part], kind="stable")]
            batches += [
                part[i : i + self._batch_size]
                for i in range(0, len(part), self._batch_size)
            ]
        return [batches[i] for i in rng.permutation(len(batches))]
