"""Metrics of answers and of entities."""

import numpy as np
import pytest

from babelmill import answers, entities


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The  Mombasa, a port!", "mombasa port"),
        ("An apple", "apple"),
        # Punctuation goes first, and joins what it parted.
        ("the-end", "theend"),
        ("U.S.A.", "usa"),
        ("theatre", "theatre"),
        # No ASCII, no punctuation: as in the official script.
        ("«x»", "«x»"),
        ("a", ""),
    ],
)
def test_answers_are_normalized(text, expected):
    assert answers.normalized(text) == expected


def test_the_best_of_the_right_answers_counts():
    right = [["Mombasa", "the port of Mombasa"], ["in 1990"], ["Juma"]]
    given = ["port of mombasa.", "1990", ""]
    assert answers.exact_match(right, given) == pytest.approx(1 / 3)
    # in 1990 - 1990: precision 1, recall 1/2.
    assert answers.f1(right, given) == pytest.approx((1 + 2 / 3 + 0) / 3)


def test_a_word_counts_as_often_as_in_both():
    # Common: b twice, c once; of 3 and of 5 words.
    assert answers.f1([["b b c"]], ["b b b c d"]) == pytest.approx(2 * 3 / (3 + 5))
    # Both become nothing: the official script gives 0, and they are an exact match.
    assert answers.f1([["the"]], ["a"]) == 0
    assert answers.exact_match([["the"]], ["a"]) == 1


def iob2(rng, length):
    """Labels that are right IOB2, and the entities that they spell."""
    labels, spans = [], set()
    while len(labels) < length:
        kind = rng.choice(["O", "PER", "LOC"])
        if kind == "O":
            labels.append("O")
            continue
        start, size = len(labels), int(rng.integers(1, 4))
        labels += [f"B-{kind}", *[f"I-{kind}"] * (size - 1)]
        spans.add((kind, start, len(labels)))
    return labels, spans


def test_entities_count_with_type_and_borders():
    rng = np.random.default_rng(1)
    gold, predicted = [], []
    right = found = there = 0
    for _ in range(40):
        labels, spans = iob2(rng, 12)
        # Half of the guesses are another draw.
        guess, guessed = (labels, spans) if rng.random() < 0.5 else iob2(rng, 12)
        length = min(len(labels), len(guess))
        if any(end > length for _, _, end in spans | guessed):
            continue
        gold.append(labels[:length])
        predicted.append(guess[:length])
        right += len(spans & guessed)
        found, there = found + len(guessed), there + len(spans)
    assert len(gold) > 15 and 0 < right < there
    expected = 2 * right / (found + there)
    assert entities.f1(gold, predicted) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("gold", "predicted", "f1"),
    [
        # IOBES.
        ("B-X I-X E-X O S-Y", "B-X I-X E-X O S-Y", 1.0),
        ("B-X E-X S-Y", "B-X E-X S-X", 0.5),
        # An entity that begins with I-, as conlleval takes it.
        ("B-X I-X O", "I-X I-X O", 1.0),
        ("B-X B-X", "B-X I-X", 0.0),
        ("O O", "O O", 0.0),
        ("O B-X", "O O", 0.0),
    ],
)
def test_entities_by_hand(gold, predicted, f1):
    assert entities.f1([gold.split()], [predicted.split()]) == pytest.approx(f1)


def test_accuracy_is_that_of_tokens():
    gold, predicted = [["A", "B", "B"], ["C"]], [["A", "B", "A"], ["C"]]
    assert entities.accuracy(gold, predicted) == 0.75
