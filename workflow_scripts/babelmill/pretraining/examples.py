"""The order of examples: each exactly once an epoch, whatever the shards hold.

The rows of all shards are one long list of runs of neighbors, as they are compressed.
An epoch permutes the runs by (seed, epoch), then, window by window, the rows, and sorts
the rows of a window by length into global batches, so that a batch has little padding.
A window is all that is in memory, a few shards are all that is open. Any global batch
can be found from its number alone: resuming reads no examples that were seen.

How many processes there are and how many rows each takes at a time only cuts a global
batch; which rows are in it never depends on them.
"""

from collections import OrderedDict
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from babelmill.errors import UserError
from babelmill.pretraining.remasking import unmasked_ids
from babelmill.randomness import stream
from babelmill.shards.layout import ROWS_PER_CHUNK, Rows, concatenate, open_shard, take

_ROWS_PER_WINDOW = 4096
# Foreign shards are compressed in chunks of any height; a window mixes some runs.
_LONGEST_RUN = _ROWS_PER_WINDOW // 4
_OPEN_SHARDS = 32


@dataclass(frozen=True)
class Share:
    """What one process computes of one global batch.

    Attributes:
        micro_batches: the rows of this process, shortest first, in parts that fit its
            memory; empty where a short last batch has fewer rows than processes.
        predictions: targets of the whole global batch, over all processes: masked
            positions, and every token but the first of causal rows.
        rows: rows of the whole global batch.
        tokens: tokens of the whole global batch, padding left out.
    """

    micro_batches: list[Rows]
    predictions: int
    rows: int
    tokens: int


class ShardRows:
    """The rows of several shards as one list of runs; few of the files are open.

    Args:
        vocab_size: what an id that is read must be under; any id is good without it.

    Raises:
        UserError: a file is not HDF5, unlike the first one, or there is no row.
    """

    def __init__(self, paths: list[Path], vocab_size: int | None = None):
        self._paths, self._vocab_size = sorted(paths), vocab_size
        self._open: OrderedDict[int, h5py.File] = OrderedDict()
        rows, runs, layout = [], [], None
        for path in self._paths:
            with open_shard(path) as shard:
                shape = {name: shard[name].shape[1:] for name in sorted(shard)}
                if "input_ids" not in shard or (layout or shape) != shape:
                    raise UserError(
                        f"{path}: its fields {shape} are not those of the first shard,"
                        f" {self._paths[0]}: {layout}"
                    )
                layout = shape
                rows.append(len(shard["input_ids"]))
                runs.append(_rows_per_run(shard["input_ids"]))
        self._rows = np.asarray(rows, np.int64)
        self._rows_per_run = np.asarray(runs, np.int64)
        # Where the runs of each file end in the list of all runs.
        self._run_ends = np.cumsum(-(-self._rows // self._rows_per_run))
        self.rows = int(self._rows.sum())
        if not self.rows:
            raise UserError(f"{self._paths[0].parent}: the shards have no rows")

    def order(self, seed: int, epoch: int) -> "EpochOrder":
        """The epoch's permutation of the runs."""
        runs = stream(seed, "epoch", epoch).permutation(self._run_ends[-1])
        _, first, last = self._find(runs)
        return EpochOrder(self, runs, np.cumsum(last - first))

    def read(self, run: int, skip: int, stop: int) -> Rows:
        """The rows of one run from its row ``skip`` to before its row ``stop``.

        Raises:
            UserError: the file has changed, or holds an id outside the vocabulary.
        """
        number, first, _ = self._find(run)
        path = self._paths[number]
        try:
            shard = self._shard(int(number))
            rows = {name: shard[name][first + skip : first + stop] for name in shard}
        except OSError as error:
            raise UserError(f"{path}: not readable: {error}: did it change?") from error
        self._check(rows, path)
        return rows

    def _check(self, rows: Rows, path: Path) -> None:
        # HDF5 reads zeros where a file was cut.
        if not rows["input_mask"].any(1).all():
            raise UserError(f"{path}: it has a row without a token: was it cut?")
        if self._vocab_size is None:
            return
        highest = max(rows[n].max(initial=0) for n in ("input_ids", "masked_lm_ids"))
        if highest >= self._vocab_size:
            raise UserError(
                f"{path}: it holds the id {highest}, the tokenizer has"
                f" {self._vocab_size}: was it made with another one?"
            )

    def _find(self, runs: np.ndarray | int) -> tuple[np.ndarray, ...]:
        """The file of each run, its first row there and the one after its last."""
        number = np.searchsorted(self._run_ends, runs, side="right")
        before = np.where(number > 0, self._run_ends[number - 1], 0)
        first = (runs - before) * self._rows_per_run[number]
        last = np.minimum(first + self._rows_per_run[number], self._rows[number])
        return number, first, last

    def _shard(self, number: int) -> h5py.File:
        if number not in self._open:
            if len(self._open) == _OPEN_SHARDS:
                self._open.popitem(last=False)[1].close()
            self._open[number] = open_shard(self._paths[number])
        self._open.move_to_end(number)
        return self._open[number]


def _rows_per_run(column: h5py.Dataset) -> int:
    """As many rows as are inflated together, within limits."""
    height = column.chunks[0] if column.chunks else ROWS_PER_CHUNK
    return min(max(height, ROWS_PER_CHUNK), _LONGEST_RUN)


class EpochOrder:
    """Rows of permuted runs, addressed by their place in the epoch."""

    def __init__(self, rows: ShardRows, runs: np.ndarray, ends: np.ndarray):
        self._rows = rows
        self._runs = runs
        self._ends = ends

    def read(self, first: int, last: int) -> Rows:
        """The rows from place ``first`` to before place ``last``."""
        blocks = []
        at = int(np.searchsorted(self._ends, first, side="right"))
        while first < last:
            start = int(self._ends[at - 1]) if at else 0
            stop = min(int(self._ends[at]), last)
            blocks.append(
                self._rows.read(int(self._runs[at]), first - start, stop - start)
            )
            first, at = stop, at + 1
        return concatenate(blocks)


def global_batches(
    rows: ShardRows,
    global_batch_size: int,
    seed: int,
    first_step: int = 0,
    rank: int = 0,
    world: int = 1,
    micro_batch_size: int | None = None,
    remask: Callable[[Rows, int], Rows] | None = None,
) -> Generator[Share, None, None]:
    """Yield this process's share of the global batch of every step, for ever.

    Every global batch has ``global_batch_size`` rows but the last of an epoch. All
    processes read all rows, so that none must tell the others how much it has.

    Args:
        first_step: number of the first batch, as when resuming.
        rank, world: number of this process, and how many there are.
        micro_batch_size: most rows that a process computes at once; all by default.
        remask: gives the rows of a step new masks, as ``remasking.Remasking`` does.
    """
    for step, batch in enumerate(_batches(rows, global_batch_size, seed, first_step)):
        if remask is not None:
            batch = remask(batch, first_step + step)
        yield _share(batch, rank, world, micro_batch_size)


def _share(batch: Rows, rank: int, world: int, micro_batch_size: int | None) -> Share:
    """Deal the rows, sorted by length, to the processes as one deals cards."""
    count = len(batch["input_ids"])
    mine = np.arange(rank, count, world)
    size = micro_batch_size or max(len(mine), 1)
    return Share(
        micro_batches=[
            take(batch, mine[start : start + size])
            for start in range(0, len(mine), size)
        ],
        predictions=_predictions(batch),
        rows=count,
        tokens=int(_lengths(batch).sum()),
    )


def _lengths(rows: Rows) -> np.ndarray:
    return rows["input_mask"].sum(1, dtype=np.int64)


def _predictions(rows: Rows) -> int:
    # Position 0 is a special token and never masked: it is padding here.
    masked = np.count_nonzero(rows["masked_lm_positions"])
    if "causal" not in rows:
        return int(masked)
    return int(masked + (_lengths(rows) - 1)[rows["causal"] > 0].sum())


def _batches(
    rows: ShardRows, batch_size: int, seed: int, first_batch: int
) -> Iterator[Rows]:
    per_epoch = -(-rows.rows // batch_size)
    per_window = max(1, _ROWS_PER_WINDOW // batch_size)
    epoch, at = divmod(first_batch, per_epoch)
    while True:
        order = rows.order(seed, epoch)
        while at < per_epoch:
            window, skip = divmod(at, per_window)
            size = batch_size * per_window
            first, last = window * size, min((window + 1) * size, rows.rows)
            block = order.read(first, last)
            rng = stream(seed, "window", epoch, window)
            parts = _by_length(_lengths(block), batch_size, rng)[skip:]
            for part in parts:
                yield take(block, part)
            at += len(parts)
        epoch, at = epoch + 1, 0


def _by_length(
    lengths: np.ndarray, batch_size: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Rows of like length together; the batches shuffled, a short one last."""
    shuffled = rng.permutation(len(lengths))
    by_length = shuffled[np.argsort(lengths[shuffled], kind="stable")]
    whole = len(by_length) // batch_size
    parts = [by_length[i * batch_size : (i + 1) * batch_size] for i in range(whole)]
    parts = [parts[i] for i in rng.permutation(whole)]
    if len(by_length) % batch_size:
        parts.append(by_length[whole * batch_size :])
    return parts


def count_tokens_by_language(
    path: Path, languages: int, special_ids: np.ndarray, vocab_size: int
) -> np.ndarray:
    """How often each token occurs in each language of a shard, before it was masked.

    Special tokens are left out.

    Returns:
        (languages, vocabulary) float32.
    """
    counts = np.zeros((languages, vocab_size), np.float32)
    with open_shard(path) as shard:
        for start in range(0, len(shard["input_ids"]), ROWS_PER_CHUNK):
            rows = {name: shard[name][start : start + ROWS_PER_CHUNK] for name in shard}
            real = rows["input_mask"] > 0
            ids = unmasked_ids(rows)
            np.add.at(counts, (rows["lang_ids"][real], ids[real]), 1)
    counts[:, special_ids] = 0
    return counts
