"""Texts and text pairs as the inputs of an encoder."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice

import numpy as np

from babelmill.errors import UserError
from babelmill.tasks import Example
from babelmill.tokenizers import Tokenizer
from babelmill.truncation import fitting_lengths

# Texts whose tokens are Python objects at one time.
_TEXTS_AT_ONCE = 10_000

# What is taken from the score of what cannot be; half precision still holds it.
NEVER = 1e4

Batch = dict[str, np.ndarray]


@dataclass(frozen=True)
class Inputs:
    """Encoded examples, one after the other: six bytes a token.

    Attributes:
        ids: (tokens,) int32.
        segments: (tokens,) uint8.
        lengths: (examples,) int32.
        lang_ids: (examples,) int32.
    """

    ids: np.ndarray
    segments: np.ndarray
    lengths: np.ndarray
    lang_ids: np.ndarray

    @classmethod
    def of(
        cls,
        ids: Sequence[Sequence[int]],
        segments: Sequence[Sequence[int]],
        lang_id: int,
    ) -> "Inputs":
        """The ids and segments of examples in one language."""
        lengths = np.fromiter(map(len, ids), np.int32, len(ids))
        tokens = int(lengths.sum())
        return cls(
            np.fromiter(chain.from_iterable(ids), np.int32, tokens),
            np.fromiter(chain.from_iterable(segments), np.uint8, tokens),
            lengths,
            np.full(len(ids), lang_id, np.int32),
        )

    @classmethod
    def gathered(
        cls, built: Iterable[tuple[Sequence[int], Sequence[int]]], lang_id: int
    ) -> "Inputs":
        """As ``of``, from pairs of ids and segments of which few are in memory."""
        rest, parts = iter(built), []
        while some := list(islice(rest, _TEXTS_AT_ONCE)):
            parts.append(cls.of(*zip(*some, strict=True), lang_id))
        return cls.joined(parts)

    @classmethod
    def joined(cls, parts: Sequence["Inputs"]) -> "Inputs":
        """The examples of all parts."""
        names = ("ids", "segments", "lengths", "lang_ids")
        return cls(*(np.concatenate([getattr(p, n) for p in parts]) for n in names))

    def __len__(self) -> int:
        return len(self.lengths)

    def batch(self, rows: np.ndarray, pad_id: int) -> Batch:
        """Some examples, padded to the longest of them.

        Returns:
            input_ids, segment_ids, lang_ids, position_ids (rows, length) int64 and
            input_mask (rows, length) float32.
        """
        lengths = self.lengths[rows]
        shape = (len(rows), int(lengths.max()))
        positions = np.broadcast_to(np.arange(shape[1]), shape)
        real = positions < lengths[:, None]
        tokens = (self._starts[rows][:, None] + positions)[real]
        batch = {
            "input_ids": np.full(shape, pad_id, np.int64),
            "segment_ids": np.zeros(shape, np.int64),
            "lang_ids": np.repeat(self.lang_ids[rows, None], shape[1], 1).astype(int),
            "position_ids": positions.copy(),
            "input_mask": real.astype(np.float32),
        }
        batch["input_ids"][real] = self.ids[tokens]
        batch["segment_ids"][real] = self.segments[tokens]
        return batch

    @cached_property
    def _starts(self) -> np.ndarray:
        return np.cumsum(self.lengths, dtype=np.int64) - self.lengths


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

    Raises:
        UserError: the tokenizer has no id for the language.
    """
    lang_id = language_id(tokenizer, lang)
    special = len(tokenizer.build_inputs([], [] if pairs else None)[0])
    room = max_seq_length - special
    parts = []
    for start in range(0, len(texts), _TEXTS_AT_ONCE):
        some = slice(start, start + _TEXTS_AT_ONCE)
        first = tokenizer.encode_lines(texts[some], lang)
        second = tokenizer.encode_lines(pairs[some], lang) if pairs else None
        built = [tokenizer.build_inputs(*cut) for cut in _cut(first, second, room)]
        parts.append(Inputs.of(*zip(*built, strict=True), lang_id))
    return Inputs.joined(parts)


def language_id(tokenizer: Tokenizer, lang: str) -> int:
    """The number of a language's embedding, 0 where there are none.

    Raises:
        UserError: the tokenizer has no id for the language.
    """
    if tokenizer.lang2id and lang not in tokenizer.lang2id:
        raise UserError(
            f"the tokenizer does not know the language {lang}; it knows:"
            f" {' '.join(sorted(tokenizer.lang2id))}"
        )
    return tokenizer.lang2id.get(lang, 0)


def _cut(
    first: list[np.ndarray], second: list[np.ndarray] | None, room: int
) -> list[tuple[np.ndarray, np.ndarray | None]]:
    if second is None:
        return [(ids[:room], None) for ids in first]
    lengths = [
        np.fromiter(map(len, ids), np.int64, len(ids)) for ids in (first, second)
    ]
    kept = fitting_lengths(*lengths, room)
    return [(a[:n], b[:m]) for a, b, n, m in zip(first, second, *kept, strict=True)]


def sorted_batches(
    inputs: Inputs, batch_size: int, pad_id: int
) -> Iterator[tuple[np.ndarray, Batch]]:
    """Yield batches of inputs of like length, with their rows; the longest first."""
    order = np.argsort(-inputs.lengths, kind="stable")
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        yield rows, inputs.batch(rows, pad_id)
