"""describe_shards.py: shows good shards, names what is wrong with bad ones."""

import subprocess
import sys

import h5py
import numpy as np
import pytest

from babelmill.shards.check import faults
from babelmill.shards.layout import DTYPES
from conftest import ROOT


def shard(path, **changes):
    """A shard of two rows of 8 tokens in the peers' layout, made by hand."""
    fields = {
        "input_ids": [[2, 4, 7, 3, 8, 3, 0, 0], [2, 4, 9, 9, 3, 6, 3, 0]],
        "input_mask": [[1] * 6 + [0] * 2, [1] * 7 + [0]],
        "segment_ids": [[0, 0, 0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 0, 1, 1, 0]],
        "masked_lm_positions": [[1, 4, 0], [1, 0, 0]],
        "masked_lm_ids": [[5, 8, 0], [7, 0, 0]],
        "next_sentence_labels": [0, 1],
    } | changes
    with h5py.File(path, "w") as out:
        for name, values in fields.items():
            if values is not None:
                out[name] = np.asarray(values, DTYPES[name])
    return path


def test_a_good_shard_has_no_faults(tmp_path):
    assert faults(shard(tmp_path / "a_training.hdf5"), vocab_size=10) == []


@pytest.mark.parametrize(
    "changes, fault",
    [
        ({"segment_ids": None}, "missing fields: segment_ids"),
        ({"next_sentence_labels": [0]}, "next_sentence_labels has 1 rows"),
        ({"next_sentence_labels": [0, 2]}, "a next-sentence label that is not 0 or 1"),
        ({"masked_lm_positions": [[1, 7, 0], [1, 0, 0]]}, "outside the tokens"),
        ({"masked_lm_positions": [[1, 0, 4], [1, 0, 0]]}, "after a 0"),
        ({"masked_lm_positions": [[1, 1, 0], [1, 0, 0]]}, "a masked position twice"),
        ({"masked_lm_positions": [[0, 0, 0], [1, 0, 0]]}, "no masked position"),
        ({"input_mask": [[1, 0, 1, 1, 1, 1, 0, 0]] * 2}, "the mask has gaps"),
        ({"masked_lm_ids": [[5, 10, 0], [7, 0, 0]]}, "an id outside the vocabulary"),
    ],
)
def test_faults_are_named(tmp_path, changes, fault):
    found = faults(shard(tmp_path / "a_training.hdf5", **changes), vocab_size=10)
    assert any(fault in line for line in found), found


def test_causal_rows_have_no_masked_positions(tmp_path):
    one_of_each = {"causal": [1, 0], "masked_lm_positions": [[0, 0, 0], [1, 0, 0]]}
    assert faults(shard(tmp_path / "a_training.hdf5", **one_of_each)) == []
    (line,) = faults(shard(tmp_path / "b_training.hdf5", causal=[1, 0]))
    assert "masked positions in a causal row: 1 rows, row 0 first" in line


def test_a_name_that_trainers_pass_over(tmp_path):
    (line,) = faults(shard(tmp_path / "part1.hdf5"))
    assert "has no 'training' in it" in line


@pytest.mark.parametrize("good", [True, False])
def test_script_counts_bad_shards(tmp_path, good):
    shard(tmp_path / "a_training.hdf5")
    shard(tmp_path / "b_training.hdf5", **({} if good else {"input_mask": None}))
    done = subprocess.run(
        [sys.executable, ROOT / "workflow_scripts" / "describe_shards.py", tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == (0 if good else 2)
    assert "a_training.hdf5: 2 rows of 8, 13 tokens (81% full)" in done.stdout
    assert ("1 of 2 shards have faults" in done.stderr) != good


def test_a_file_that_is_no_shard_is_a_fault_among_others(tmp_path):
    (tmp_path / "cut_training.hdf5").write_bytes(b"\x89HDF\r\n\x1a\n")
    (line,) = faults(tmp_path / "cut_training.hdf5")
    assert line.startswith("not readable as HDF5")
