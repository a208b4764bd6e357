"""How many rows each source of a shard gives, and in which order they are written."""

from collections.abc import Callable, Iterator

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

    The text is passed over as often as ``multiplier`` says; the last pass, a part of
    one, takes rows at even steps (systematic sampling). So each row occurs
    ``multiplier`` times on average, never by more than one off, and its copies lie a
    whole pass apart.

    Args:
        rows: of one pass.
        blocks: yields the rows of a pass, given its number.
        u: in [0, 1), rounds the number of rows up or down.
    """

    def __init__(
        self,
        rows: int,
        blocks: Callable[[int], Iterator[Rows]],
        multiplier: float,
        u: float,
    ):
        self.rows = int(rows * multiplier + u)
        self._stream = self._passes(rows, blocks)
        self._waiting: list[Rows] = []

    def take(self, count: int) -> Rows:
        """The next ``count`` rows."""
        ready = sum(len(block["input_ids"]) for block in self._waiting)
        while ready < count:
            self._waiting.append(next(self._stream))
            ready += len(self._waiting[-1]["input_ids"])
        rows = concatenate(self._waiting)
        index = np.arange(ready)
        self._waiting = [take(rows, index[count:])]
        return take(rows, index[:count])

    def _passes(
        self, rows: int, blocks: Callable[[int], Iterator[Rows]]
    ) -> Iterator[Rows]:
        number, left = 0, self.rows
        while left:
            wanted, seen = min(left, rows), 0
            for block in blocks(number):
                places = seen + np.arange(len(block["input_ids"]) + 1)
                seen = int(places[-1])
                chosen = np.flatnonzero(np.diff(places * wanted // rows))
                yield block if wanted == rows else take(block, chosen)
            number, left = number + 1, left - wanted


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
