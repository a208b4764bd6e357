"""Ids of words that were met before."""

from array import array
from collections.abc import Sequence

_BYTES = 1 << 27
_BYTES_PER_WORD = 200


class WordIds(dict[str, bytes]):
    """The ids of words, int32 as bytes; all are forgotten once they need much memory.

    Bytes are quick to join to lines, and no burden to the garbage collector, which
    would have to look at as many lists again and again.
    """

    def __init__(self) -> None:
        super().__init__()
        self._size = 0

    def __setitem__(self, word: str, ids: bytes) -> None:
        super().__setitem__(word, ids)
        self._size += 2 * len(word) + len(ids) + _BYTES_PER_WORD

    def make_room(self) -> None:
        """Forget everything if it is too much; call it before words are added."""
        if self._size > _BYTES:
            self.clear()
            self._size = 0


def packed(ids: Sequence[int]) -> bytes:
    """Ids as the bytes of int32 values."""
    return array("i", ids).tobytes()
