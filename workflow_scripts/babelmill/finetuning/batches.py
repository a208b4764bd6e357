"""Labeled examples and the order in which a run sees them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from babelmill.heads import Head
from babelmill.heads.base import IGNORED
from babelmill.models.inputs import Batch, Inputs
from babelmill.randomness import stream
from babelmill.training.engines import Part
from babelmill.training.run import Run

_BATCHES_PER_WINDOW = 50


@dataclass(frozen=True)
class Labeled:
    """Inputs with their targets.

    Attributes:
        targets: as the head's; the first axis is that of the inputs, or of groups of as
            many each (the choices of an example).
        of_tokens: whether the second axis is that of the tokens of an input.
    """

    inputs: Inputs
    targets: np.ndarray
    of_tokens: bool = False

    @classmethod
    def joined(cls, parts: Sequence["Labeled"]) -> "Labeled":
        """The examples of all parts."""
        targets = [part.targets for part in parts]
        of_tokens = parts[0].of_tokens
        if of_tokens:
            longest = max(part.shape[1] for part in targets)
            targets = [_widened(part, longest) for part in targets]
        inputs = Inputs.joined([part.inputs for part in parts])
        return cls(inputs, np.concatenate(targets), of_tokens)

    def __len__(self) -> int:
        return len(self.targets)

    @cached_property
    def lengths(self) -> np.ndarray:
        """Of the inputs of each target, (targets, inputs of a target) int32."""
        return self.inputs.lengths.reshape(len(self.targets), -1)

    def batch(self, rows: np.ndarray, fields: Sequence[str], pad_id: int) -> Batch:
        """Some examples: ``fields`` of their inputs, and ``labels``."""
        group = self.lengths.shape[1]
        inputs = (rows[:, None] * group + np.arange(group)).ravel()
        batch, targets = self.inputs.batch(inputs, pad_id), self.targets[rows]
        if self.of_tokens:
            targets = targets[:, : batch["input_ids"].shape[1]]
        return {name: batch[name] for name in fields} | {"labels": targets}


def _widened(targets: np.ndarray, width: int) -> np.ndarray:
    missing = ((0, 0), (0, width - targets.shape[1]))
    return np.pad(targets, missing, constant_values=IGNORED)


class TrainingBatches:
    """Every example once an epoch, in batches of like length, shuffled by the seed.

    Args:
        fields: of the model's input (``family.input_fields``).
        run: whose processes share every batch, and cut their shares into parts.
    """

    def __init__(
        self,
        train: Labeled,
        head: Head,
        fields: Sequence[str],
        batch_size: int,
        pad_id: int,
        seed: int,
        run: Run,
    ):
        self._train, self._head, self._fields = train, head, fields
        self._longest = train.lengths.max(1)
        self._batch_size, self._pad_id, self._seed = batch_size, pad_id, seed
        self._processes, self._part_size = run.processes, run.part_size(batch_size)
        self.per_epoch = -(-len(self._train) // batch_size)

    def from_step(self, step: int, steps: int) -> Iterator[tuple[list[Part], int]]:
        """Yield this process's parts of steps ``step`` to before ``steps``.

        With the number of tokens that the step has in all processes.
        """
        while step < steps:
            epoch, at = divmod(step, self.per_epoch)
            for rows in self._epoch(epoch)[at : at + steps - step]:
                yield self._parts(rows), int(self._train.lengths[rows].sum())
                step += 1

    def _parts(self, rows: np.ndarray) -> list[Part]:
        # Rows are sorted by length: dealt like cards, all processes have as much to do.
        mine = rows[self._processes.rank :: self._processes.world]
        count = self._head.count(self._train.targets[rows])
        scale = {"per_target": np.float32(1 / max(count, 1))}
        return [
            Part(self._train.batch(part, self._fields, self._pad_id) | scale)
            for part in in_pieces(mine, self._part_size)
        ]

    def _epoch(self, epoch: int) -> list[np.ndarray]:
        rng = stream(self._seed, "fine-tuning epoch", epoch)
        order = rng.permutation(len(self._train))
        batches = []
        for part in in_pieces(order, self._batch_size * _BATCHES_PER_WINDOW):
            part = part[np.argsort(self._longest[part], kind="stable")]
            batches += in_pieces(part, self._batch_size)
        return [batches[i] for i in rng.permutation(len(batches))]


def in_pieces(rows: np.ndarray, size: int) -> list[np.ndarray]:
    """The rows, ``size`` at a time."""
    return [rows[start : start + size] for start in range(0, len(rows), size)]
