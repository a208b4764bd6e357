"""Texts and text pairs as the inputs of an encoder."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from babelmill.tokenizers import Tokenizer

Batch = dict[str, np.ndarray]


@dataclass(frozen=True)
class Inputs:
    """Encoded examples of one language, in order."""

    input_ids: list[np.ndarray]
    segment_ids: list[np.ndarray]
    lang_id: int

    def __len__(self) -> int:
        return len(self.input_ids)


def encode_texts(
    texts: Sequence[str],
    pairs: Sequence[str] | None,
    tokenizer: Tokenizer,
    lang: str,
    max_seq_length: int,
) -> Inputs:
    """Tokenize texts (or pairs) of one language and add the special tokens.

    Too long an input loses tokens from the end of its longer text, one by one, as BERT
    does (``longest_first``).
    """
    first = tokenizer.encode_lines(texts, lang)
    second = tokenizer.encode_lines(pairs, lang) if pairs else [None] * len(first)
    ids, segments = [], []
    for a, b in zip(first, second, strict=True):
        special = len(tokenizer.build_inputs([], [] if b is not None else None)[0])
        a, b = truncate(a, b, max_seq_length - special)
        tokens, kinds = tokenizer.build_inputs(a, b)
        ids.append(np.asarray(tokens, np.int64))
        segments.append(np.asarray(kinds, np.int64))
    return Inputs(ids, segments, tokenizer.lang2id.get(lang, 0))


def truncate(
    a: np.ndarray, b: np.ndarray | None, room: int
) -> tuple[np.ndarray, np.ndarray | None]:
    """Cut a text or a pair to ``room`` tokens; the longer of a pair gives way."""
    if b is None:
        return a[:room], None
    if len(a) + len(b) > room:
        shorter = min(len(a), len(b), room // 2)
        if len(a) > len(b):
            return a[: room - shorter], b[:shorter]
        return a[:shorter], b[: room - shorter]
    return a, b


def collate(
    ids: Sequence[np.ndarray],
    segments: Sequence[np.ndarray],
    lang_ids: Sequence[int],
    pad_id: int,
) -> Batch:
    """Pad rows to the longest of them.

    Returns:
        input_ids, segment_ids, lang_ids, position_ids (rows, length) int64 and
        input_mask (rows, length) float32.
    """
    lengths = np.fromiter(map(len, ids), np.int64, len(ids))
    shape = (len(ids), int(lengths.max()))
    real = np.arange(shape[1]) < lengths[:, None]
    batch = {
        "input_ids": np.full(shape, pad_id, np.int64),
        "segment_ids": np.zeros(shape, np.int64),
        "lang_ids": np.broadcast_to(np.asarray(lang_ids)[:, None], shape).copy(),
        "position_ids": np.broadcast_to(np.arange(shape[1]), shape).copy(),
        "input_mask": real.astype(np.float32),
    }
    batch["input_ids"][real] = np.concatenate(ids)
    batch["segment_ids"][real] = np.concatenate(segments)
    return batch


def sorted_batches(
    inputs: Inputs, batch_size: int, pad_id: int
) -> Iterator[tuple[np.ndarray, Batch]]:
    """Yield batches of inputs of like length, with the places of their rows."""
    lengths = np.fromiter(map(len, inputs.input_ids), np.int64, len(inputs))
    order = np.argsort(-lengths, kind="stable")
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        yield (
            rows,
            collate(
                [inputs.input_ids[i] for i in rows],
                [inputs.segment_ids[i] for i in rows],
                [inputs.lang_id] * len(rows),
                pad_id,
            ),
        )
