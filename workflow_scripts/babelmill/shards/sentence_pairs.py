"""BERT's pairs: two runs of sentences that follow each other, or do not (MLM + NSP).

Devlin et al. 2019, appendix A.2, as their create_pretraining_data does it: sentences of
a document are gathered up to a target length and cut in two; half of the second parts
are replaced by sentences of another document, and what they replaced is used again.

A pair is two ranges of the documents' ids, so that no token is touched before the rows
of a whole block are filled at once.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from babelmill.errors import UserError
from babelmill.shards.documents import TokenizedDocuments
from babelmill.shards.layout import Rows
from babelmill.shards.split import VALIDATION, Split
from babelmill.tokenizers import Tokenizer
from babelmill.truncation import fitting_lengths

_PAIRS_AT_ONCE = _DOCUMENTS_AT_ONCE = 1024
_DRAWS_AT_ONCE = 4096
_SPECIAL_TOKENS = 3
_TRIES = 10

# First token and length of both parts, and whether the second one is random.
_COLUMNS = 5

# Random documents of one side of the split, (count,) int64, drawn by a generator.
Others = Callable[[int, np.random.Generator], np.ndarray]


def draw_pairs(
    documents: TokenizedDocuments,
    order: np.ndarray,
    others: Others,
    length: int,
    short_seq_prob: float,
    rng: np.random.Generator,
) -> Iterator[np.ndarray]:
    """Draw the pairs of some documents.

    Args:
        order: numbers of the documents to make pairs of.
        others: draws the documents that random second parts are from.
        length: tokens of a row, special tokens included.
        short_seq_prob: share of documents whose pairs aim at a random shorter length.

    Yields:
        (some pairs, 5) int64: first token and length of the first and of the second
        part in the documents' ids, before truncation, and whether the second is random.
    """
    room = length - _SPECIAL_TOKENS
    for start in range(0, len(order), _DOCUMENTS_AT_ONCE):
        numbers = order[start : start + _DOCUMENTS_AT_ONCE]
        short = rng.random(len(numbers)) < short_seq_prob
        target = np.where(short, rng.integers(2, room + 1, len(numbers)), room)
        yield from _Block(documents, numbers, target, others, rng).pairs()


class _Block:
    """Some documents, whose pairs are drawn side by side: the n-th of each at once."""

    def __init__(
        self,
        documents: TokenizedDocuments,
        numbers: np.ndarray,
        target: np.ndarray,
        others: Others,
        rng: np.random.Generator,
    ):
        self._documents, self._numbers, self._target = documents, numbers, target
        self._others, self._rng = others, rng
        lengths, counts, begins = documents.sentence_lengths(numbers)
        owner = np.repeat(np.arange(len(numbers)), counts)[lengths > 0]
        lengths = lengths[lengths > 0]  # An empty line is no sentence.
        # Sentences of the block one after the other: their ends in its tokens, and how
        # far each document's tokens lie from their place in the file.
        self._ends = np.cumsum(lengths)
        self._stop = np.cumsum(np.bincount(owner, minlength=len(numbers)))
        self._next = np.concatenate([[0], self._stop[:-1]])
        self._shift = begins - self._begin(self._next)

    def _begin(self, sentences: np.ndarray) -> np.ndarray:
        return np.where(sentences > 0, self._ends[sentences - 1], 0)

    def pairs(self) -> Iterator[np.ndarray]:
        """Yield one pair of every document that has sentences left."""
        while len(left := np.flatnonzero(self._next < self._stop)):
            yield self._pairs_of(left)

    def _pairs_of(self, left: np.ndarray) -> np.ndarray:
        first, begin = self._next[left], self._begin(self._next[left])
        # As many sentences as reach the target length, or all that are left.
        end = self._ends.searchsorted(begin + self._target[left]) + 1
        end = np.minimum(end, self._stop[left])
        count = end - first
        chance = self._rng.random((2, len(left)))
        cut = first + 1 + (chance[0] * (count - 1)).astype(np.int64)
        size = self._begin(cut) - begin
        pairs = np.empty((len(left), _COLUMNS), np.int64)
        pairs.T[:2] = begin + self._shift[left], size
        pairs.T[2:4] = (
            self._begin(cut) + self._shift[left],
            self._begin(end) - begin - size,
        )
        random = (count == 1) | (chance[1] < 0.5)
        wanted = np.flatnonzero(random)
        found = self._draw(left[wanted], (self._target[left] - size)[wanted])
        random[wanted] = found[:, 1] > 0
        pairs[random, 2:4] = found[found[:, 1] > 0]
        pairs[:, 4] = random
        # What a random part replaced is used again.
        self._next[left] = np.where(random, cut, end)
        return pairs[random | (end > cut)]

    def _draw(self, owners: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """First token and length of about so many tokens of other documents.

        The length is 0 where every draw is a copy of the own document.
        """
        text = self._documents
        own_keys = text.document_keys[self._numbers[owners]]
        found = np.zeros((len(owners), 2), np.int64)
        for _ in range(_TRIES):
            if not len(missing := np.flatnonzero(found[:, 1] == 0)):
                break
            others = self._others(len(missing), self._rng)
            start, stop = text.sentence_ranges(others)
            chance = self._rng.random(len(missing))
            sentence = start + (chance * (stop - start)).astype(np.int64)
            begin, size = _lengths_near(text, sentence, stop, wanted[missing])
            size[text.document_keys[others] == own_keys[missing]] = 0
            found[missing] = np.stack([begin, size], axis=1)
        return found


def _lengths_near(
    text: TokenizedDocuments, first: np.ndarray, stop: np.ndarray, wanted: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Where sentences begin, and the tokens from there on that reach ``wanted``.

    Args:
        stop: the sentences that end the documents, where the tokens end at the latest.
    """
    begin = text.sentence_ends.before(first)
    # No sentence but an empty line is shorter than a token.
    window = np.minimum(np.maximum(wanted, 1), stop - first)
    ends = text.sentence_ends.pieces(first, window)
    reached = ends >= np.repeat(begin + wanted, window)
    offset = np.cumsum(window) - window
    short = np.add.reduceat(~reached, offset, dtype=np.int64)
    return begin, ends[offset + np.minimum(short, window - 1)] - begin


def random_documents(
    documents: TokenizedDocuments, split: Split, held_out: bool
) -> Others:
    """Draw documents of one side of the split.

    A held-out document that is the only one is paired with those of the other side.

    Raises:
        UserError: all documents for training are copies of one.
    """
    # Held-out documents are few: too few to meet them among random ones.
    few = split.documents_in(VALIDATION) if held_out else np.zeros(0, np.int64)
    if len(np.unique(documents.document_keys[few])) > 1:
        return lambda count, rng: few[rng.integers(len(few), size=count)]
    if not held_out and _all_are_copies(documents, split):
        raise UserError(
            f"{documents.path}: next-sentence pairs need two documents or more: part"
            " documents by blank lines, or set lines_per_document"
        )

    def draw(count: int, rng: np.random.Generator) -> np.ndarray:
        numbers = rng.integers(len(documents), size=count)
        while len(wrong := np.flatnonzero(split.is_validation(numbers))):
            numbers[wrong] = rng.integers(len(documents), size=len(wrong))
        return numbers

    return draw


def _all_are_copies(documents: TokenizedDocuments, split: Split) -> bool:
    found: set[int] = set()
    for block in documents.blocks():
        training = block[~split.is_validation(block)]
        found.update(np.unique(documents.document_keys[training])[:2].tolist())
    return len(found) < 2


class PairTable:
    """Pairs on disk, since they are as many as the rows of a shard."""

    def __init__(self, blocks: Iterable[np.ndarray]):
        self._file = tempfile.TemporaryFile()  # noqa: SIM115
        self._size = 0
        for block in blocks:
            self._file.write(np.ascontiguousarray(block).data)
            self._size += len(block)
        self._file.flush()

    def __len__(self) -> int:
        return self._size

    def blocks(self) -> Iterator[np.ndarray]:
        """The pairs from the first to the last, as ``draw_pairs`` yields them."""
        self._file.seek(0)
        while len(
            block := np.fromfile(self._file, np.int64, _COLUMNS * _PAIRS_AT_ONCE)
        ):
            yield block.reshape(-1, _COLUMNS)


def pair_rows(
    documents: TokenizedDocuments,
    pairs: PairTable,
    tokenizer: Tokenizer,
    length: int,
    rng: np.random.Generator,
) -> Iterator[Rows]:
    """Yield blocks of unmasked rows ``[CLS] A [SEP] B [SEP]``, one a pair."""
    for block in pairs.blocks():
        yield _rows(documents, block, tokenizer, length, rng)


def _rows(
    documents: TokenizedDocuments,
    pairs: np.ndarray,
    tokenizer: Tokenizer,
    length: int,
    rng: np.random.Generator,
) -> Rows:
    starts, sizes = pairs[:, [0, 2]], pairs[:, [1, 3]]
    kept = np.stack(fitting_lengths(*sizes.T, length - _SPECIAL_TOKENS), axis=1)
    # Tokens leave at random from the front or the back, against a bias.
    starts = starts + rng.binomial(sizes - kept, 0.5)
    tokens = documents.ids.pieces(starts.ravel(), kept.ravel())
    # Where each row's parts begin in the tokens; the second follows the first.
    first = (np.cumsum(kept) - kept.ravel())[::2, None]
    a_size, b_size = kept.T[:, :, None]
    place = np.arange(length)
    in_a = (place >= 1) & (place <= a_size)
    in_b = (place >= a_size + 2) & (place < a_size + 2 + b_size)
    end = a_size + b_size + 2
    source = first + place - np.where(place >= a_size + 2, 2, 1)
    input_ids = tokens.take(source, mode="clip").astype(np.int32)
    input_ids[~(in_a | in_b)] = tokenizer.pad_id
    input_ids[:, 0] = tokenizer.cls_id
    input_ids[(place == a_size + 1) | (place == end)] = tokenizer.sep_id
    return {
        "input_ids": input_ids,
        "input_mask": (place <= end).astype(np.int8),
        "segment_ids": ((place >= a_size + 2) & (place <= end)).astype(np.int8),
        "next_sentence_labels": pairs[:, 4].astype(np.int8),
    }
