"""Labeled examples and the order in which a run sees them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from babelmill.heads.base import IGNORED
from babelmill.models.inputs import Batch, Inputs
from babelmill.randomness import stream

_BATCHES_PER_WINDOW = 50


@dataclass(frozen=True)
class Labeled:
    """Inputs with their targets.

    Attributes:
        targets: the first axis is that of the inputs, or of groups of as many each.
        per_token: whether the second axis is that of the tokens of an input.
    """

    inputs: Inputs
    targets: np.ndarray
    per_token: bool = False

    @classmethod
    def joined(cls, parts: Sequence["Labeled"]) -> "Labeled":
        """All parts."""
        targets = [part.targets for part in parts]
        if parts[0].per_token:
            longest = max(part.shape[1] for part in targets)
            targets = [
                np.pad(
                    part,
                    ((0, 0), (0, longest - part.shape[1])),
                    constant_values=IGNORED,
                )
                for part in targets
            ]
        inputs = Inputs.joined([part.inputs for part in parts])
        return cls(inputs, np.concatenate(targets), parts[0].per_token)

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def group(self) -> int:
        """How many inputs a target is for."""
        return len(self.inputs) // len(self.targets)

    @property
    def lengths(self) -> np.ndarray:
        """The longest input of each target, (targets,) int32."""
        return self.inputs.lengths.reshape(-1, self.group).max(1)

    def batch(self, rows: np.ndarray, pad_id: int) -> tuple[Batch, np.ndarray]:
        """The inputs of some targets, padded to the longest, and the targets."""
        inputs = (rows[:, None] * self.group + np.arange(self.group)).ravel()
        batch, targets = self.inputs.batch(inputs, pad_id), self.targets[rows]
        if self.per_token:
            targets = targets[:, : batch["input_ids"].shape[1]]
        return batch, targets


class TrainingBatches:
    """Every example once an epoch, in batches of like length, shuffled by the seed."""

    def __init__(
        self, train: Sequence[Labeled], batch_size: int, pad_id: int, seed: int
    ):
        self._train = Labeled.joined(train)
        self._lengths = self._train.lengths
        self._batch_size, self._pad_id, self._seed = batch_size, pad_id, seed
        self.per_epoch = -(-len(self._train) // batch_size)

    def from_step(self, step: int, steps: int) -> Iterator[tuple[Batch, np.ndarray]]:
        """Yield the batches of steps ``step`` to ``steps`` with their targets."""
        while step < steps:
            epoch, at = divmod(step, self.per_epoch)
            for rows in self._epoch(epoch)[at : at + steps - step]:
                yield self._train.batch(rows, self._pad_id)
                step += 1

    def _epoch(self, epoch: int) -> list[np.ndarray]:
        rng = stream(self._seed, "fine-tuning epoch", epoch)
        order = rng.permutation(len(self._train))
        window = self._batch_size * _BATCHES_PER_WINDOW
        batches = []
        for start in range(0, len(order), window):
            part = order[start : start + window]
            part = part[np.argsort(self._lengths[part], kind="stable")]
            batches += [
                part[i : i + self._batch_size]
                for i in range(0, len(part), self._batch_size)
            ]
        return [batches[i] for i in rng.permutation(len(batches))]
