"""Which documents are validation, and which shard the others belong to."""

import numpy as np

from babelmill.errors import UserError
from babelmill.randomness import derived_seed
from babelmill.shards.documents import TokenizedDocuments

VALIDATION = -1


class Split:
    """The shard of every document of a text, or ``VALIDATION``.

    Documents with equal keys fall on the same side of the split, whatever the number
    of shards. A positive fraction makes at least one document validation.

    Raises:
        UserError: it makes all of them validation: they are one, copies of one, or few.
    """

    def __init__(
        self,
        documents: TokenizedDocuments,
        shards: int,
        validation_fraction: float,
        seed: int,
    ):
        self._documents = documents
        self._shards = np.uint64(shards)
        self._offset = np.uint64(derived_seed(seed, "validation split"))
        self._threshold = None
        if validation_fraction > 0 and len(documents):
            keys = map(self._mixed_keys, documents.blocks())
            lows, highs = zip(
                *((block.min(), block.max()) for block in keys), strict=True
            )
            share = np.uint64(min(validation_fraction, 1.0) * (2**64 - 2**11))
            self._threshold = max(share, min(lows))
            if max(highs) <= self._threshold:
                raise UserError(
                    f"{documents.path}: all its documents would be held out for"
                    " validation: part documents by blank lines, set lines_per_document"
                    " so that there are more, or lower validation_fraction"
                )

    def shard_of(self, numbers: np.ndarray) -> np.ndarray:
        """The shard of the documents of these numbers, int32."""
        # Spread by number, not by key: copies of one document go to all shards.
        shard = (_mix(numbers.astype(np.uint64)) % self._shards).astype(np.int32)
        shard[self.is_validation(numbers)] = VALIDATION
        return shard

    def is_validation(self, numbers: np.ndarray) -> np.ndarray:
        """Whether the documents of these numbers are held out, bool."""
        if self._threshold is None:
            return np.zeros(len(numbers), bool)
        return self._mixed_keys(numbers) <= self._threshold

    def documents_in(self, shard: int) -> np.ndarray:
        """Numbers of the documents of one shard, int64, ascending."""
        parts = [
            block[self.shard_of(block) == shard] for block in self._documents.blocks()
        ]
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)

    def _mixed_keys(self, numbers: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return _mix(self._documents.document_keys[numbers] + self._offset)


def _mix(values: np.ndarray) -> np.ndarray:
    """SplitMix64's output function (Steele et al. 2014, figure 16): a bijection."""
    with np.errstate(over="ignore"):
        z = values * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))
