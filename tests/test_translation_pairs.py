"""TLM's rows against rows that are built token by token."""

from types import SimpleNamespace

import numpy as np
import pytest

from babelmill.randomness import stream
from babelmill.shards.documents import TokenizedDocuments, write_documents
from babelmill.shards.layout import concatenate
from babelmill.shards.translation_pairs import translation_rows, usable_lines

BOS, EOS, PAD, LENGTH = 0, 1, 2, 16
TOKENIZER = SimpleNamespace(cls_id=BOS, sep_id=EOS, pad_id=PAD)


@pytest.fixture(scope="module")
def sides(tmp_path_factory):
    """400 lines of 0 to 12 tokens; the first side's are even, the second's odd."""
    rng = stream(1, "sides")
    made = []
    for odd in (0, 1):
        lines = [
            2 * rng.integers(50, 500, size, dtype=np.int32) + odd
            for size in rng.integers(0, 13, 400)
        ]
        documents = [lines[start : start + 10] for start in range(0, 400, 10)]
        path = tmp_path_factory.mktemp("text") / f"{odd}.h5"
        write_documents(path, documents, 2000, True, {})
        made.append((TokenizedDocuments(path), lines))
    (first, first_lines), (second, second_lines) = made
    return (first, second), (first_lines, second_lines)


def test_lines_with_text_on_both_sides(sides):
    texts, lines = sides
    blocks = [np.asarray([3, 1]), np.asarray([39])]
    found = np.concatenate(list(usable_lines(texts, blocks))).tolist()
    wanted = [*range(30, 40), *range(10, 20), *range(390, 400)]
    assert found == [n for n in wanted if len(lines[0][n]) and len(lines[1][n])]


def test_rows_token_by_token(sides):
    texts, lines = sides
    usable = np.concatenate(list(usable_lines(texts, texts[0].blocks())))
    order = stream(2, "order").permutation(usable)
    rows = concatenate(
        list(translation_rows(texts, order, TOKENIZER, (7, 9), LENGTH, stream(3, "x")))
    )
    assert len(order) > 300
    swaps = 0
    for row, line in enumerate(order.tolist()):
        swapped = rows["lang_ids"][row, 0] == 9
        swaps += swapped
        halves = [(lines[0][line].tolist(), 7), (lines[1][line].tolist(), 9)]
        first, second = halves[::-1] if swapped else halves
        a, b = list(first[0]), list(second[0])
        while len(a) + len(b) > LENGTH - 4:
            (a if len(a) > len(b) else b).pop()
        ids = [BOS, *a, EOS, BOS, *b, EOS]
        padding = LENGTH - len(ids)
        langs = [first[1]] * (len(a) + 2) + [second[1]] * (len(b) + 2)
        positions = [*range(len(a) + 2), *range(len(b) + 2)]
        assert rows["input_ids"][row].tolist() == ids + [PAD] * padding
        assert rows["input_mask"][row].tolist() == [1] * len(ids) + [0] * padding
        assert rows["lang_ids"][row].tolist() == langs + [0] * padding
        assert rows["position_ids"][row].tolist() == positions + [0] * padding
    assert 0.4 < swaps / len(order) < 0.6
