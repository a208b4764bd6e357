"""What is wrong with a shard, ours or a foreign one."""

from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np

from babelmill.errors import UserError
from babelmill.shards.layout import BERT_FIELDS, DTYPES, open_shard

_ROWS_PER_BLOCK = 4096
_PER_ROW = "next_sentence_labels"


def faults(path: Path, vocab_size: int | None = None) -> list[str]:
    """Describe what a trainer would stumble over; empty for a good shard."""
    try:
        opened = open_shard(path)
    except UserError as error:
        return [str(error).removeprefix(f"{path}: ")]
    with opened as shard:
        found = list(_faults_of_fields(path, shard))
        if found:
            return found
        for start in range(0, len(shard["input_ids"]), _ROWS_PER_BLOCK):
            rows = {
                name: shard[name][start : start + _ROWS_PER_BLOCK]
                for name in (*BERT_FIELDS, *({"causal"} & set(shard)))
            }
            found += _faults_of_rows(rows, start, vocab_size)
    return found


def _faults_of_fields(path: Path, shard: h5py.File) -> Iterator[str]:
    if "training" not in path.name and not path.name.startswith("validation"):
        yield "its name has no 'training' in it: PaddleNLP's trainers pass it over"
    missing = [name for name in BERT_FIELDS if name not in shard]
    if missing:
        yield f"missing fields: {', '.join(missing)}"
        return
    rows = len(shard["input_ids"])
    if not rows:
        yield "it has no rows"
    for name in BERT_FIELDS:
        column = shard[name]
        if len(column) != rows:
            yield f"{name} has {len(column)} rows, input_ids has {rows}"
        if column.ndim != (1 if name == _PER_ROW else 2):
            yield f"{name} has {column.ndim} dimensions"
        if column.dtype != DTYPES[name]:
            yield f"{name} is {column.dtype}, not {np.dtype(DTYPES[name])}"


def _faults_of_rows(
    rows: dict[str, np.ndarray], first: int, vocab_size: int | None
) -> Iterator[str]:
    ids, mask = rows["input_ids"], rows["input_mask"].astype(bool)
    positions, labels = rows["masked_lm_positions"], rows["masked_lm_ids"]
    length = ids.shape[1]
    lengths = mask.sum(1)
    causal = rows.get("causal", np.zeros(len(ids))) > 0
    inside = np.take_along_axis(mask, positions.clip(0, length - 1), axis=1)
    # The first 0 ends the masked positions, for every reader of the layout.
    ends = np.where((positions == 0).any(1), (positions == 0).argmax(1), len(labels[0]))
    used = np.arange(positions.shape[1]) < ends[:, None]
    in_order = np.sort(np.where(used, positions, -1), axis=1)
    tests = {
        "the mask has gaps": (mask != (np.arange(length) < lengths[:, None])).any(1),
        "no token": lengths == 0,
        "a negative id": (ids < 0).any(1),
        "a masked position outside the tokens": (
            used & (~inside | (positions >= length) | (positions < 0))
        ).any(1),
        "a masked position after a 0, which readers pass over": (
            (positions > 0) & ~used
        ).any(1),
        "a masked position twice": (
            (np.diff(in_order, axis=1) == 0) & (in_order[:, 1:] > 0)
        ).any(1),
        "no masked position": (ends == 0) & ~causal,
        "masked positions in a causal row": (ends > 0) & causal,
        "a next-sentence label that is not 0 or 1": ~np.isin(
            rows["next_sentence_labels"], (0, 1)
        ),
        "a segment that is not 0 or 1": ~np.isin(rows["segment_ids"], (0, 1)).all(1),
    }
    if vocab_size is not None:
        tests["an id outside the vocabulary"] = (ids >= vocab_size).any(1) | (
            labels >= vocab_size
        ).any(1)
    for what, bad in tests.items():
        if bad.any():
            row = first + int(bad.argmax())
            yield f"{what}: {int(bad.sum())} rows, row {row} first"
