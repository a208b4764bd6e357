"""BERT's pairs: two runs of sentences that follow each other, or do not (MLM + NSP).

Devlin et al. 2019, appendix A.2, as their create_pretraining_data does it: sentences of
a document are gathered up to a target length and cut in two; half of the second parts
are replaced by sentences of another document, and what they replaced is used again.

A pair is two ranges of the documents' ids, so that no token is touched before the rows
of a whole block are filled at once.
"""

from bisect import bisect_left
from collections.abc import Iterator

import numpy as np

from babelmill.errors import UserError
from babelmill.shards.documents import TokenizedDocuments
from babelmill.shards.layout import Rows
from babelmill.tokenizers import Tokenizer
from babelmill.truncation import fitting_lengths

_PAIRS_PER_BLOCK = 8192
_SPECIAL_TOKENS = 3
_TRIES = 10

# first token and length of both parts, and whether the second is random
Pair = tuple[int, int, int, int, bool]


def sentence_pair_rows(
    documents: TokenizedDocuments,
    order: np.ndarray,
    others: np.ndarray,
    tokenizer: Tokenizer,
    length: int,
    short_seq_prob: float,
    rng: np.random.Generator,
) -> Iterator[Rows]:
    """Yield blocks of unmasked rows ``[CLS] A [SEP] B [SEP]``.

    Args:
        order: numbers of the documents to make pairs of.
        others: numbers of the documents that random second parts are drawn from.
        short_seq_prob: share of documents whose pairs aim at a random shorter length.

    Raises:
        UserError: there is no other document to draw from.
    """
    if len(np.unique(documents.document_keys[others])) < 2:
        raise UserError(
            f"{documents.path}: next-sentence pairs need two documents or more: part"
            " documents by blank lines, or set lines_per_document"
        )
    pairs: list[Pair] = []
    room = length - _SPECIAL_TOKENS
    for number in order.tolist():
        target = room
        if rng.random() < short_seq_prob:
            target = int(rng.integers(2, room + 1))
        pairs += _pairs_of(documents, number, others, target, rng)
        while len(pairs) >= _PAIRS_PER_BLOCK:
            block, pairs = pairs[:_PAIRS_PER_BLOCK], pairs[_PAIRS_PER_BLOCK:]
            yield _rows(documents.ids, block, tokenizer, length, rng)
    if pairs:
        yield _rows(documents.ids, pairs, tokenizer, length, rng)


def _pairs_of(
    documents: TokenizedDocuments,
    number: int,
    others: np.ndarray,
    target: int,
    rng: np.random.Generator,
) -> Iterator[Pair]:
    bounds = _sentence_bounds(documents, number)
    sentence, sentences = 0, len(bounds) - 1
    while sentence < sentences:
        # As many sentences as reach the target length, or all that are left.
        end = bisect_left(bounds, bounds[sentence] + target, sentence + 1, sentences)
        cut = sentence + 1
        if end - sentence >= 2:
            cut = int(rng.integers(sentence + 1, end))
        first = (bounds[sentence], bounds[cut] - bounds[sentence])
        second = None
        if end - sentence == 1 or rng.random() < 0.5:
            wanted = target - first[1]
            second = _random_second(documents, number, others, wanted, rng)
        if second is not None:
            yield (*first, *second, True)
            sentence = cut
            continue
        if end > cut:
            yield (*first, bounds[cut], bounds[end] - bounds[cut], False)
        sentence = end


def _sentence_bounds(documents: TokenizedDocuments, number: int) -> list[int]:
    start, stop = documents.sentence_range(number)
    first = int(documents.sentence_ends[start - 1]) if start else 0
    return [first, *documents.sentence_ends[start:stop].tolist()]


def _random_second(
    documents: TokenizedDocuments,
    number: int,
    others: np.ndarray,
    wanted: int,
    rng: np.random.Generator,
) -> tuple[int, int] | None:
    key = documents.document_keys[number]
    for _ in range(_TRIES):
        other = int(others[rng.integers(len(others))])
        if documents.document_keys[other] != key:
            bounds = _sentence_bounds(documents, other)
            start = int(rng.integers(len(bounds) - 1))
            last = len(bounds) - 1
            end = bisect_left(bounds, bounds[start] + wanted, start + 1, last)
            return bounds[start], bounds[end] - bounds[start]
    return None


def _rows(
    ids: np.ndarray,
    pairs: list[Pair],
    tokenizer: Tokenizer,
    length: int,
    rng: np.random.Generator,
) -> Rows:
    table = np.asarray(pairs, np.int64)
    starts, sizes = table[:, [0, 2]], table[:, [1, 3]]
    room = length - _SPECIAL_TOKENS
    kept = np.stack(fitting_lengths(*sizes.T, room), axis=1)
    # Tokens leave at random from the front or the back, against a bias (A.2's code).
    starts = starts + rng.binomial(sizes - kept, 0.5)
    (a, b), (a_size, b_size) = starts.T[:, :, None], kept.T[:, :, None]
    place = np.arange(length)
    in_a = (place >= 1) & (place <= a_size)
    in_b = (place >= a_size + 2) & (place < a_size + 2 + b_size)
    source = np.where(in_a, a + place - 1, np.where(in_b, b + place - a_size - 2, 0))
    end = a_size + b_size + 2
    separators = (place == a_size + 1) | (place == end)
    input_ids = np.where(in_a | in_b, ids[source], tokenizer.pad_id).astype(np.int32)
    input_ids[:, 0] = tokenizer.cls_id
    input_ids[separators] = tokenizer.sep_id
    return {
        "input_ids": input_ids,
        "input_mask": (place <= end).astype(np.int8),
        "segment_ids": ((place >= a_size + 2) & (place <= end)).astype(np.int8),
        "next_sentence_labels": table[:, 4].astype(np.int8),
    }
