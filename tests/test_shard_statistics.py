"""Whole shards against the definitions: shares, rates and lengths, counted."""

from random import Random
from types import SimpleNamespace

import numpy as np
import pytest

from babelmill.errors import UserError
from babelmill.randomness import stream
from babelmill.shards.build import ShardSettings, Text, training_rows, validation_rows
from babelmill.shards.documents import TokenizedDocuments, write_documents
from babelmill.shards.layout import concatenate

SPECIAL, MASK, VOCABULARY, LENGTH = 10, 5, 4000, 64
TOKENIZER = SimpleNamespace(
    vocab_size=VOCABULARY,
    cls_id=0,
    eos_id=1,
    sep_id=1,
    pad_id=2,
    mask_id=MASK,
    special_ids=np.arange(SPECIAL),
    lang2id={"aa": 0, "bb": 1, "cc": 2},
)
SETTINGS = {
    "max_seq_length": LENGTH,
    "max_predictions_per_seq": 8,
    "masked_lm_prob": 0.15,
    "lg_sampling_factor": 1.0,
    "word_sampling_alpha": 0.0,
    "whole_word_mask": False,
    "short_seq_prob": 0.1,
    "validation_fraction": 0.02,
    "validation_rows": 100,
    "shards": 1,
    "random_seed": 1,
}


def within_four_deviations(count, n, p):
    """Whether ``count`` of ``n`` draws is as expected; one in 16,000 is not."""
    return abs(count - n * p) <= 4 * np.sqrt(n * p * (1 - p))


def write(folder, lang, documents, seed=0):
    """Documents of 30 sentences of 1 to 20 tokens."""
    rng = stream(seed, "text", lang)

    def sentences():
        for size in rng.integers(1, 21, 30):
            yield rng.integers(SPECIAL, VOCABULARY, size, dtype=np.int32)

    path = folder / f"{lang}.h5"
    every = (list(sentences()) for _ in range(documents))
    write_documents(path, every, VOCABULARY, False, {})
    return TokenizedDocuments(path)


@pytest.fixture(scope="module")
def languages(tmp_path_factory):
    """Text in three languages, of 1 : 4 : 16."""
    folder = tmp_path_factory.mktemp("text")
    sizes = {"aa": 40, "bb": 160, "cc": 640}
    return {lang: write(folder, lang, size) for lang, size in sizes.items()}


def rows_of(texts, objectives, dupe=0, **changes):
    settings = ShardSettings(objectives=objectives, **{**SETTINGS, **changes})
    return concatenate(list(training_rows(texts, TOKENIZER, settings, 0, dupe)))


@pytest.fixture(scope="module")
def masked(languages):
    """Rows of masked streams, and which positions are masked."""
    texts = [Text("mlm", lang, (side,), (lang,)) for lang, side in languages.items()]
    rows = rows_of(texts, {"mlm": 1.0})
    row, slot = np.nonzero(rows["masked_lm_positions"])
    return (
        rows,
        row,
        rows["masked_lm_positions"][row, slot],
        rows["masked_lm_ids"][row, slot],
    )


def test_the_share_of_masked_positions(masked):
    rows, row, _, _ = masked
    sizes = rows["input_mask"].sum(1)
    # The last row of each language is padded.
    assert (sizes != LENGTH).sum() <= 3
    wanted = [min(8, max(1, round(0.15 * n))) for n in sizes.tolist()]
    assert np.bincount(row, minlength=len(sizes)).tolist() == wanted


def test_eight_in_ten_are_masks_and_one_in_ten_another_word(masked):
    rows, row, column, right = masked
    shown = rows["input_ids"][row, column]
    n = len(row)
    assert n > 20_000
    assert within_four_deviations((shown == MASK).sum(), n, 0.8)
    # A random word is the right one in one of 3,990 cases.
    other = (shown != MASK) & (shown != right)
    assert within_four_deviations(other.sum(), n, 0.1 * (1 - 1 / 3990))
    assert within_four_deviations((shown == right).sum(), n, 0.1 + 0.1 / 3990)


def test_random_words_are_all_words_alike_and_none_special(masked):
    rows, row, column, right = masked
    shown = rows["input_ids"][row, column]
    words = shown[(shown != MASK) & (shown != right)]
    assert words.min() >= SPECIAL
    for low in range(SPECIAL, VOCABULARY, 399):
        inside = ((words >= low) & (words < low + 399)).sum()
        assert within_four_deviations(inside, len(words), 0.1)


def test_every_place_of_a_row_is_masked_alike(masked):
    """Of the tokens that may be: not the first, nor a sentence's end."""
    rows, row, column, right = masked
    assert right.min() >= SPECIAL
    ids = rows["input_ids"].copy()
    ids[row, column] = right
    per_place = (ids >= SPECIAL).sum(0)
    times = np.bincount(column, minlength=LENGTH)
    assert times[0] == 0
    share = times.sum() / per_place.sum()
    for place in range(1, LENGTH):
        assert within_four_deviations(times[place], per_place[place], share)


def test_dupes_are_masked_independently(languages):
    texts = [Text("mlm", "aa", (languages["aa"],), ("aa",))]
    first, second = (rows_of(texts, {"mlm": 1.0}, dupe) for dupe in (0, 1))
    assert not np.array_equal(first["input_ids"], second["input_ids"])


@pytest.mark.parametrize("alpha", [1.0, 0.5, 0.0])
def test_languages_get_shares_of_their_size_to_the_power_of_alpha(languages, alpha):
    texts = [Text("mlm", lang, (side,), (lang,)) for lang, side in languages.items()]
    rows = rows_of(texts, {"mlm": 1.0}, lg_sampling_factor=alpha, validation_fraction=0)
    tokens = np.asarray([len(side.ids) for side in languages.values()], float)
    powers = (tokens / tokens.sum()) ** alpha
    counts = np.bincount(rows["lang_ids"][:, 0], minlength=3)
    assert counts / counts.sum() == pytest.approx(powers / powers.sum(), abs=0.002)
    # Together they are as many as without sampling.
    whole = [len(side.ids) + len(side.sentence_ends) for side in languages.values()]
    assert counts.sum() == pytest.approx(sum(n / (LENGTH - 1) for n in whole), abs=4)


def test_objectives_get_rows_by_their_weights(languages):
    texts = [
        Text(name, lang, (side,), (lang,))
        for lang, side in languages.items()
        for name in ("mlm", "clm")
    ]
    rows = rows_of(texts, {"mlm": 3.0, "clm": 1.0})
    assert rows["causal"].mean() == pytest.approx(0.25, abs=0.002)


@pytest.mark.parametrize(
    "name, lang, message",
    [
        ("mlm", "dd", "does not know the language dd; it knows: aa bb cc"),
        ("tlm", "aa", "objective tlm: not a row from no text"),
    ],
)
def test_what_gives_no_row_is_named(languages, name, lang, message):
    texts = [Text("mlm", lang, (languages["aa"],), (lang,))]
    with pytest.raises(UserError, match=message):
        rows_of(texts, {name: 1.0})


def test_pairs_without_a_common_line_are_refused(tmp_path):
    sides = []
    for lang, lines in ("aa", ([20], [], [30])), ("bb", ([], [21], [])):
        documents = [[np.asarray(line, np.int32)] for line in lines]
        write_documents(tmp_path / f"{lang}.h5", documents, VOCABULARY, True, {})
        sides.append(TokenizedDocuments(tmp_path / f"{lang}.h5"))
    texts = [Text("tlm", "aa-bb", tuple(sides), ("aa", "bb"))]
    with pytest.raises(UserError, match="objective tlm: not a row from aa-bb"):
        rows_of(texts, {"tlm": 1.0})


def naive_pairs(documents, target_of, chance):
    """BERT's algorithm on lists, as its authors describe it, without truncation."""
    for number, document in enumerate(documents):
        target = target_of()
        chunk, at = [], 0
        while at < len(document):
            chunk.append(document[at])
            if at == len(document) - 1 or sum(chunk) >= target:
                end = chance.randint(1, len(chunk) - 1) if len(chunk) > 1 else 1
                first, second = sum(chunk[:end]), 0
                if random := len(chunk) == 1 or chance.random() < 0.5:
                    other = number
                    while other == number:
                        other = chance.randrange(len(documents))
                    start = chance.randrange(len(documents[other]))
                    for size in documents[other][start:]:
                        second += size
                        if second >= target - first:
                            break
                    at -= len(chunk) - end
                else:
                    second = sum(chunk[end:])
                yield first, second, random
                chunk = []
            at += 1


@pytest.mark.parametrize("short_seq_prob", [0.0, 0.1, 1.0])
def test_sentence_pairs_are_those_of_the_plain_algorithm(languages, short_seq_prob):
    text, room = languages["cc"], LENGTH - 3
    rows = rows_of(
        [Text("mlm_nsp", "cc", (text,), ("cc",))],
        {"mlm_nsp": 1.0},
        short_seq_prob=short_seq_prob,
        validation_fraction=0,
    )
    every = np.arange(len(text))
    sizes = [text.sentence_lengths(every[n : n + 1])[0].tolist() for n in every]
    chance = Random(5)

    def target():
        short = chance.random() < short_seq_prob
        return chance.randint(2, room) if short else room

    wanted = np.asarray(
        [p for _ in range(4) for p in naive_pairs(sizes, target, chance)]
    )
    both = wanted[:, 0] + wanted[:, 1]
    n, expected = len(rows["input_ids"]), len(wanted) / 4
    # Targets are drawn by document: of 640 draws, four deviations of a share are 0.08,
    # against 0.02 where all targets are the same.
    tolerance = 0.02 + 0.06 * short_seq_prob
    assert n == pytest.approx(expected, rel=tolerance)
    label = rows["next_sentence_labels"]
    assert label.mean() == pytest.approx(wanted[:, 2].mean(), abs=0.02)
    lengths = rows["input_mask"].sum(1) - 3
    for random in (0, 1):
        found, right = lengths[label == random], both[wanted[:, 2] == random]
        mean = np.minimum(right, room).mean()
        assert found.mean() == pytest.approx(mean, rel=tolerance)
        short = (right < room / 2).mean()
        assert (found < room / 2).mean() == pytest.approx(short, abs=tolerance)


def test_half_of_the_pairs_that_could_follow_are_random(tmp_path):
    """Documents of two sentences that fill a row: one pair each, random or not."""
    sentence = np.full(35, 20, np.int32)
    documents = [[sentence + n % 100, sentence + n % 90] for n in range(4000)]
    write_documents(tmp_path / "x.h5", documents, VOCABULARY, False, {})
    text = Text("mlm_nsp", "aa", (TokenizedDocuments(tmp_path / "x.h5"),), ("aa",))
    label = rows_of([text], {"mlm_nsp": 1.0}, short_seq_prob=0.0)[
        "next_sentence_labels"
    ]
    # A random pair puts its second sentence back, which then stands alone: 1 more row.
    follow, random = (label == 0).sum(), (label == 1).sum()
    assert within_four_deviations(follow, follow + random / 2, 0.5)


def test_the_held_out_share_of_documents(languages):
    texts = [Text("mlm_nsp", "cc", (languages["cc"],), ("cc",))]
    settings = ShardSettings(
        objectives={"mlm_nsp": 1.0}, **{**SETTINGS, "validation_fraction": 0.2}
    )
    held_out = texts[0].split(settings).documents_in(-1)
    assert within_four_deviations(len(held_out), 640, 0.2)
    rows = concatenate(list(validation_rows(texts, TOKENIZER, settings)))
    assert len(rows["input_ids"]) == SETTINGS["validation_rows"]
