"""BERT's pairs: two runs of sentences that follow each other, or do not (MLM + NSP).

Devlin et al. 2019, appendix A.2, as their create_pretraining_data does it: sentences of
a document are gathered up to a target length and cut in two; half of the second parts
are replaced by sentences of another document, and what they replaced is used again.

A pair is two ranges of the documents' ids, so that no token is touched before the rows
of a whole block are filled at once.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from random import Random

import numpy as np

from babelmill.errors import UserError
from babelmill.shards.documents import TokenizedDocuments
from babelmill.shards.layout import Rows
from babelmill.tokenizers import Tokenizer
from babelmill.truncation import fitting_lengths

_PAIRS_PER_BLOCK = 8192
_SPECIAL_TOKENS = 3
_TRIES = 10

# First token and length of both parts, and whether the second one is random.
_Pair = tuple[int, int, int, int, bool]


def draw_pairs(
    documents: TokenizedDocuments,
    order: np.ndarray,
    others: np.ndarray,
    length: int,
    short_seq_prob: float,
    rng: np.random.Generator,
) -> np.ndarray:
    """Draw the pairs of some documents, in random order.

    Args:
        order: numbers of the documents to make pairs of.
        others: numbers of the documents that random second parts are drawn from.
        length: tokens of a row, special tokens included.
        short_seq_prob: share of documents whose pairs aim at a random shorter length.

    Returns:
        (pairs, 5) int64: first token and length of the first and of the second part
        in the documents' ids, before truncation, and whether the second is random.

    Raises:
        UserError: there is no other document to draw from.
    """
    keys = documents.document_keys[others]
    if (keys == keys[:1]).all():
        raise UserError(
            f"{documents.path}: next-sentence pairs need two documents or more: part"
            " documents by blank lines, or set lines_per_document"
        )
    chance = Random(int(rng.integers(2**63)))
    candidates = _Candidates(documents, others, chance)
    room = length - _SPECIAL_TOKENS
    table = array("q")
    for number in order.tolist():
        target = room
        if chance.random() < short_seq_prob:
            target = 2 + int(chance.random() * (room - 1))
        for pair in _pairs_of(candidates, number, target, chance):
            table.extend(pair)
    pairs = np.frombuffer(table, np.int64).reshape(-1, 5)
    return pairs[rng.permutation(len(pairs))]


class _Candidates:
    """The documents that random second parts are drawn from."""

    def __init__(self, documents: TokenizedDocuments, others: np.ndarray, chance):
        self._documents = documents
        self._others = others
        self._chance = chance.random

    def bounds(self, number: int) -> list[int]:
        """Where the sentences of a document begin and end in the ids."""
        return self._documents.sentence_bounds(number).tolist()

    def draw(self, number: int, wanted: int) -> tuple[int, int] | None:
        """Sentences of another document, about ``wanted`` tokens of them.

        None where every draw is a copy of document ``number``.
        """
        keys = self._documents.document_keys
        for _ in range(_TRIES):
            other = int(self._others[int(self._chance() * len(self._others))])
            bounds = self.bounds(other)
            last = len(bounds) - 1
            if last and keys[other] != keys[number]:
                start = int(self._chance() * last)
                end = bisect_left(bounds, bounds[start] + wanted, start + 1, last)
                return bounds[start], bounds[end] - bounds[start]
        return None


def _pairs_of(
    candidates: _Candidates, number: int, target: int, chance: Random
) -> Iterator[_Pair]:
    bounds = candidates.bounds(number)
    sentence, sentences = 0, len(bounds) - 1
    while sentence < sentences:
        # As many sentences as reach the target length, or all that are left.
        begin = bounds[sentence]
        end = bisect_left(bounds, begin + target, sentence + 1, sentences)
        cut = sentence + 1
        if end - sentence >= 2:
            cut += int(chance.random() * (end - sentence - 1))
        size = bounds[cut] - begin
        second = None
        if end - sentence == 1 or chance.random() < 0.5:
            second = candidates.draw(number, target - size)
        if second is not None:
            yield begin, size, *second, True
            sentence = cut
            continue
        if end > cut:
            yield begin, size, bounds[cut], bounds[end] - bounds[cut], False
        sentence = end


def pair_rows(
    ids: np.ndarray,
    pairs: np.ndarray,
    tokenizer: Tokenizer,
    length: int,
    rng: np.random.Generator,
) -> Iterator[Rows]:
    """Yield blocks of unmasked rows ``[CLS] A [SEP] B [SEP]``, one a pair."""
    for start in range(0, len(pairs), _PAIRS_PER_BLOCK):
        block = pairs[start : start + _PAIRS_PER_BLOCK]
        yield _rows(ids, block, tokenizer, length, rng)


def _rows(
    ids: np.ndarray,
    pairs: np.ndarray,
    tokenizer: Tokenizer,
    length: int,
    rng: np.random.Generator,
) -> Rows:
    starts, sizes = pairs[:, [0, 2]], pairs[:, [1, 3]]
    kept = np.stack(fitting_lengths(*sizes.T, length - _SPECIAL_TOKENS), axis=1)
    # Tokens leave at random from the front or the back, against a bias.
    starts = starts + rng.binomial(sizes - kept, 0.5)
    (a, b), (a_size, b_size) = starts.T[:, :, None], kept.T[:, :, None]
    place = np.arange(length)
    in_a = (place >= 1) & (place <= a_size)
    in_b = (place >= a_size + 2) & (place < a_size + 2 + b_size)
    source = np.where(in_a, a + place - 1, np.where(in_b, b + place - a_size - 2, 0))
    end = a_size + b_size + 2
    input_ids = np.where(in_a | in_b, ids[source], tokenizer.pad_id).astype(np.int32)
    input_ids[:, 0] = tokenizer.cls_id
    input_ids[(place == a_size + 1) | (place == end)] = tokenizer.sep_id
    return {
        "input_ids": input_ids,
        "input_mask": (place <= end).astype(np.int8),
        "segment_ids": ((place >= a_size + 2) & (place <= end)).astype(np.int8),
        "next_sentence_labels": pairs[:, 4].astype(np.int8),
    }
