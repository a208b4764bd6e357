"""Byte-pair encoding as fastBPE and subword-nmt apply it."""

from collections.abc import Container, Iterable

END_OF_WORD = "</w>"


class BytePairEncoding:
    """Splits words into pieces by a ranked list of merges.

    The last piece of a word ends with ``</w>``, the others carry no mark.

    Args:
        merges: pairs of pieces, most frequent first.
        vocabulary: when given, a piece that is not in it is split back into the two
            pieces that it was merged from, and those again, down to characters, as
            ``fastBPE applybpe`` does with a vocabulary.
    """

    def __init__(
        self,
        merges: Iterable[tuple[str, str]],
        vocabulary: Container[str] | None = None,
    ):
        self._rank = {pair: rank for rank, pair in enumerate(merges)}
        self._vocabulary = vocabulary
        self._parts: dict[str, tuple[str, str]] = {}
        if vocabulary is not None:
            for first, second in self._rank:
                self._parts.setdefault(first + second, (first, second))

    def split(self, word: str) -> list[str]:
        """The pieces of a word of at least one character."""
        pieces = [*word[:-1], word[-1] + END_OF_WORD]
        rank, never = self._rank.get, len(self._rank)
        ranks = [rank(pair, never) for pair in zip(pieces, pieces[1:], strict=False)]
        while ranks and (best := min(ranks)) < never:
            # All pairs of this rank, from left to right, before any that they make.
            at = ranks.index(best)
            while True:
                del ranks[at]
                pieces[at] += pieces.pop(at + 1)
                if at:
                    ranks[at - 1] = rank((pieces[at - 1], pieces[at]), never)
                if at < len(ranks):
                    ranks[at] = rank((pieces[at], pieces[at + 1]), never)
                if best not in ranks[at:]:
                    break
                at = ranks.index(best, at)
        if self._vocabulary is None:
            return pieces
        return [known for piece in pieces for known in self._split_back(piece)]

    def _split_back(self, piece: str) -> list[str]:
        if piece in self._vocabulary or piece not in self._parts:
            return [piece]
        first, second = self._parts[piece]
        return self._split_back(first) + self._split_back(second)
