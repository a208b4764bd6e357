"""TLM's pairs: a sentence and its translation in one row.

Each half carries its own language and its positions start again at 0 (Lample & Conneau
2019, section 3.3), so that a masked word may be looked up in the other language. Which
half comes first is drawn for every row.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from babelmill.shards.documents import TokenizedDocuments, runs
from babelmill.shards.layout import Rows
from babelmill.tokenizers import Tokenizer
from babelmill.truncation import fitting_lengths

_LINES_AT_ONCE = 1024
_SPECIAL_TOKENS = 4


def usable_lines(
    sides: tuple[TokenizedDocuments, TokenizedDocuments], blocks: Iterable[np.ndarray]
) -> Iterator[np.ndarray]:
    """Yield the lines of documents that have text on both sides, (lines,) int64.

    Args:
        blocks: numbers of the documents, in parts.
    """
    for documents in blocks:
        starts, stops = sides[0].sentence_ranges(documents)
        lengths = (side.sentence_lengths(documents)[0] for side in sides)
        yield runs(starts, stops - starts)[np.logical_and(*lengths)]


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


def _rows(
    sides: tuple[TokenizedDocuments, TokenizedDocuments],
    lines: np.ndarray,
    swapped: np.ndarray,
    tokenizer: Tokenizer,
    lang_ids: tuple[int, int],
    length: int,
) -> Rows:
    """Rows ``<s> A </s> <s> B </s>``; where swapped, A is the second side's line."""
    starts = np.stack([side.sentence_ends.before(lines) for side in sides])
    sizes = np.stack([side.sentence_ends[lines] for side in sides]) - starts
    kept = np.where(swapped, sizes[::-1], sizes)
    kept = np.stack(fitting_lengths(*kept, length - _SPECIAL_TOKENS))
    place = np.arange(length)
    second = (kept[0] + 2)[:, None]  # where the second half begins
    end = second + kept[1][:, None] + 2
    in_second = (place >= second) & (place < end)
    position = place - np.where(in_second, second, 0)
    real = place < end
    # The side that each token is from, and its place in the row's half there.
    of_second_side = in_second ^ swapped[:, None]
    texts = []
    for side, start, size in zip(sides, starts, sizes, strict=True):
        tokens = side.ids.pieces(start, size)
        first = (np.cumsum(size) - size)[:, None]
        texts.append(tokens.take(first + position - 1, mode="clip"))
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
