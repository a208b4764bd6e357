"""Tokenizers of the ``tokenizers`` library, as any tokenizer.json describes one."""

import os
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from tokenizers import Tokenizer as Library
from tokenizers import models

from babelmill.errors import UserError
from babelmill.tokenizers.base import Tokenizer

_USUAL_NAMES = {
    "pad_token": ("[PAD]", "<pad>"),
    "unk_token": ("[UNK]", "<unk>"),
    "mask_token": ("[MASK]", "<mask>"),
}
# What SentencePiece and byte-level BPE put before a word.
_WORD_MARKS = ("\u2581", "\u0120")

# Jobs say how many processes they take.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


class FastTokenizer(Tokenizer):
    """Wraps a tokenizer of the library; ``unk_id`` is -1 where nothing is unknown.

    Args:
        library: the tokenizer, with a post-processor that adds the special tokens.
        names: names of special tokens, such as ``{"pad_token": "<pad>"}``.
        fingerprint: of its files.

    Raises:
        UserError: no padding token, or no special tokens around a text.
    """

    type = "fast"

    def __init__(self, library: Library, names: dict[str, str], fingerprint: str):
        library.no_truncation()
        library.no_padding()
        self._library = library
        self.fingerprint = fingerprint
        self.vocab_size = library.get_vocab_size()
        self.lang2id = {}
        self._frame_of_one = _frame(library, pair=False)
        self._frame_of_two = _frame(library, pair=True)
        before, after = self._frame_of_one.around
        if not before or not after:
            raise UserError(
                "the tokenizer puts no special tokens around a text: its tokenizer.json"
                " needs a post_processor"
            )
        self.cls_id, self.sep_id = before[0][0], after[-1][0]
        self.bos_id, self.eos_id = self.cls_id, self.sep_id
        pad, unk, self._mask = (self._special(role, names) for role in _USUAL_NAMES)
        if pad is None:
            raise UserError("the tokenizer has no padding token: name it as pad_token")
        self.pad_id = pad
        self.unk_id = -1 if unk is None else unk
        added = library.get_added_tokens_decoder()
        special = {i for i, token in added.items() if token.special}
        special |= {self.cls_id, self.sep_id, pad, unk, self._mask}
        self._starts_word: np.ndarray | None = None
        # BERT's [unused1] and so on stand in no text.
        special |= {
            i for t, i in library.get_vocab().items() if t.startswith("[unused")
        }
        self.special_ids = np.array(sorted(special - {None}))

    @property
    def mask_id(self) -> int:
        if self._mask is None:
            raise UserError(
                "the tokenizer has no mask token: name it as mask_token in its"
                " tokenizer_config.json"
            )
        return self._mask

    def encode_lines(self, lines: Sequence[str], lang: str) -> list[np.ndarray]:
        encodings = self._library.encode_batch_fast(
            list(lines), add_special_tokens=False
        )
        return [np.array(encoding.ids, np.int32) for encoding in encodings]

    def encode_with_offsets(
        self, lines: Sequence[str], lang: str
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        encodings = self._library.encode_batch(list(lines), add_special_tokens=False)
        return [
            (
                np.array(encoding.ids, np.int32),
                np.array(encoding.offsets, np.int32).reshape(-1, 2),
            )
            for encoding in encodings
        ]

    def tokenize(self, line: str, lang: str) -> list[str]:
        return self._library.encode(line, add_special_tokens=False).tokens

    def build_inputs(
        self, a: Sequence[int], b: Sequence[int] | None = None
    ) -> tuple[list[int], list[int]]:
        texts = [a] if b is None else [a, b]
        frame = self._frame_of_one if b is None else self._frame_of_two
        framed = list(frame.around[0])
        for text, segment, after in zip(
            texts, frame.segments, frame.around[1:], strict=True
        ):
            framed += [(int(i), segment) for i in text]
            framed += after
        return [i for i, _ in framed], [segment for _, segment in framed]

    def word_starts(self, ids: np.ndarray) -> np.ndarray:
        if self._starts_word is None:
            self._starts_word = _word_starts(self._library)
        return self._starts_word[ids]

    def tokens(self, ids: Sequence[int]) -> list[str]:
        return [self._library.id_to_token(int(i)) for i in ids]

    def decode(self, ids: Sequence[int]) -> str:
        return self._library.decode([int(i) for i in ids], skip_special_tokens=True)

    def _special(self, role: str, names: dict[str, str]) -> int | None:
        candidates = [names[role]] if role in names else _USUAL_NAMES[role]
        ids = map(self._library.token_to_id, candidates)
        return next((i for i in ids if i is not None), None)


def _word_starts(library: Library) -> np.ndarray:
    """Which entries of a vocabulary begin a word, (vocabulary,) bool.

    Raises:
        UserError: neither their starts nor their continuations are marked.
    """
    vocab = library.get_vocab()
    starts = np.zeros(library.get_vocab_size(), bool)
    if isinstance(library.model, models.WordPiece):
        prefix = library.model.continuing_subword_prefix
        for piece, i in vocab.items():
            starts[i] = not piece.startswith(prefix)
        return starts
    marks = Counter(piece[:1] for piece in vocab)
    mark = max(_WORD_MARKS, key=marks.__getitem__)
    if not marks[mark]:
        raise UserError(
            "whole_word_mask: the tokenizer does not mark where words begin"
        )
    for piece, i in vocab.items():
        starts[i] = piece.startswith(mark)
    return starts


class _Frame(NamedTuple):
    """What a tokenizer puts around one text or two."""

    # Id and segment of the special tokens before, between and after the texts.
    around: list[list[tuple[int, int]]]
    # Segment of each text.
    segments: list[int]


def _frame(library: Library, pair: bool) -> _Frame:
    example = library.encode("a", "a" if pair else None)
    frame = _Frame([[]], [])
    for token, segment, text in zip(
        example.ids, example.type_ids, example.sequence_ids, strict=True
    ):
        if text is None:
            frame.around[-1].append((token, segment))
        elif text == len(frame.segments):
            frame.around.append([])
            frame.segments.append(segment)
    return frame
