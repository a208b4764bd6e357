"""Dynamic masking: every step masks its rows anew, whatever masks the shards hold.

Static masks repeat every epoch (``dupe_factor`` of them, at that many times the disk);
Liu et al. 2019 (RoBERTa, 4.1) and XLM draw them while they train.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from babelmill.randomness import stream
from babelmill.shards.layout import Rows
from babelmill.shards.masking import choose_positions, mask_tokens


@dataclass(frozen=True)
class Remasking:
    """Masks that depend on (seed, step) and a row's place in the global batch alone.

    Called with the rows of a whole global batch, before it is cut, it gives every
    number of processes the same masks. How many positions a row can have is as in its
    shard. Causal rows have no masks and get none.

    Attributes:
        special_ids: ids that are neither masked nor drawn as a random word.
        masked_lm_prob: share of a row's tokens that is predicted.
        weights: (vocabulary,) float, positive: how likely each id is drawn, or None.
        word_starts: tells of ids (rows, length) where words start, bool, to mask whole
            words, or None.
    """

    seed: int
    special_ids: np.ndarray
    vocab_size: int
    mask_id: int
    masked_lm_prob: float
    weights: np.ndarray | None = None
    word_starts: Callable[[np.ndarray], np.ndarray] | None = None

    def __call__(self, rows: Rows, step: int) -> Rows:
        """The rows with the masks of a step; the arrays given are not changed."""
        rng = stream(self.seed, "dynamic masking", step)
        ids = unmasked_ids(rows)
        candidates = ~self._special[ids] & (rows["input_mask"] > 0)
        if "causal" in rows:
            candidates &= (rows["causal"] == 0)[:, None]
        positions, counts = choose_positions(
            candidates,
            rows["input_mask"].sum(1, dtype=np.int64),
            self.masked_lm_prob,
            rows["masked_lm_positions"].shape[1],
            rng,
            None if self.weights is None else self.weights[ids],
            None if self.word_starts is None else self.word_starts(ids),
        )
        masked, labels = mask_tokens(
            ids, positions, counts, self.mask_id, self._random_words, rng
        )
        return {
            **rows,
            "input_ids": masked,
            "masked_lm_positions": positions,
            "masked_lm_ids": labels,
        }

    @cached_property
    def _special(self) -> np.ndarray:
        special = np.zeros(self.vocab_size, bool)
        special[self.special_ids] = True
        return special

    @cached_property
    def _random_words(self) -> np.ndarray:
        return np.flatnonzero(~self._special).astype(np.int32)


def unmasked_ids(rows: Rows) -> np.ndarray:
    """``input_ids`` with the original token at each masked position, a new array."""
    ids = rows["input_ids"].copy()
    row, slot = np.nonzero(rows["masked_lm_positions"])
    ids[row, rows["masked_lm_positions"][row, slot]] = rows["masked_lm_ids"][row, slot]
    return ids
