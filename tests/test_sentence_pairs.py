"""BERT's sentence pairs: right labels, right halves, right shares."""

from types import SimpleNamespace

import h5py
import numpy as np
import pytest

from babelmill.errors import UserError
from babelmill.randomness import stream
from babelmill.shards.build import ShardSettings, Text, training_rows, validation_rows
from babelmill.shards.check import faults
from babelmill.shards.documents import TokenizedDocuments, write_documents
from babelmill.shards.layout import BERT_FIELDS, DTYPES, concatenate, write_shard
from babelmill.shards.sentence_pairs import (
    PairTable,
    draw_pairs,
    pair_rows,
    random_documents,
)
from babelmill.shards.split import Split

LENGTH = 32
CLS, SEP, PAD, MASK = 101, 102, 0, 103
TOKENIZER = SimpleNamespace(
    vocab_size=60_000,
    cls_id=CLS,
    sep_id=SEP,
    pad_id=PAD,
    mask_id=MASK,
    special_ids=np.arange(200),
)
# Token ids say where they are from: 200 + 100 * document + sentence.
DOCUMENTS = 500


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    rng = stream(1, "documents")
    content = [
        [
            np.full(rng.integers(1, 12), 200 + 100 * number + sentence, np.int32)
            for sentence in range(rng.integers(1, 20))
        ]
        for number in range(DOCUMENTS)
    ]
    path = tmp_path_factory.mktemp("text") / "en.h5"
    write_documents(path, content, TOKENIZER.vocab_size, False, {})
    return TokenizedDocuments(path)


def pairs_of(text, length, short_seq_prob, held_out=False, fraction=0.0):
    split = Split(text, 1, fraction, 0)
    others = random_documents(text, split, held_out)
    order = split.documents_in(-1 if held_out else 0)
    drawn = draw_pairs(text, order, others, length, short_seq_prob, stream(1, "pairs"))
    return np.concatenate(list(drawn))


def rows_of(text, short_seq_prob=0.1):
    pairs = PairTable([pairs_of(text, LENGTH, short_seq_prob)])
    rng = stream(2, "rows")
    return concatenate(list(pair_rows(text, pairs, TOKENIZER, LENGTH, rng)))


def halves(rows, row):
    ids = rows["input_ids"][row][rows["input_mask"][row] == 1].tolist()
    assert ids[0] == CLS and ids[-1] == SEP
    at = ids.index(SEP)
    segments = rows["segment_ids"][row]
    assert segments[: at + 1].sum() == 0
    assert segments[at + 1 : len(ids)].all() and not segments[len(ids) :].any()
    assert not rows["input_ids"][row][len(ids) :].any()
    return ids[1:at], ids[at + 1 : -1]


def document_of(ids):
    (number,) = {(token - 200) // 100 for token in ids}
    return number


def test_labels_say_whether_the_second_part_follows(text):
    rows = rows_of(text)
    for row, label in enumerate(rows["next_sentence_labels"]):
        first, second = halves(rows, row)
        assert first and second
        same = document_of(first) == document_of(second)
        assert same == (label == 0)
        if same:
            # The next sentence, or a later one where both halves lost tokens.
            assert min(second) > max(first)
            assert min(second) - max(first) == 1 or len(first) + len(second) == 29


def test_sentences_in_a_half_follow_each_other(text):
    rows = rows_of(text)
    for row in range(0, len(rows["input_ids"]), 7):
        for half in halves(rows, row):
            steps = set(np.diff(half).tolist())
            assert steps <= {0, 1}


def test_no_sentence_is_lost_or_used_twice_as_first_or_following_part(text):
    """Before truncation the parts that are not random tile every document."""
    pairs = pairs_of(text, LENGTH, 0.1)
    covered = np.zeros(len(text.ids), int)
    for first, size, second, other, random in pairs.tolist():
        covered[first : first + size] += 1
        if not random:
            covered[second : second + other] += 1
    assert (covered == 1).all()


def test_about_half_of_the_pairs_are_random(text):
    rows = rows_of(text, short_seq_prob=0.0)
    share = rows["next_sentence_labels"].mean()
    # Half of the chunks of two sentences or more, and all of one sentence.
    assert 0.5 < share < 0.65


def test_short_rows_come_from_the_asked_share_of_documents(text):
    full = rows_of(text, short_seq_prob=0.0)["input_mask"].sum(1)
    short = rows_of(text, short_seq_prob=1.0)["input_mask"].sum(1)
    # A target is uniform in 2 .. 29, against 29.
    assert full.mean() > 27
    assert short.mean() < 22


def test_copies_of_a_document_are_no_random_second_part(tmp_path):
    content = [[np.full(5, 300), np.full(5, 301)]] * 8 + [[np.full(5, 900)] * 2]
    write_documents(tmp_path / "x.h5", content, 1000, False, {})
    text = TokenizedDocuments(tmp_path / "x.h5")
    pairs = pairs_of(text, 24, 0.0)
    for first, _, second, _, random in pairs.tolist():
        if random:
            assert (text.ids[first] == 900) != (text.ids[second] == 900)


def test_no_part_of_a_pair_is_empty(tmp_path):
    empty = np.zeros(0, np.int32)
    content = [
        [empty, np.full(4, 300 + i), empty, np.full(4, 301 + i)] for i in range(9)
    ]
    write_documents(tmp_path / "x.h5", [*content, [empty]], 1000, True, {})
    text = TokenizedDocuments(tmp_path / "x.h5")
    pairs = pairs_of(text, 24, 0.5)
    assert len(pairs) > 5
    assert (pairs[:, [1, 3]] > 0).all()


def test_one_document_alone_is_refused(tmp_path):
    write_documents(tmp_path / "x.h5", [[np.full(5, 300)] * 4], 1000, False, {})
    text = TokenizedDocuments(tmp_path / "x.h5")
    with pytest.raises(UserError, match="two documents or more"):
        pairs_of(text, 24, 0.0)


def test_a_lonely_held_out_document_is_paired_with_the_others(tmp_path):
    content = [[np.full(3, 300 + 10 * i + j) for j in range(4)] for i in range(6)]
    write_documents(tmp_path / "x.h5", content, 1000, False, {})
    text = TokenizedDocuments(tmp_path / "x.h5")
    (held,) = Split(text, 1, 0.001, 0).documents_in(-1)
    draw = random_documents(text, Split(text, 1, 0.001, 0), held_out=True)
    assert set(draw(200, stream(1, "x")).tolist()) == set(range(6)) - {held}


@pytest.mark.parametrize("held_out", [True, False])
def test_random_parts_stay_on_their_side_of_the_split(text, held_out):
    held = set(Split(text, 1, 0.1, 0).documents_in(-1).tolist())
    assert 30 < len(held) < 70
    pairs = pairs_of(text, LENGTH, 0.1, held_out, fraction=0.1)
    first, second = ((text.ids[pairs[:, n]] - 200) // 100 for n in (0, 2))
    for number in {*first.tolist(), *second.tolist()}:
        assert (number in held) == held_out


SETTINGS = ShardSettings(
    max_seq_length=LENGTH,
    max_predictions_per_seq=5,
    masked_lm_prob=0.15,
    objectives={"mlm_nsp": 1.0},
    lg_sampling_factor=1.0,
    word_sampling_alpha=0.0,
    whole_word_mask=False,
    short_seq_prob=0.1,
    validation_fraction=0.1,
    validation_rows=10_000,
    shards=3,
    random_seed=4,
)


def documents_in(rows):
    """Numbers of the documents in first halves; masks hide some tokens."""
    ids = rows["input_ids"][:, 1:12]
    return set(((ids[ids >= 200] - 200) // 100).tolist())


def test_shards_part_the_text_and_validation_leaks_into_none(text):
    texts = [Text("mlm_nsp", "en", (text,), ("en",))]
    # No token is masked away from its document.
    settings = SETTINGS
    held_out = concatenate(list(validation_rows(texts, TOKENIZER, settings)))
    first = {i for i in range(3)}
    shards = [
        concatenate(list(training_rows(texts, TOKENIZER, settings, s, 0)))
        for s in first
    ]
    own = set(texts[0].split(settings).documents_in(-1).tolist())
    assert 30 < len(own) < 70
    for rows in shards:
        labels = rows["masked_lm_ids"]
        seen = set(((labels[labels > 0] - 200) // 100).tolist())
        assert not seen & own
    labels = held_out["masked_lm_ids"]
    assert set(((labels[labels > 0] - 200) // 100).tolist()) <= own


def test_held_out_pairs_say_their_language_where_there_are_several(text, tmp_path):
    def tokenized(name, first):
        path = tmp_path / f"{name}.h5"
        documents = [[np.full(5, first + n)] * 9 for n in range(200)]
        write_documents(path, documents, TOKENIZER.vocab_size, False, {})
        return Text("mlm_nsp", name, (TokenizedDocuments(path),), (name,))

    texts = [tokenized("de", 1000), tokenized("swc", 2000)]
    rows = concatenate(list(validation_rows(texts, TOKENIZER, SETTINGS)))
    # By the ids that a text is made of: masked ones as they were.
    is_swc = rows["masked_lm_ids"][:, 0] >= 2000
    assert 0 < is_swc.sum() < len(is_swc)
    assert rows["language"].tolist() == [b"swc" if swc else b"de" for swc in is_swc]
    for given in (texts[:1], texts):
        training = concatenate(list(training_rows(given, TOKENIZER, SETTINGS, 0, 0)))
        assert set(training) == set(BERT_FIELDS)
    alone = concatenate(list(validation_rows(texts[:1], TOKENIZER, SETTINGS)))
    assert set(alone) == set(BERT_FIELDS)
    # Through the file and back.
    write_shard(tmp_path / "validation.hdf5", [rows])
    with h5py.File(tmp_path / "validation.hdf5") as shard:
        assert (shard["language"][:] == rows["language"]).all()
    assert faults(tmp_path / "validation.hdf5", TOKENIZER.vocab_size) == []


def test_dupes_are_masked_and_paired_anew(text):
    texts = [Text("mlm_nsp", "en", (text,), ("en",))]
    first, second = (
        concatenate(list(training_rows(texts, TOKENIZER, SETTINGS, 0, dupe)))
        for dupe in (0, 1)
    )
    size = min(len(first["input_ids"]), len(second["input_ids"]))
    same = (
        first["masked_lm_positions"][:size] == second["masked_lm_positions"][:size]
    ).all(1)
    assert same.mean() < 0.1


def test_a_reader_of_the_peers_accepts_our_shards(text, tmp_path):
    """What PaddleNLP's PretrainingDataset does: read six whole arrays by name."""
    texts = [Text("mlm_nsp", "en", (text,), ("en",))]
    path = tmp_path / "0-of-3.dupe0_training.hdf5"
    write_shard(path, training_rows(texts, TOKENIZER, SETTINGS, 0, 0))
    with h5py.File(path, "r") as shard:
        arrays = {name: np.asarray(shard[name][:]) for name in BERT_FIELDS}
        assert set(shard) == set(BERT_FIELDS)
    for name, array in arrays.items():
        assert array.dtype == DTYPES[name]
    for row in range(len(arrays["input_ids"])):
        # It takes the first 0 as the end of the masked positions.
        positions = arrays["masked_lm_positions"][row]
        count = int((positions == 0).argmax()) if (positions == 0).any() else 5
        assert count >= 1 and not positions[count:].any()
        shown = arrays["input_ids"][row][positions[:count]]
        labels = arrays["masked_lm_ids"][row][:count]
        assert ((shown == MASK) | (shown == labels) | (shown >= 200)).all()
