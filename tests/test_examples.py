"""The order of pretraining examples and how a global batch is cut."""

import itertools
import math
import random
import tracemalloc

import h5py
import numpy as np
import pytest

from babelmill.errors import UserError
from babelmill.pretraining import examples
from babelmill.pretraining.examples import ShardRows, global_batches
from babelmill.shards.layout import BERT_FIELDS, write_shard

LENGTH = 8


def bert_rows(numbers):
    """Rows of 2 to 8 tokens with 0 to 3 masked positions; input_ids[0] counts them."""
    rows = {field: np.zeros((len(numbers), LENGTH), np.int64) for field in BERT_FIELDS}
    rows["next_sentence_labels"] = np.zeros(len(numbers), np.int64)
    rows["input_ids"][:, 0] = numbers
    lengths = np.asarray(numbers) * 5 % 7 + 2
    rows["input_mask"][:] = np.arange(LENGTH) < lengths[:, None]
    for field in ("masked_lm_positions", "masked_lm_ids"):
        rows[field] = rows[field][:, :3]
        rows[field][:] = np.arange(3) < np.asarray(numbers)[:, None] % 4
    return rows


def write_shards(folder, counts):
    """Shards of so many rows, numbered through."""
    paths, first = [], 0
    for number, count in enumerate(counts):
        paths.append(folder / f"{number:04d}_training.hdf5")
        write_shard(paths[-1], [bert_rows(np.arange(first, first + count))])
        first += count
    return paths


@pytest.fixture
def shards(tmp_path):
    """Three shards of 70, 1 and 130 rows."""
    return write_shards(tmp_path, (70, 1, 130))


def numbers(share):
    return [row for part in share.micro_batches for row in part["input_ids"][:, 0]]


def order(paths, batch_size, steps, seed=5, **cut):
    source = global_batches(ShardRows(paths), batch_size, seed, **cut)
    return [numbers(share) for share in itertools.islice(source, steps)]


def test_every_row_once_an_epoch_whatever_the_cut(tmp_path):
    """Random shards, batches, worlds and micro-batches; two epochs of each."""
    draw = random.Random(7)
    for case in range(40):
        counts = [draw.randint(1, 150) for _ in range(draw.randint(1, 4))]
        rows, batch_size = sum(counts), draw.choice([1, 2, 7, 16, 64, 500])
        world, micro = draw.randint(1, 5), draw.choice([None, 1, 3, 8])
        (folder := tmp_path / str(case)).mkdir()
        paths = write_shards(folder, counts)
        per_epoch = math.ceil(rows / batch_size)
        whole = order(paths, batch_size, 2 * per_epoch)
        for epoch in (whole[:per_epoch], whole[per_epoch:]):
            assert sorted(itertools.chain(*epoch)) == list(range(rows))
            assert [len(b) for b in epoch[:-1]] == [batch_size] * (per_epoch - 1)
        sources = [
            global_batches(ShardRows(paths), batch_size, 5, 0, rank, world, micro)
            for rank in range(world)
        ]
        for batch in whole:
            shares = [next(source) for source in sources]
            assert sorted(itertools.chain(*map(numbers, shares))) == sorted(batch)
            held = [len(numbers(share)) for share in shares]
            assert max(held) - min(held) <= 1
            sizes = [len(p["input_ids"]) for s in shares for p in s.micro_batches]
            assert min(sizes) > 0 and max(sizes) <= (micro or batch_size)


def test_counts_are_of_the_whole_global_batch(shards):
    sources = [global_batches(ShardRows(shards), 50, 5, 0, r, 3, 4) for r in range(3)]
    for _ in range(9):
        shares = [next(source) for source in sources]
        batch = np.asarray([row for share in shares for row in numbers(share)])
        for share in shares:
            assert share.rows == len(batch)
            assert share.predictions == (batch % 4).sum()
            assert share.tokens == (batch * 5 % 7 + 2).sum()


def test_every_token_but_the_first_of_a_causal_row_is_predicted(tmp_path):
    (path,) = write_shards(tmp_path, [6])
    with h5py.File(path, "a") as shard:
        shard["causal"] = np.asarray([0, 1, 0, 0, 1, 0], np.int8)
        shard["masked_lm_positions"][[1, 4]] = 0
    share = next(global_batches(ShardRows([path]), 6, 1))
    # Rows 0, 2, 3, 5 have 0, 2, 3 and 1 masks; rows 1 and 4 have 7 and 8 tokens.
    assert share.predictions == 0 + 2 + 3 + 1 + 6 + 7


def test_a_process_without_a_row_of_the_last_batch_has_nothing_to_compute(shards):
    # 201 rows in batches of 100: the last one has one row, for three processes.
    lasts = [next(global_batches(ShardRows(shards), 100, 5, 2, r, 3)) for r in range(3)]
    assert [len(share.micro_batches) for share in lasts] == [1, 0, 0]
    assert [share.rows for share in lasts] == [1, 1, 1]


def test_other_seeds_and_epochs_have_another_order_other_names_do_not(shards):
    one = order(shards, 16, 26)
    assert one[:13] != one[13:]
    assert one == order(shards[::-1], 16, 26) != order(shards, 16, 26, seed=6)


@pytest.mark.parametrize("first", [1, 7, 13, 30])
@pytest.mark.parametrize("rank, world, micro", [(0, 1, None), (1, 3, 2)])
def test_resuming_goes_on_where_it_was(shards, first, rank, world, micro):
    cut = {"rank": rank, "world": world, "micro_batch_size": micro}
    straight = order(shards, 16, 40, **cut)
    assert order(shards, 16, 40 - first, first_step=first, **cut) == straight[first:]


def test_small_windows_keep_every_row_and_the_place_of_every_step(shards, monkeypatch):
    monkeypatch.setattr(examples, "_ROWS_PER_WINDOW", 33)
    whole = order(shards, 16, 26)
    for epoch in (whole[:13], whole[13:]):
        assert sorted(itertools.chain(*epoch)) == list(range(201))
    assert [order(shards, 16, 1, first_step=n)[0] for n in range(26)] == whole


def test_a_window_is_mixed_from_all_over_the_shards(tmp_path, monkeypatch):
    """Also where a whole file is one chunk; and each epoch mixes anew."""
    monkeypatch.setattr(examples, "_ROWS_PER_WINDOW", 256)
    monkeypatch.setattr(examples, "_LONGEST_RUN", 64)
    with h5py.File(tmp_path / "a_training.hdf5", "w") as shard:
        for name, values in bert_rows(np.arange(4096)).items():
            shard.create_dataset(name, data=values, chunks=values.shape)
    whole = order([tmp_path / "a_training.hdf5"], 256, 32)
    windows = [{row // 64 for row in batch} for batch in whole]
    # Four runs of 64 rows each, far apart, and others in the second epoch.
    assert {len(runs) for runs in windows} == {4}
    assert any(max(runs) - min(runs) > 16 for runs in windows)
    assert windows[:16] != windows[16:]


def test_neighbors_in_a_batch_are_of_like_length(tmp_path):
    paths = write_shards(tmp_path, [1000])
    for batch in order(paths, 50, 20):
        lengths = np.asarray(batch) * 5 % 7 + 2
        # Seven lengths, alike frequent: 20 batches cross a border six times.
        assert lengths.max() - lengths.min() <= 1
        assert (np.diff(lengths) >= 0).all()


def test_thousands_of_shards_need_few_open_files(tmp_path, monkeypatch):
    monkeypatch.setattr(examples, "_OPEN_SHARDS", 3)
    opened = set()

    def open_shard(path):
        opened.add(shard := h5py.File(path, "r"))
        assert sum(map(bool, opened)) <= 3
        return shard

    monkeypatch.setattr(examples, "open_shard", open_shard)
    paths = write_shards(tmp_path, [2] * 20)
    whole = order(paths, 8, 5)
    assert sorted(itertools.chain(*whole)) == list(range(40))


@pytest.mark.parametrize(
    "layout",
    [
        {},
        {"compression": "gzip", "compression_opts": 4},
        {"compression": "gzip", "chunks": "file"},
    ],
    ids=["contiguous", "PaddleNLP", "one chunk a file"],
)
def test_foreign_shards_are_read_in_bounded_memory(tmp_path, layout, monkeypatch):
    """Other layouts on disk: still every row once, and never a whole file in memory."""
    monkeypatch.setattr(examples, "_ROWS_PER_WINDOW", 1000)
    count = 40_000
    rows = bert_rows(np.arange(count))
    with h5py.File(tmp_path / "a_training.hdf5", "w") as shard:
        for name, values in rows.items():
            values = values.astype(np.int32)
            chunks = {"chunks": values.shape} if layout.get("chunks") else {}
            shard.create_dataset(name, data=values, **{**layout, **chunks})
    source = global_batches(ShardRows([tmp_path / "a_training.hdf5"]), 100, 5)
    seen = np.zeros(count, np.int64)
    tracemalloc.start()
    for _ in range(400):
        seen[numbers(next(source))] += 1
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (seen == 1).all()
    assert peak < sum(values.size for values in rows.values())


def test_the_list_of_a_hundred_million_rows_is_small(tmp_path, monkeypatch):
    """Only the count of rows is real: the list of their runs is what is measured."""
    (path,) = write_shards(tmp_path, [1])
    rows = ShardRows([path])
    rows._rows[:] = 100_000_000
    rows._run_ends[:] = math.ceil(100_000_000 / 64)
    tracemalloc.start()
    order = rows.order(seed=1, epoch=0)
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert order._ends[-1] == 100_000_000
    assert held < 30e6 and peak < 100e6


def test_shards_that_do_not_fit_are_named(tmp_path):
    (tmp_path / "x_training.hdf5").write_bytes(b"no")
    with pytest.raises(UserError, match=r"x_training\.hdf5: not readable as HDF5"):
        ShardRows([tmp_path / "x_training.hdf5"])
    write_shard(tmp_path / "y_training.hdf5", [bert_rows(np.arange(3))])
    longer = {**bert_rows(np.arange(3)), "input_ids": np.zeros((3, 9), np.int64)}
    write_shard(tmp_path / "z_training.hdf5", [longer])
    with pytest.raises(UserError, match=r"z_training\.hdf5: its fields .* first shard"):
        ShardRows([tmp_path / "y_training.hdf5", tmp_path / "z_training.hdf5"])
    write_shard(tmp_path / "empty_training.hdf5", [bert_rows(np.arange(0))])
    with pytest.raises(UserError, match="the shards have no rows"):
        ShardRows([tmp_path / "empty_training.hdf5"])
