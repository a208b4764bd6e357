"""Texts and text pairs as the inputs of an encoder."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from babelmill.errors import UserError
from babelmill.tasks import Example
from babelmill.tokenizers import Tokenizer
from babelmill.truncation import fitting_lengths

Batch = dict[str, np.ndarray]


@dataclass(frozen=True)
class Inputs:
    """Encoded examples of one language, in order."""

    input_ids: list[np.ndarray]
    segment_ids: list[np.ndarray]
    lang_id: int

    def __len__(self) -> int:
        return len(self.input_ids)


def encode_examples(
    examples: Sequence[Example], tokenizer: Tokenizer, lang: str, max_seq_length: int
) -> Inputs:
    """Encode the texts, or pairs of texts, of a task's examples in one language."""
    pairs = [example.text_b for example in examples]
    return encode_texts(
        [example.text_a for example in examples],
        pairs if any(pairs) else None,
        tokenizer,
        lang,
        max_seq_length,
    )


def label_numbers(examples: Sequence[Example], labels: Sequence[str]) -> np.ndarray:
    """The place of each example's label among ``labels``, (examples,) int64."""
    number = {label: i for i, label in enumerate(labels)}
    return np.asarray([number[example.label] for example in examples])


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
    if tokenizer.lang2id and lang not in tokenizer.lang2id:
        raise UserError(
            f"the tokenizer does not know the language {lang}; it knows:"
            f" {' '.join(sorted(tokenizer.lang2id))}"
        )
    first = tokenizer.encode_lines(texts, lang)
    second = tokenizer.encode_lines(pairs, lang) if pairs else None
    special = len(tokenizer.build_inputs([], [] if pairs else None)[0])
    room = max_seq_length - special
    if second is None:
        cut = [(ids[:room], None) for ids in first]
    else:
        kept = fitting_lengths(_lengths(first), _lengths(second), room)
        cut = [(a[:n], b[:m]) for a, b, n, m in zip(first, second, *kept, strict=True)]
    built = [tokenizer.build_inputs(a, b) for a, b in cut]
    return Inputs(
        [np.asarray(ids, np.int64) for ids, _ in built],
        [np.asarray(segments, np.int64) for _, segments in built],
        tokenizer.lang2id.get(lang, 0),
    )


def _lengths(ids: Sequence[np.ndarray]) -> np.ndarray:
    return np.fromiter(map(len, ids), np.int64, len(ids))


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
    lengths = _lengths(ids)
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
    lengths = _lengths(inputs.input_ids)
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
