"""The order of examples: each exactly once an epoch, whatever the shards hold.

The rows of all shards are one long list, in chunks as they are compressed. An epoch
permutes the chunks by (seed, epoch), then, window by window, the rows, and sorts the
rows of a window by length into batches, so that a batch has little padding. A window is
all that is in memory. Any batch can be found from its number alone: resuming reads no
examples that were seen.
"""

import bisect
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np

from babelmill.randomness import stream
from babelmill.shards.layout import ROWS_PER_CHUNK, Rows, concatenate, open_shard, take

_BATCHES_PER_WINDOW = 64


class ShardRows:
    """The rows of several shards as one list of chunks."""

    def __init__(self, paths: list[Path]):
        self._files = [open_shard(path) for path in sorted(paths)]
        self._chunks: list[tuple[int, int, int]] = []
        for number, shard in enumerate(self._files):
            rows = len(shard["input_ids"])
            for start in range(0, rows, ROWS_PER_CHUNK):
                stop = min(start + ROWS_PER_CHUNK, rows)
                self._chunks.append((number, start, stop))
        self.rows = sum(stop - start for _, start, stop in self._chunks)

    def order(self, seed: int, epoch: int) -> "EpochOrder":
        """The epoch's permutation of the chunks."""
        rng = stream(seed, "epoch", epoch)
        chunks = [self._chunks[i] for i in rng.permutation(len(self._chunks))]
        return EpochOrder(self._files, chunks)


class EpochOrder:
    """Rows of permuted chunks, addressed by their place in the epoch."""

    def __init__(self, files: list[h5py.File], chunks: list[tuple[int, int, int]]):
        self._files = files
        self._chunks = chunks
        sizes = [stop - start for _, start, stop in chunks]
        self._ends = np.cumsum(sizes).tolist()

    def read(self, first: int, last: int) -> Rows:
        """The rows from place ``first`` to before place ``last``."""
        blocks = []
        at = bisect.bisect_right(self._ends, first)
        while at < len(self._chunks) and (self._ends[at - 1] if at else 0) < last:
            number, start, stop = self._chunks[at]
            before = self._ends[at] - (stop - start)
            low, high = max(first - before, 0), min(last - before, stop - start)
            shard = self._files[number]
            blocks.append(
                {name: shard[name][start + low : start + high] for name in shard}
            )
            at += 1
        return concatenate(blocks)


def count_tokens_by_language(
    path: Path, languages: int, special_ids: np.ndarray, vocab_size: int
) -> np.ndarray:
    """How often each token occurs in each language of a shard, before it was masked.

    Special tokens are left out.

    Returns:
        (languages, vocabulary) float32.
    """
    counts = np.zeros((languages, vocab_size), np.float32)
    with h5py.File(path, "r") as shard:
        for start in range(0, len(shard["input_ids"]), ROWS_PER_CHUNK):
            rows = slice(start, start + ROWS_PER_CHUNK)
            ids, real = shard["input_ids"][rows], shard["input_mask"][rows] > 0
            positions, labels = (
                shard[name][rows] for name in ("masked_lm_positions", "masked_lm_ids")
            )
            row, slot = np.nonzero(positions)
            ids[row, positions[row, slot]] = labels[row, slot]
            np.add.at(counts, (shard["lang_ids"][rows][real], ids[real]), 1)
    counts[:, special_ids] = 0
    return counts


def batches(
    rows: ShardRows, batch_size: int, seed: int, first_batch: int = 0
) -> Iterator[Rows]:
    """Yield batches for ever, epoch after epoch, from batch number ``first_batch`` on.

    Every batch has ``batch_size`` rows but the last of an epoch.
    """
    per_epoch = -(-rows.rows // batch_size)
    epoch, at = divmod(first_batch, per_epoch)
    while True:
        order = rows.order(seed, epoch)
        while at < per_epoch:
            window = at // _BATCHES_PER_WINDOW
            skip = at % _BATCHES_PER_WINDOW
            in_window = _window(order, rows.rows, batch_size, window, seed, epoch)
            for batch in in_window[skip:]:
                yield batch
                at += 1
        epoch, at = epoch + 1, 0


def _window(
    order: EpochOrder, rows: int, batch_size: int, window: int, seed: int, epoch: int
) -> list[Rows]:
    size = batch_size * _BATCHES_PER_WINDOW
    first, last = window * size, min((window + 1) * size, rows)
    block = order.read(first, last)
    rng = stream(seed, "window", epoch, window)
    shuffled = rng.permutation(last - first)
    lengths = block["input_mask"].sum(1, dtype=np.int64)[shuffled]
    by_length = shuffled[np.argsort(lengths, kind="stable")]
    whole = len(by_length) // batch_size
    parts = [by_length[i * batch_size : (i + 1) * batch_size] for i in range(whole)]
    parts = [parts[i] for i in rng.permutation(whole)]
    if len(by_length) % batch_size:
        parts.append(by_length[whole * batch_size :])
    return [take(block, part) for part in parts]
