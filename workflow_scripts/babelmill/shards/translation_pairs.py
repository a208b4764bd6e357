"""TLM's pairs: a sentence and its translation in one row.

Each half carries its own language and its positions start again at 0 (Lample & Conneau
2019, section 3.3), so that a masked word may be looked up in the other language. Which
half comes first is drawn for every row.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from babelmill.shards.documents import TokenizedDocuments
from babelmill.shards.layout import Rows
from babelmill.tokenizers import Tokenizer
from babelmill.truncation import fitting_lengths

_ROWS_PER_BLOCK = 1024
# Few, since each look at a mapped file brings much of it into memory.
_LINES_AT_ONCE = 64
_SPECIAL_TOKENS = 4


def usable_lines(
    sides: tuple[TokenizedDocuments, TokenizedDocuments], blocks: Iterable[np.ndarray]
) -> Iterator[np.ndarray]:
    """Yield the lines of documents that have text on both sides, (lines,) int64.

    Args:
        blocks: numbers of the documents, in parts.
    """
    for documents in blocks:
        lines = sides[0].sentences_of(documents)
        yield lines[np.logical_and(*(side.sentence_lengths(lines) for side in sides))]
        for side in sides:
            side.release()


def translation_rows(
    sides: tuple[TokenizedDocuments, TokenizedDocuments],
    lines: np.ndarray,
    tokenizer: Tokenizer,
    lang_ids: tuple[int, int],
    length: int,
    rng: np.random.Generator,
) -> Iterator[Rows]:
    """Yield blocks of unmasked rows, one a line; too long a pair loses its ends."""
    room = length - _SPECIAL_TOKENS
    for start in range(0, len(lines), _ROWS_PER_BLOCK):
        block = lines[start : start + _ROWS_PER_BLOCK]
        swapped = rng.random(len(block)) < 0.5
        rows = {
            "input_ids": np.full((len(block), length), tokenizer.pad_id, np.int32),
            "input_mask": np.zeros((len(block), length), np.int8),
            "segment_ids": np.zeros((len(block), length), np.int8),
            "next_sentence_labels": np.zeros(len(block), np.int8),
            "lang_ids": np.zeros((len(block), length), np.int8),
            "position_ids": np.zeros((len(block), length), np.int16),
            "causal": np.zeros(len(block), np.int8),
        }
        for row, (line, swap) in enumerate(zip(block.tolist(), swapped, strict=True)):
            halves = [
                (side.sentence(line), lang)
                for side, lang in zip(sides, lang_ids, strict=True)
            ]
            _fill(rows, row, halves[::-1] if swap else halves, tokenizer, room)
            if row % _LINES_AT_ONCE == 0:
                for side in sides:
                    side.release()
        yield rows


def _fill(
    rows: Rows,
    row: int,
    halves: list[tuple[np.ndarray, int]],
    tokenizer: Tokenizer,
    room: int,
) -> None:
    kept = fitting_lengths(*(np.asarray(len(ids)) for ids, _ in halves), room)
    at = 0
    for (ids, lang), size in zip(halves, map(int, kept), strict=True):
        end = at + size + 2
        rows["input_ids"][row, at] = tokenizer.cls_id
        rows["input_ids"][row, at + 1 : end - 1] = ids[:size]
        rows["input_ids"][row, end - 1] = tokenizer.sep_id
        rows["lang_ids"][row, at:end] = lang
        rows["position_ids"][row, at:end] = np.arange(end - at)
        at = end
    rows["input_mask"][row, :at] = 1
