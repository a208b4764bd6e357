"""What every tokenizer of the workflow offers."""

import abc
from collections.abc import Sequence

import numpy as np


class Tokenizer(abc.ABC):
    """Text to ids and back.

    Attributes:
        type: ``"xlm"``, ``"bert"``, ``"fast"`` or ``"sentencepiece"``.
        vocab_size: number of ids.
        bos_id, eos_id, pad_id, unk_id, mask_id: ids of the special tokens.
        cls_id, sep_id: what ``build_inputs`` puts first, and between and last.
        special_ids: ids that are never drawn as a random word, int64, ascending.
        lang2id: id of the language embedding of each language, empty without one.
        fingerprint: SHA-256 over all that decides the ids, the same on any machine.
    """

    type: str
    vocab_size: int
    bos_id: int
    eos_id: int
    pad_id: int
    unk_id: int
    mask_id: int
    cls_id: int
    sep_id: int
    special_ids: np.ndarray
    lang2id: dict[str, int]
    fingerprint: str

    @abc.abstractmethod
    def encode_lines(self, lines: Sequence[str], lang: str) -> list[np.ndarray]:
        """The int32 ids of each line of text in ``lang``, without special tokens."""

    def encode_words(self, words: Sequence[str], lang: str) -> list[np.ndarray]:
        """The int32 ids of each of some words, cut out of their texts already."""
        return self.encode_lines(words, lang)

    @abc.abstractmethod
    def encode_with_offsets(
        self, lines: Sequence[str], lang: str
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """As ``encode_lines``, and what each token stands for.

        Returns:
            for each line, its ids (tokens,) int32, and start and end in characters of
            the line, (tokens, 2) int32; all tokens of a word may have the whole word's.
        """

    @abc.abstractmethod
    def tokenize(self, line: str, lang: str) -> list[str]:
        """The pieces of one line, without special tokens."""

    @abc.abstractmethod
    def build_inputs(
        self, a: Sequence[int], b: Sequence[int] | None = None
    ) -> tuple[list[int], list[int]]:
        """Ids of one text or a pair with special tokens, and the segment of each."""

    @abc.abstractmethod
    def word_starts(self, ids: np.ndarray) -> np.ndarray:
        """Where tokens begin a word, for whole-word masking.

        Args:
            ids: (..., length) int.

        Returns:
            bool of the same shape.
        """

    @abc.abstractmethod
    def tokens(self, ids: Sequence[int]) -> list[str]:
        """The vocabulary entry of each id."""

    @abc.abstractmethod
    def decode(self, ids: Sequence[int]) -> str:
        """Readable text, special tokens left out."""
