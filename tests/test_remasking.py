"""Masks drawn while training, by definition."""

import itertools

import h5py
import numpy as np
import pytest

from babelmill.pretraining.examples import ShardRows, global_batches
from babelmill.pretraining.remasking import Remasking, unmasked_ids
from babelmill.shards.masking import choose_positions, mask_tokens

ROWS, LENGTH, PREDICTIONS, VOCAB = 300, 64, 12, 500
PAD, CLS, SEP, MASK = SPECIAL = np.arange(4)


@pytest.fixture(scope="module")
def text():
    """Texts of 10 to 64 tokens between [CLS] and [SEP], as they were."""
    rng = np.random.default_rng(1)
    ids = rng.integers(4, VOCAB, (ROWS, LENGTH), dtype=np.int32)
    lengths = rng.integers(10, LENGTH + 1, ROWS)
    ids[:, 0] = CLS
    ids[np.arange(ROWS), lengths - 1] = SEP
    ids[np.arange(LENGTH) >= lengths[:, None]] = PAD
    return ids


@pytest.fixture
def rows(text):
    """The same with static masks; every tenth row is causal."""
    rng = np.random.default_rng(2)
    lengths = (text != PAD).sum(1)
    causal = np.arange(ROWS) % 10 == 0
    positions, counts = choose_positions(
        (text > MASK) & ~causal[:, None], lengths, 0.15, PREDICTIONS, rng
    )
    ids, labels = mask_tokens(
        text, positions, counts, MASK, np.arange(4, VOCAB, dtype=np.int32), rng
    )
    return {
        "input_ids": ids,
        "input_mask": (text != PAD).astype(np.int8),
        "segment_ids": np.zeros_like(text, np.int8),
        "masked_lm_positions": positions,
        "masked_lm_ids": labels,
        "next_sentence_labels": np.zeros(ROWS, np.int8),
        "causal": causal.astype(np.int8),
    }


@pytest.fixture
def remask():
    return Remasking(7, SPECIAL, VOCAB, MASK, 0.15)


def chosen(rows):
    """The masked places as (row, position) pairs."""
    row, slot = np.nonzero(rows["masked_lm_positions"])
    return set(zip(row, rows["masked_lm_positions"][row, slot], strict=True))


def test_unmasking_gives_the_text_back(rows, text, remask):
    assert (rows["input_ids"] != text).any()
    assert (unmasked_ids(rows) == text).all()
    for step in range(3):
        assert (unmasked_ids(remask(rows, step)) == text).all()


def test_what_was_given_is_not_changed(rows, remask):
    before = {name: values.copy() for name, values in rows.items()}
    remask(rows, 0)
    assert all((rows[name] == before[name]).all() for name in rows)


def test_counts_and_the_three_rates(rows, text, remask):
    """15 % of the tokens; 80 % masks, 10 % random words, 10 % kept, to 4 sigma."""
    shown, labels = [], []
    for step in range(40):
        fresh = remask(rows, step)
        row, slot = np.nonzero(fresh["masked_lm_positions"])
        at = row, fresh["masked_lm_positions"][row, slot]
        shown.append(fresh["input_ids"][at])
        labels.append(text[at])
        wanted = np.rint(0.15 * rows["input_mask"].sum(1)).clip(1, PREDICTIONS)
        wanted[rows["causal"] > 0] = 0
        assert (np.bincount(row, minlength=ROWS) == wanted).all()
    shown, labels = np.concatenate(shown), np.concatenate(labels)
    n = len(shown)
    assert n > 50_000
    for part, rate in (
        (shown == MASK, 0.8),
        (shown == labels, 0.1 + 0.1 / (VOCAB - 4)),
    ):
        assert abs(part.mean() - rate) < 4 * (rate * (1 - rate) / n) ** 0.5
    random = shown[(shown != MASK) & (shown != labels)]
    assert set(random) == set(range(4, VOCAB))


def test_special_tokens_padding_and_causal_rows_are_left_alone(rows, text, remask):
    for step in range(20):
        fresh = remask(rows, step)
        for row, position in chosen(fresh):
            assert text[row, position] not in SPECIAL
        causal = rows["causal"] > 0
        assert (fresh["input_ids"][causal] == text[causal]).all()
        for name in ("input_mask", "segment_ids", "next_sentence_labels", "causal"):
            assert fresh[name] is rows[name]


def test_every_step_has_other_masks_and_always_the_same(rows, remask):
    seen = [chosen(remask(rows, step)) for step in range(5)]
    for one, other in itertools.combinations(seen, 2):
        # 15 % of the places of one are places of the other by chance.
        assert len(one & other) < 0.3 * len(one)
    again = remask(rows, 3)
    assert chosen(again) == seen[3]
    assert (again["input_ids"] == remask(rows, 3)["input_ids"]).all()
    other_seed = Remasking(8, SPECIAL, VOCAB, MASK, 0.15)
    assert chosen(other_seed(rows, 3)) != seen[3]


def test_weights_decide_what_is_drawn(rows, text):
    weights = np.full(VOCAB, 1e-6, np.float32)
    weights[4 : VOCAB // 2] = 1
    fresh = Remasking(7, SPECIAL, VOCAB, MASK, 0.15, weights)(rows, 0)
    drawn = np.asarray([text[at] for at in chosen(fresh)])
    # Only rows with fewer light words than masks draw heavy ones.
    assert (drawn < VOCAB // 2).mean() > 0.99


@pytest.mark.parametrize("world, micro", [(2, None), (3, 4)])
def test_masks_do_not_depend_on_how_a_batch_is_cut(
    rows, text, remask, tmp_path, world, micro
):
    with h5py.File(tmp_path / "a_training.hdf5", "w") as shard:
        for name, values in rows.items():
            shard[name] = values

    def shares(rank, world, micro):
        shards = ShardRows([tmp_path / "a_training.hdf5"])
        source = global_batches(shards, 64, 5, 0, rank, world, micro, remask)
        return list(itertools.islice(source, 10))

    def contents(shares):
        return sorted(
            (tuple(ids), tuple(positions))
            for share in shares
            for part in share.micro_batches
            for ids, positions in zip(
                part["input_ids"], part["masked_lm_positions"], strict=True
            )
        )

    whole = shares(0, 1, None)
    cut = [shares(rank, world, micro) for rank in range(world)]
    for step, share in enumerate(whole):
        assert contents([share]) == contents([one[step] for one in cut])
        assert {one[step].predictions for one in cut} == {share.predictions}
    # Two epochs: the same rows, other masks.
    first, second = contents(whole[:5]), contents(whole[5:])
    assert first != second
    assert contents(shares(0, 1, None)) == contents(whole)
