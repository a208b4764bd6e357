"""BERT's pairs: two runs of sentences that follow each other, or do not (MLM + NSP).

Devlin et al. 2019, appendix A.2, as their create_pretraining_data does it: sentences of
a document are gathered up to a target length and cut in two; half of the second parts
are replaced by sentences of another document, and what they replaced is used again.

A pair is two ranges of the documents' ids, so that no token is touched before the rows
of a whole block are filled at once.
"""

import tempfile
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import islice
from random import Random

import numpy as np

from babelmill.errors import UserError
from babelmill.shards.documents import TokenizedDocuments
from babelmill.shards.layout import Rows
from babelmill.shards.split import VALIDATION, Split
from babelmill.tokenizers import Tokenizer
from babelmill.truncation import fitting_lengths

# Few, since each look at a mapped file brings 64 kB into memory.
_PAIRS_AT_ONCE, _DOCUMENTS_AT_ONCE = 512, 256
_DRAWS_AT_ONCE = 4096
_SPECIAL_TOKENS = 3
_TRIES = 10

# First token and length of both parts, and whether the second one is random.
_Pair = tuple[int, int, int, int, bool]


def draw_pairs(
    documents: TokenizedDocuments,
    order: np.ndarray,
    others: Iterator[tuple[int, int]],
    length: int,
    short_seq_prob: float,
    chance: Random,
) -> Iterator[np.ndarray]:
    """Draw the pairs of some documents, in their order.

    Args:
        order: numbers of the documents to make pairs of.
        others: random documents with their keys, as ``random_documents`` gives them.
        length: tokens of a row, special tokens included.
        short_seq_prob: share of documents whose pairs aim at a random shorter length.

    Yields:
        (some pairs, 5) int64: first token and length of the first and of the second
        part in the documents' ids, before truncation, and whether the second is random.
    """
    candidates = _Candidates(documents, others, chance)
    room = length - _SPECIAL_TOKENS
    for start in range(0, len(order), _DOCUMENTS_AT_ONCE):
        block = array("q")
        for number in order[start : start + _DOCUMENTS_AT_ONCE].tolist():
            target = room
            if chance.random() < short_seq_prob:
                target = 2 + int(chance.random() * (room - 1))
            for pair in _pairs_of(candidates, number, target, chance):
                block.extend(pair)
        yield np.frombuffer(block, np.int64).reshape(-1, 5)
        documents.release()


class PairTable:
    """Pairs on disk, since they are as many as the rows of a shard."""

    def __init__(self, blocks: Iterable[np.ndarray]):
        self._file = tempfile.TemporaryFile()  # noqa: SIM115
        self._size = 0
        for block in blocks:
            self._file.write(block.data)
            self._size += len(block)
        self._file.flush()

    def __len__(self) -> int:
        return self._size

    def blocks(self) -> Iterator[np.ndarray]:
        """The pairs from the first to the last, as ``draw_pairs`` yields them."""
        self._file.seek(0)
        while len(block := np.fromfile(self._file, np.int64, 5 * _PAIRS_AT_ONCE)):
            yield block.reshape(-1, 5)


def random_documents(
    documents: TokenizedDocuments,
    split: Split,
    held_out: bool,
    rng: np.random.Generator,
) -> Iterator[tuple[int, int]]:
    """Yield random documents of one side of the split, with their keys, for ever.

    A held-out document that is the only one is paired with those of the other side.

    Raises:
        UserError: all documents for training are copies of one.
    """
    keys = documents.document_keys
    # Held-out documents are few: too few to meet them among random ones.
    few = split.documents_in(VALIDATION) if held_out else np.zeros(0, np.int64)
    if len(np.unique(keys[few])) < 2:
        few = None
    if not held_out and _all_are_copies(documents, split):
        raise UserError(
            f"{documents.path}: next-sentence pairs need two documents or more: part"
            " documents by blank lines, or set lines_per_document"
        )

    def draws() -> Iterator[tuple[int, int]]:
        while True:
            numbers = rng.integers(
                len(keys if few is None else few), size=_DRAWS_AT_ONCE
            )
            if few is None:
                numbers = numbers[~split.is_validation(numbers)]
            else:
                numbers = few[numbers]
            yield from zip(numbers.tolist(), keys[numbers].tolist(), strict=True)

    return draws()


def _all_are_copies(documents: TokenizedDocuments, split: Split) -> bool:
    found: set[int] = set()
    for block in documents.blocks():
        training = block[~split.is_validation(block)]
        found.update(np.unique(documents.document_keys[training])[:2].tolist())
    return len(found) < 2


class _Candidates:
    """The documents that random second parts are drawn from."""

    def __init__(
        self,
        documents: TokenizedDocuments,
        others: Iterator[tuple[int, int]],
        chance: Random,
    ):
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
        text = self._documents
        own_key = text.document_keys[number]
        for other, key in islice(self._others, _TRIES):
            if key == own_key:
                continue
            first, stop = text.sentence_range(other)
            sentence = first + int(self._chance() * (stop - first))
            begin = int(text.sentence_ends[sentence - 1]) if sentence else 0
            # No sentence but an empty line is shorter than a token.
            ends = text.sentence_ends[
                sentence : min(stop, sentence + max(wanted, 0) + 1)
            ]
            last = min(int(ends.searchsorted(begin + wanted)), len(ends) - 1)
            if size := int(ends[last]) - begin:
                return begin, size
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
    documents: TokenizedDocuments,
    pairs: PairTable,
    tokenizer: Tokenizer,
    length: int,
    rng: np.random.Generator,
) -> Iterator[Rows]:
    """Yield blocks of unmasked rows ``[CLS] A [SEP] B [SEP]``, one a pair."""
    for block in pairs.blocks():
        yield _rows(documents.ids, block, tokenizer, length, rng)
        documents.release()


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
    end = a_size + b_size + 2
    source = place + np.where(place >= a_size + 2, b - a_size - 2, a - 1)
    input_ids = ids.take(source, mode="clip").astype(np.int32)
    input_ids[~(in_a | in_b)] = tokenizer.pad_id
    input_ids[:, 0] = tokenizer.cls_id
    input_ids[(place == a_size + 1) | (place == end)] = tokenizer.sep_id
    return {
        "input_ids": input_ids,
        "input_mask": (place <= end).astype(np.int8),
        "segment_ids": ((place >= a_size + 2) & (place <= end)).astype(np.int8),
        "next_sentence_labels": pairs[:, 4].astype(np.int8),
    }
