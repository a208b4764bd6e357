"""XLM's streams: the text of one language as rows of equal length (MLM, CLM).

Sentences follow each other, each closed by the end-of-sentence token, and the stream is
cut into rows (Lample & Conneau 2019, section 3.2). Unlike XLM's, every row opens with
the token that also opens the input of fine-tuning, so that its embedding is trained.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from babelmill.shards.documents import TokenizedDocuments
from babelmill.shards.layout import Rows
from babelmill.tokenizers import Tokenizer

_TOKENS_AT_ONCE, _DOCUMENTS_AT_ONCE = 1 << 18, 1024


def count_rows(
    documents: TokenizedDocuments, blocks: Iterable[np.ndarray], length: int
) -> int:
    """How many rows ``stream_rows`` gives: all tokens and one end a sentence.

    Args:
        blocks: numbers of the documents, in parts.
    """
    size = 0
    for block in blocks:
        lengths, _, _ = documents.sentence_lengths(block)
        size += int(lengths.sum() + np.count_nonzero(lengths))
    return -(-size // (length - 1))


def stream_rows(
    documents: TokenizedDocuments,
    order: np.ndarray,
    tokenizer: Tokenizer,
    lang_id: int,
    length: int,
    causal: bool = False,
) -> Iterator[Rows]:
    """Yield blocks of unmasked rows of the documents numbered ``order``.

    Every token of every document is in exactly one row; only the last row is padded.
    """
    body = length - 1
    rest = np.zeros(0, np.int32)
    for tokens in _closed_sentences(documents, order, tokenizer.eos_id):
        tokens = np.concatenate([rest, tokens])
        whole = len(tokens) - len(tokens) % body
        if whole:
            yield _rows(tokens[:whole], tokenizer, lang_id, length, causal)
        rest = tokens[whole:]
    if len(rest):
        yield _rows(rest, tokenizer, lang_id, length, causal)


def _closed_sentences(
    documents: TokenizedDocuments, order: np.ndarray, eos_id: int
) -> Iterator[np.ndarray]:
    """Yield the tokens of documents, an end after each sentence, some at a time."""
    for start in range(0, len(order), _DOCUMENTS_AT_ONCE):
        some = order[start : start + _DOCUMENTS_AT_ONCE]
        sizes = documents.token_counts_of(some)
        cuts = np.flatnonzero(np.diff(np.cumsum(sizes) // _TOKENS_AT_ONCE)) + 1
        for numbers, size in zip(
            np.split(some, cuts), np.split(sizes, cuts), strict=True
        ):
            lengths, _, begins = documents.sentence_lengths(numbers)
            tokens = documents.ids.pieces(begins, size).astype(np.int32)
            ends = np.cumsum(lengths[lengths > 0])
            yield np.insert(tokens, ends, eos_id)


def _rows(
    stream: np.ndarray, tokenizer: Tokenizer, lang_id: int, length: int, causal: bool
) -> Rows:
    count = -(-len(stream) // (length - 1))
    body = np.full(count * (length - 1), tokenizer.pad_id, np.int32)
    body[: len(stream)] = stream
    input_ids = np.empty((count, length), np.int32)
    input_ids[:, 0] = tokenizer.cls_id
    input_ids[:, 1:] = body.reshape(count, length - 1)
    input_mask = np.ones((count, length), np.int8)
    input_mask[-1, 1 + len(stream) - (count - 1) * (length - 1) :] = 0
    return {
        "input_ids": input_ids,
        "input_mask": input_mask,
        "segment_ids": np.zeros((count, length), np.int8),
        "next_sentence_labels": np.zeros(count, np.int8),
        "lang_ids": np.full((count, length), lang_id, np.int8),
        "position_ids": np.tile(np.arange(length, dtype=np.int16), (count, 1)),
        "causal": np.full(count, causal, np.int8),
    }
