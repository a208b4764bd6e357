"""How two texts share the room of one input."""

import numpy as np


def fitting_lengths(
    first: np.ndarray, second: np.ndarray, room: int
) -> tuple[np.ndarray, np.ndarray]:
    """Lengths of pairs after the longer text lost tokens, one by one, until both fit.

    Of equally long texts the second loses one, as in BERT's code
    (``truncate_seq_pair``, ``longest_first``).

    Args:
        first, second: (pairs,) int64.
    """
    by_second = room - np.minimum(second, room // 2)
    by_first = np.minimum(first, room - room // 2)
    kept = np.where(first > second, by_second, by_first)
    fits = first + second <= room
    return np.where(fits, first, kept), np.where(fits, second, room - kept)
