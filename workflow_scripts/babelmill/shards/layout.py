"""The HDF5 layout of a shard, as PaddleNLP and NVIDIA read it, with XLM's fields.

| field | dtype | shape |
|---|---|---|
| ``input_ids`` | int32 | (rows, max_seq_length) |
| ``input_mask`` | int8 | (rows, max_seq_length) |
| ``segment_ids`` | int8 | (rows, max_seq_length) |
| ``masked_lm_positions`` | int32 | (rows, max_predictions_per_seq), padded with 0 |
| ``masked_lm_ids`` | int32 | (rows, max_predictions_per_seq), padded with 0 |
| ``next_sentence_labels`` | int8 | (rows,), 1 where the second segment is random |
| ``lang_ids`` (XLM) | int8 | (rows, max_seq_length) |
| ``position_ids`` (XLM) | int16 | (rows, max_seq_length) |
| ``causal`` (CLM) | int8 | (rows,), 1 where a row is predicted from left to right |
| ``language`` (validation) | 3 bytes | (rows,), of BERT's rows in several languages |

A causal row has no masked positions: each of its tokens but the first is a target.
"""

import os
from collections.abc import Iterable

import h5py
import numpy as np

from babelmill.errors import UserError
from babelmill.files import whole_file

DTYPES = {
    "input_ids": np.int32,
    "input_mask": np.int8,
    "segment_ids": np.int8,
    "masked_lm_positions": np.int32,
    "masked_lm_ids": np.int32,
    "next_sentence_labels": np.int8,
    "lang_ids": np.int8,
    "position_ids": np.int16,
    "causal": np.int8,
    "language": "S3",
}
BERT_FIELDS = tuple(DTYPES)[:6]
XLM_FIELDS = tuple(DTYPES)[:8]

# A reader of one batch inflates no more than this many rows.
ROWS_PER_CHUNK = 64
# Higher levels save 2 % of the bytes and cost a third more time.
_COMPRESSION_LEVEL = 1

Rows = dict[str, np.ndarray]


def write_shard(path: str | os.PathLike[str], blocks: Iterable[Rows]) -> int:
    """Append blocks of rows to a new shard; equal blocks give equal bytes.

    Returns:
        The number of rows written.
    """
    rows = 0
    with whole_file(path) as partial, h5py.File(partial, "w") as out:
        for block in blocks:
            for name, values in block.items():
                if name not in out:
                    _create(out, name, values)
                out[name].resize(rows + len(values), axis=0)
                out[name][rows:] = values
            rows += len(block["input_ids"])
    return rows


def _create(out: h5py.File, name: str, values: np.ndarray) -> None:
    tail = values.shape[1:]
    out.create_dataset(
        name,
        shape=(0, *tail),
        maxshape=(None, *tail),
        chunks=(ROWS_PER_CHUNK, *tail),
        dtype=DTYPES[name],
        compression="gzip",
        compression_opts=_COMPRESSION_LEVEL,
        shuffle=True,
    )


def open_shard(path: str | os.PathLike[str]) -> h5py.File:
    """Open a shard for reading.

    Raises:
        UserError: the file is not HDF5.
    """
    try:
        return h5py.File(path, "r")
    except OSError as error:
        raise UserError(f"{path}: not readable as HDF5: {error}") from error


def concatenate(blocks: list[Rows]) -> Rows:
    """One block of the rows of all ``blocks``."""
    return {name: np.concatenate([b[name] for b in blocks]) for name in blocks[0]}


def take(rows: Rows, index: np.ndarray) -> Rows:
    """The rows at ``index``."""
    return {name: values[index] for name, values in rows.items()}


def count_tokens(shard: h5py.File) -> int:
    """The tokens of a shard, padding left out."""
    mask = shard["input_mask"]
    return sum(
        int(mask[start : start + 4096].sum(dtype="i8"))
        for start in range(0, len(mask), 4096)
    )
