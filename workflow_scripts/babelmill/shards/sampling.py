"""How many rows each source of a shard gives, and in which order they are written."""

from collections.abc import Iterator

import numpy as np

from babelmill.shards.layout import Rows, concatenate, take

_ROWS_PER_BLOCK = 8192


def language_shares(sizes: np.ndarray, alpha: float) -> np.ndarray:
    """Sampling shares ``p_i ** alpha / sum_j p_j ** alpha`` of sources of these sizes.

    Lample & Conneau 2019, section 3.1: alpha below 1 draws small languages more often
    than their size, and large ones less.
    """
    p = np.asarray(sizes, np.float64) / np.sum(sizes)
    powers = np.where(p > 0, p, 1) ** alpha * (p > 0)
    return powers / powers.sum()


class Source:
    """Rows of one language or language pair, some repeated or left out.

    Row ``k`` occurs ``floor((k + 1) m + u) - floor(k m + u)`` times (systematic
    sampling): ``multiplier`` times on average, and never by more than one off.
    """

    def __init__(self, blocks: Iterator[Rows], rows: int, multiplier: float, u: float):
        self._blocks = blocks
        self._multiplier = multiplier
        self._u = u
        self._seen = 0
        self._waiting: list[Rows] = []
        self.rows = int(self._copies_before(np.asarray(rows)))

    def _copies_before(self, row: np.ndarray) -> np.ndarray:
        return np.floor(row * self._multiplier + self._u).astype(np.int64)

    def take(self, count: int) -> Rows:
        """The next ``count`` rows."""
        ready = sum(len(block["input_ids"]) for block in self._waiting)
        while ready < count:
            block = self._repeated(next(self._blocks))
            self._waiting.append(block)
            ready += len(block["input_ids"])
        rows = concatenate(self._waiting)
        index = np.arange(ready)
        self._waiting = [take(rows, index[count:])]
        return take(rows, index[:count])

    def _repeated(self, block: Rows) -> Rows:
        count = len(block["input_ids"])
        steps = self._copies_before(self._seen + np.arange(count + 1))
        self._seen += count
        return take(block, np.repeat(np.arange(count), np.diff(steps)))


def interleave(sources: list[Source], rng: np.random.Generator) -> Iterator[Rows]:
    """Yield blocks that mix the sources as a shuffle of all their rows would.

    Only one block is in memory: how many rows of a block come from each source follows
    the multivariate hypergeometric distribution over what is left.
    """
    left = np.asarray([source.rows for source in sources])
    while total := int(left.sum()):
        counts = rng.multivariate_hypergeometric(
            left, min(_ROWS_PER_BLOCK, total), method="marginals"
        )
        left -= counts
        drawn = zip(sources, counts.tolist(), strict=True)
        rows = concatenate([source.take(count) for source, count in drawn if count])
        yield take(rows, rng.permutation(len(rows["input_ids"])))
