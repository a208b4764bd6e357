"""Byte-pair encoding as fastBPE applies it."""

from collections.abc import Container, Sequence
from itertools import chain, count

from tokenizers import models

END_OF_WORD = "</w>"
# No word has a line feed in it.
_UNKNOWN = "\n"

Merge = tuple[str, str]


class BytePairEncoding:
    """Splits words into pieces by a ranked list of merges.

    The last piece of a word ends with ``</w>``, the others carry no mark.

    fastBPE merges all pairs of the best rank before it looks for the next; the library
    used here merges one pair at a time. For codes that ``read_codes`` lets through the
    two are the same: a merge makes only pairs of worse rank than its own.

    Args:
        merges: pairs of pieces, best first.
        vocab: ids 0, 1, 2… of pieces.
        known: when given, a piece that is not in it is split back into the two pieces
            that it was merged from, and those again, down to characters, as ``fastBPE
            applybpe`` does with a vocabulary.
    """

    def __init__(
        self,
        merges: Sequence[Merge],
        vocab: dict[str, int] | None = None,
        known: Container[str] | None = None,
    ):
        self._vocab = vocab or {}
        pieces = {_UNKNOWN, *chain.from_iterable(merges), *map("".join, merges)}
        others = sorted(pieces - self._vocab.keys())
        ids = {
            **self._vocab,
            **dict(zip(others, count(len(self._vocab)), strict=False)),
        }
        self._model = models.BPE(
            ids,
            list(merges),
            end_of_word_suffix=END_OF_WORD,
            unk_token=_UNKNOWN,
        )
        self._known = known
        self._parts = {}
        if known is not None:
            self._parts = {"".join(merge): merge for merge in merges}

    def split(self, word: str) -> list[str]:
        """The pieces of a word of at least one character."""
        pieces = [token.value for token in self._model.tokenize(word)]
        if _UNKNOWN in pieces:
            pieces = self._name_unknown(pieces, word)
        if self._known is None:
            return pieces
        return [part for piece in pieces for part in self._split_back(piece)]

    def ids(self, word: str, unknown: int) -> list[int]:
        """The ids of a word's pieces, ``unknown`` for those outside the vocabulary."""
        size = len(self._vocab)
        if self._known is not None:
            return [self._vocab.get(piece, unknown) for piece in self.split(word)]
        ids = [token.id for token in self._model.tokenize(word)]
        return ids if max(ids) < size else [i if i < size else unknown for i in ids]

    def _name_unknown(self, pieces: list[str], word: str) -> list[str]:
        """Write the characters that are in no merge in their places."""
        named, at = [], 0
        for piece in pieces:
            if piece == _UNKNOWN:
                piece = word[at]
                if at + 1 == len(word):
                    piece += END_OF_WORD
            named.append(piece)
            at += len(piece)
        return named

    def _split_back(self, piece: str) -> list[str]:
        if piece in self._known or piece not in self._parts:
            return [piece]
        first, second = self._parts[piece]
        return self._split_back(first) + self._split_back(second)
