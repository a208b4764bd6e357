"""Tokenized documents, the validation split, masks and sampling, by definition."""

import hashlib

import h5py
import numpy as np
import pytest

from babelmill.errors import UserError
from babelmill.randomness import derived_seed, stream
from babelmill.shards.documents import TokenizedDocuments, write_documents
from babelmill.shards.layout import DTYPES, XLM_FIELDS, write_shard
from babelmill.shards.masking import choose_positions, mask_tokens
from babelmill.shards.sampling import Source, interleave, language_shares
from babelmill.shards.split import VALIDATION, Split
from babelmill.truncation import fitting_lengths

DOCUMENTS = [[[5, 6, 7], [8]], [[9, 9]], [[5, 6, 7], [8]]]


def documents(tmp_path, content=DOCUMENTS, aligned=False, vocab_size=70_000):
    path = tmp_path / "text.h5"
    arrays = [[np.asarray(s, np.int32) for s in document] for document in content]
    write_documents(path, arrays, vocab_size, aligned, {"lang": "en"})
    return TokenizedDocuments(path)


def document(text, number):
    """The sentences of a document, as lists."""
    lengths, _, (begin,) = text.sentence_lengths(np.asarray([number]))
    ids = text.ids[begin : begin + lengths.sum()]
    return [part.tolist() for part in np.split(ids, np.cumsum(lengths)[:-1])]


def test_documents_come_back_as_written(tmp_path):
    text = documents(tmp_path)
    back = [document(text, number) for number in range(len(text))]
    assert back == DOCUMENTS
    assert text.attributes == {"lang": "en"}
    assert np.flatnonzero(text.token_counts).tolist() == [5, 6, 7, 8, 9]
    assert text.token_counts[9] == 2


def test_a_long_document_is_stored_in_parts_with_one_key(tmp_path, monkeypatch):
    monkeypatch.setattr("babelmill.shards.documents._LONGEST_SENTENCES", 2)
    monkeypatch.setattr("babelmill.shards.documents._LONGEST_TOKENS", 6)
    long = [[1], [2], [3], [4] * 7, [5], [6]]
    text = documents(tmp_path, [long, [[9]]])
    parts = [np.concatenate(document(text, n)).tolist() for n in range(len(text))]
    assert parts == [[1, 2], [3] + [4] * 7, [5, 6], [9]]
    keys = text.document_keys[:].tolist()
    assert keys[0] == keys[1] == keys[2] != keys[3]
    whole = [token for sentence in long for token in sentence]
    digest = hashlib.blake2b(np.asarray(whole, "<i4").tobytes(), digest_size=8).digest()
    assert keys[0] == int.from_bytes(digest, "little")


def test_sides_of_a_translation_are_parted_at_the_same_lines(tmp_path, monkeypatch):
    monkeypatch.setattr("babelmill.shards.documents._LONGEST_SENTENCES", 2)
    monkeypatch.setattr("babelmill.shards.documents._LONGEST_TOKENS", 3)
    for content in ([[[1], [2], [3]]], [[[1] * 9, [], [3] * 9]]):
        text = documents(tmp_path, content, aligned=True)
        assert text.document_ends[:].tolist() == [2, 3]
        assert text.document_keys[:].tolist() == [0, 0]


def test_sentence_lengths_by_hand(tmp_path):
    text = documents(tmp_path, [[[1], [2, 2]], [[3]], [[4], [5], [6, 6, 6]]])
    lengths, counts, begins = text.sentence_lengths(np.asarray([2, 0]))
    assert lengths.tolist() == [1, 1, 3, 1, 2]
    assert (counts.tolist(), begins.tolist()) == ([3, 2], [4, 0])
    assert text.sentence_lengths(np.zeros(0, int))[0].tolist() == []


@pytest.mark.parametrize("gaps", [0, 100])
def test_columns_are_read_as_arrays_are(tmp_path, monkeypatch, gaps):
    """Entry by entry, or with what lies between."""
    monkeypatch.setattr("babelmill.shards.documents._GAPS", gaps)
    rng = stream(1, "columns")
    whole = rng.integers(0, 60_000, 5000)
    ids = documents(tmp_path, [[whole]], vocab_size=60_000).ids
    assert len(ids) == 5000 and ids[7] == whole[7]
    assert ids[10:20].tolist() == whole[10:20].tolist()
    assert ids[4990:9999].tolist() == whole[4990:].tolist()
    assert ids[:].tolist() == whole.tolist()
    index = rng.integers(0, 5000, 300)
    assert ids[index].tolist() == whole[index].tolist()
    starts, sizes = rng.integers(0, 4900, 50), rng.integers(0, 100, 50)
    wanted = [whole[a : a + n] for a, n in zip(starts, sizes, strict=True)]
    assert ids.pieces(starts, sizes).tolist() == np.concatenate(wanted).tolist()
    assert ids.pieces(starts[:0], sizes[:0]).tolist() == []


def test_blocks_of_documents_hold_few_sentences(tmp_path, monkeypatch):
    monkeypatch.setattr("babelmill.shards.documents._SENTENCES_AT_ONCE", 4)
    monkeypatch.setattr("babelmill.shards.documents._DOCUMENTS_AT_ONCE", 3)
    text = documents(tmp_path, [[[1]] * n for n in (1, 1, 1, 1, 3, 2, 1)])
    blocks = [block.tolist() for block in text.blocks()]
    assert np.concatenate(blocks).tolist() == list(range(7))
    sizes = [sum((1, 1, 1, 1, 3, 2, 1)[n] for n in block) for block in blocks]
    assert max(map(len, blocks)) <= 3 and max(sizes) <= 4 + 3


def test_keys_are_equal_for_equal_documents_only(tmp_path):
    first, second, third = documents(tmp_path).document_keys[:]
    assert first == third != second


def test_keys_of_aligned_text_are_line_numbers(tmp_path):
    text = documents(tmp_path, [[[]], [[1], []]], aligned=True)
    assert text.document_keys[:].tolist() == [0, 1]
    assert text.aligned


def test_empty_lines_of_aligned_text_are_kept(tmp_path):
    content = [[[], []], [[1, 2], [], [3]]]
    text = documents(tmp_path, content, aligned=True)
    assert [document(text, number) for number in (0, 1)] == content
    assert text.token_counts_of(np.arange(2)).tolist() == [0, 3]


def test_a_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as out:
        out["ids"] = [1]
    with pytest.raises(UserError, match=r"x\.h5: not a file of tokenized documents"):
        TokenizedDocuments(path)


def split_of(keys, shards, fraction, seed):
    """The shard of documents with these keys, by number and by listing each shard."""
    numbers = np.arange(len(keys))

    class Text:
        document_keys = np.asarray(keys, np.uint64)
        __len__ = lambda self: len(keys)  # noqa: E731
        blocks = lambda self: iter(np.array_split(numbers, 3))  # noqa: E731

    text = Text()
    split = Split(text, shards, fraction, seed)
    listed = {
        shard: split.documents_in(shard) for shard in (VALIDATION, *range(shards))
    }
    shard_of = split.shard_of(numbers)
    for shard, documents in listed.items():
        assert documents.tolist() == np.flatnonzero(shard_of == shard).tolist()
    return shard_of


def test_split_is_by_content_and_of_the_asked_size():
    keys = stream(1, "keys").integers(0, 2**63, 20_000).astype(np.uint64)
    keys[10_000:] = keys[:10_000]
    shard = split_of(keys, 4, 0.1, seed=3)
    held_out = shard == VALIDATION
    assert (held_out[:10_000] == held_out[10_000:]).all()
    # 10,000 independent draws at 0.1: four standard deviations are 120.
    assert abs(held_out[:10_000].sum() - 1_000) < 120
    counts = np.bincount(shard[~held_out])
    assert len(counts) == 4 and counts.min() > 4_200


def test_split_of_few_documents_has_validation():
    keys = np.arange(5, dtype=np.uint64)
    assert (split_of(keys, 2, 0.001, seed=1) == VALIDATION).sum() == 1
    assert (split_of(keys, 2, 0.0, seed=1) == VALIDATION).sum() == 0


@pytest.mark.parametrize("keys", [[7], [7, 7, 7]])
def test_text_that_is_held_out_whole_is_refused(tmp_path, keys):
    text = documents(tmp_path, [[[key]] for key in keys])
    with pytest.raises(UserError, match=r"text\.h5: all its documents would be held"):
        Split(text, 2, 0.01, 1)
    assert len(Split(text, 1, 0.0, 1).documents_in(0)) == len(keys)


def test_masks_keep_their_definitions():
    rng = stream(7, "test")
    ids = rng.integers(10, 1000, (5000, 64), dtype=np.int32)
    lengths = rng.integers(2, 65, 5000)
    candidates = (np.arange(64) < lengths[:, None]) & (np.arange(64) > 0)
    positions, counts = choose_positions(candidates, lengths, 0.15, 8, rng)
    expected = [min(8, max(1, round(n * 0.15)), n - 1) for n in lengths.tolist()]
    assert counts.tolist() == expected
    for row in range(5000):
        chosen = positions[row, : counts[row]]
        assert (np.diff(chosen) > 0).all()
        assert candidates[row, chosen].all()
        assert not positions[row, counts[row] :].any()
    masked, labels = mask_tokens(ids, positions, counts, 4, np.arange(5, 10), rng)
    real = np.arange(8) < counts[:, None]
    row, slot = np.nonzero(real)
    shown, right = masked[row, positions[row, slot]], labels[row, slot]
    assert (right == ids[row, positions[row, slot]]).all()
    assert not labels[~real].any()
    untouched = np.ones_like(ids, bool)
    untouched[row, positions[row, slot]] = False
    assert (masked[untouched] == ids[untouched]).all()
    # 80 % mask, 10 % of words 5 to 9, 10 % kept (ids start at 10: no overlap).
    n = len(row)
    for share, seen in (
        (0.8, shown == 4),
        (0.1, (shown >= 5) & (shown < 10)),
        (0.1, shown == right),
    ):
        assert abs(seen.sum() - share * n) < 4 * np.sqrt(share * (1 - share) * n)


def test_whole_words_are_masked_whole():
    rng = stream(9, "test")
    rows, length = 4000, 40
    starts = rng.random((rows, length)) < 0.6
    lengths = rng.integers(5, length + 1, rows)
    candidates = (np.arange(length) > 0) & (np.arange(length) < lengths[:, None] - 1)
    positions, counts = choose_positions(
        candidates, lengths, 0.15, 7, rng, word_starts=starts
    )
    for row in range(rows):
        wanted = min(7, max(1, round(int(lengths[row]) * 0.15)))
        chosen = set(positions[row, : counts[row]].tolist())
        words = []
        for at in np.flatnonzero(candidates[row]).tolist():
            if starts[row, at] or at == 1:
                words.append(set())
            words[-1].add(at)
        taken = [word for word in words if word <= chosen]
        assert set().union(*taken) == chosen
        assert len(chosen) == counts[row] <= wanted
        # A word that would still fit was not passed over.
        rest = [len(word) for word in words if word not in taken]
        assert not rest or min(rest) > wanted - len(chosen)


def test_every_word_is_as_likely_to_be_masked():
    starts = np.tile(np.asarray([1, 1, 0, 1, 0, 1], bool), (30_000, 1))
    candidates = np.ones_like(starts)
    positions, _ = choose_positions(
        candidates, np.full(30_000, 13), 0.15, 2, stream(1, "x"), word_starts=starts
    )
    # Two masks. Half of the rows draw a word of one token first, for which only the
    # other such word fits; a quarter each draw one of the words of two tokens.
    first = (positions == [0, 5]).all(1).mean()
    assert first == pytest.approx(0.5, abs=0.015)
    assert (positions == [1, 2]).all(1).mean() == pytest.approx(0.25, abs=0.015)


def test_weighted_positions_follow_the_weights():
    rng = stream(8, "test")
    candidates = np.ones((40_000, 4), bool)
    weights = np.tile(np.asarray([1, 2, 3, 4], np.float32), (40_000, 1))
    positions, counts = choose_positions(
        candidates, np.full(40_000, 4), 0.15, 1, rng, weights
    )
    assert (counts == 1).all()
    shares = np.bincount(positions[:, 0], minlength=4) / 40_000
    assert shares == pytest.approx([0.1, 0.2, 0.3, 0.4], abs=0.01)


def test_language_shares_by_hand():
    # p = 0.8, 0.2: square roots 0.894427, 0.447214, sum 1.341641.
    assert language_shares([80, 20], 0.5) == pytest.approx([2 / 3, 1 / 3])
    assert language_shares([80, 20], 1.0) == pytest.approx([0.8, 0.2])
    assert language_shares([80, 20, 0], 0.0) == pytest.approx([0.5, 0.5, 0.0])


@pytest.mark.parametrize("multiplier", [0.3, 1.0, 2.5])
def test_a_source_repeats_each_row_as_often_as_asked(multiplier):
    def blocks(_):
        for start in range(0, 100, 30):
            yield {"input_ids": np.arange(start, min(start + 30, 100))[:, None]}

    source = Source(100, blocks, multiplier, 0.25)
    rows = np.concatenate(
        [source.take(n)["input_ids"] for n in (3, source.rows - 3)]
    ).ravel()
    times = np.bincount(rows, minlength=100)
    assert set(times) <= {int(multiplier), int(multiplier) + 1}
    assert abs(times.sum() - 100 * multiplier) <= 1
    # Copies of a row lie a pass apart.
    for row in range(100):
        assert (np.diff(np.flatnonzero(rows == row)) > 40).all()


def test_interleaving_mixes_and_loses_nothing():
    def blocks(first, count):
        yield {"input_ids": np.arange(first, first + count)[:, None]}

    sources = [
        Source(9000, lambda _: blocks(0, 9000), 1.0, 0.0),
        Source(3000, lambda _: blocks(9000, 3000), 1.0, 0.0),
    ]
    rows = [b["input_ids"].ravel() for b in interleave(sources, stream(1, "mix"))]
    everything = np.concatenate(rows)
    assert sorted(everything) == list(range(12_000))
    first = rows[0]
    # A quarter of the rows is the second source's, in the first block too.
    assert abs((first >= 9000).mean() - 0.25) < 0.03


@pytest.mark.parametrize("room", [7, 8, 45])
def test_the_longer_text_of_a_pair_gives_way(room):
    def one_by_one(first, second):
        while first + second > room:
            first, second = (
                (first - 1, second) if first > second else (first, second - 1)
            )
        return first, second

    sizes = [(a, b) for a in range(1, 60) for b in range(1, 60)]
    kept = fitting_lengths(*np.asarray(sizes).T, room)
    assert list(zip(*map(np.ndarray.tolist, kept), strict=True)) == [
        one_by_one(*pair) for pair in sizes
    ]


def test_shards_have_the_layout_that_peers_read(tmp_path):
    rows = {name: np.zeros((3, 8), np.int64) for name in XLM_FIELDS}
    rows["next_sentence_labels"] = np.zeros(3, np.int64)
    for name in ("a", "b"):
        write_shard(tmp_path / f"{name}_training.hdf5", [rows, rows])
    with h5py.File(tmp_path / "a_training.hdf5") as shard:
        assert {n: shard[n].dtype for n in shard} == {n: DTYPES[n] for n in XLM_FIELDS}
        assert shard["input_ids"].shape == (6, 8)
        assert shard["next_sentence_labels"].shape == (6,)
        assert shard["input_ids"].compression == "gzip"
    first, second = ((tmp_path / f"{n}_training.hdf5").read_bytes() for n in "ab")
    assert first == second


def test_streams_have_names_not_an_order():
    assert stream(1, "a", 2).random() == stream(1, "a", 2).random()
    assert stream(1, "a", 2).random() != stream(1, "a", 3).random()
    assert stream(1, "a", 2).random() != stream(2, "a", 2).random()
    assert derived_seed(1, "a") != derived_seed(1, "b")
    assert 0 <= derived_seed(1, "a") < 2**31
