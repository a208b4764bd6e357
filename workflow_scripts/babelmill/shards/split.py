"""Which documents are validation, and which shard the others belong to."""

import numpy as np

from babelmill.randomness import derived_seed

VALIDATION = -1


def shard_of_documents(
    keys: np.ndarray, shards: int, validation_fraction: float, seed: int
) -> np.ndarray:
    """The shard of each document, or ``VALIDATION``.

    Documents with equal keys fall on the same side of the split, whatever the number
    of shards. A positive fraction makes at least one document validation.

    Args:
        keys: (documents,) uint64, as ``TokenizedDocuments.document_keys``.

    Returns:
        (documents,) int32.
    """
    mixed = _mix(keys + np.uint64(derived_seed(seed, "validation split")))
    # Spread by number, not by key: copies of one document go to all shards.
    numbers = _mix(np.arange(len(keys), dtype=np.uint64))
    shard = (numbers % np.uint64(shards)).astype(np.int32)
    if validation_fraction > 0 and len(keys):
        threshold = np.uint64(min(validation_fraction, 1.0) * (2**64 - 2**11))
        shard[mixed <= max(threshold, mixed.min())] = VALIDATION
    return shard


def _mix(values: np.ndarray) -> np.ndarray:
    """SplitMix64's output function (Steele et al. 2014, figure 16): a bijection."""
    with np.errstate(over="ignore"):
        z = values * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))
