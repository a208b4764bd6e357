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

# Few, since each look at a mapped file brings much of it into memory.
_LINES_AT_ONCE = 256
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
    for start in range(0, len(lines), _LINES_AT_ONCE):
        block = lines[start : start + _LINES_AT_ONCE]
        swapped = rng.random(len(block)) < 0.5
        yield _rows(sides, block, swapped, tokenizer, lang_ids, length)
        for side in sides:
            side.release()


def _rows(
    sides: tuple[TokenizedDocuments, TokenizedDocuments],
    lines: np.ndarray,
    swapped: np.ndarray,
    tokenizer: Tokenizer,
    lang_ids: tuple[int, int],
    length: int,
) -> Rows:
    """Rows ``<s> A </s> <s> B </s>``; where swapped, A is the second side's line."""
    sizes = np.stack([side.sentence_lengths(lines) for side in sides])
    sizes = np.where(swapped, sizes[::-1], sizes)
    kept = np.stack(fitting_lengths(*sizes, length - _SPECIAL_TOKENS))
    place = np.arange(length)
    second = (kept[0] + 2)[:, None]  # where the second half begins
    end = second + kept[1][:, None] + 2
    in_second = (place >= second) & (place < end)
    position = place - np.where(in_second, second, 0)
    real = place < end
    # The side that each token is from, and its place in the row's half there.
    of_second_side = in_second ^ swapped[:, None]
    texts = [
        side.ids.take(side.starts_of(lines)[:, None] + position - 1, mode="clip")
        for side in sides
    ]
    input_ids = np.where(of_second_side, texts[1], texts[0]).astype(np.int32)
    input_ids[position == 0] = tokenizer.cls_id
    input_ids[(place == second - 1) | (place == end - 1)] = tokenizer.sep_id
    input_ids[~real] = tokenizer.pad_id
    langs = np.where(of_second_side, lang_ids[1], lang_ids[0])
    return {
        "input_ids": input_ids,
        "input_mask": real.astype(np.int8),
        "segment_ids": np.zeros_like(input_ids, np.int8),
        "next_sentence_labels": np.zeros(len(lines), np.int8),
        "lang_ids": np.where(real, langs, 0).astype(np.int8),
        "position_ids": np.where(real, position, 0).astype(np.int16),
        "causal": np.zeros(len(lines), np.int8),
    }
