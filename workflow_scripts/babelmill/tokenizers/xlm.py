"""XLM's tokenizer: Moses or a segmenter, lower-casing, fastBPE codes."""

import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from babelmill.tokenizers.base import Tokenizer
from babelmill.tokenizers.bpe import END_OF_WORD, BytePairEncoding
from babelmill.tokenizers.segmentation import segment

BOS, EOS, PAD, UNK = "<s>", "</s>", "<pad>", "<unk>"
SPECIALS = (BOS, EOS, PAD, UNK, *(f"<special{i}>" for i in range(10)))
MASK = "<special1>"
_SPECIAL = re.compile(f"({'|'.join(map(re.escape, SPECIALS))})")
_CACHED_WORDS = 1_000_000


class XLMTokenizer(Tokenizer):
    """The tokenizer of XLM in three modes.

    ``huggingface``: as transformers 5; ``<s> A </s> B </s>``. ``paddlenlp``: the same,
    but lower-cases before Moses, which then leaves the period on "left. she".
    ``facebook``: as the scripts that XLM was trained with; ``</s> A </s> B </s>``,
    and pieces outside the vocabulary are split back.
    """

    type = "xlm"

    def __init__(
        self,
        vocab: dict[str, int],
        merges: list[tuple[str, str]],
        *,
        mode: str,
        do_lowercase_and_remove_accent: bool,
        bypass_tokenizer: bool,
        lang2id: dict[str, int],
        kytea_model: Path | None,
        fingerprint: str,
    ):
        self._ids = vocab
        self._names = {i: name for name, i in vocab.items()}
        self.mode = mode
        self.do_lowercase_and_remove_accent = do_lowercase_and_remove_accent
        self.bypass_tokenizer = bypass_tokenizer
        self.lang2id = lang2id
        self.kytea_model = kytea_model
        self.fingerprint = fingerprint
        self.vocab_size = len(vocab)
        self.bos_id, self.eos_id = vocab[BOS], vocab[EOS]
        self.pad_id, self.unk_id = vocab[PAD], vocab[UNK]
        self.mask_id = vocab[MASK]
        self.cls_id = self.eos_id if mode == "facebook" else self.bos_id
        self.sep_id = self.eos_id
        self.special_ids = np.array(sorted(vocab[name] for name in SPECIALS))
        self._bpe = BytePairEncoding(merges, vocab if mode == "facebook" else None)
        self._word_ids: dict[str, list[int]] = {}

    def encode_lines(self, lines: Sequence[str], lang: str) -> list[np.ndarray]:
        return [np.array(self._encode(line, lang), np.int32) for line in lines]

    def _encode(self, line: str, lang: str) -> list[int]:
        ids = []
        parts = [line] if self.mode == "facebook" else _SPECIAL.split(line)
        for number, part in enumerate(parts):
            if number % 2:
                ids.append(self._ids[part])
                continue
            if len(parts) > 1:
                part = part.strip()
            if part:
                ids.extend(self._encode_plain(part, lang))
        return ids

    def _encode_plain(self, text: str, lang: str) -> list[int]:
        if self.mode == "paddlenlp" and self.do_lowercase_and_remove_accent:
            text = text.replace("Σ", "σ").lower()
        if self.bypass_tokenizer:
            words = text.split()
        else:
            (words,) = segment([text], lang, self.kytea_model)
            if self.do_lowercase_and_remove_accent:
                words = lowercase_and_remove_accent(" ".join(words)).split(" ")
        ids = []
        for word in words:
            if word:
                ids.extend(self._ids_of(word))
        return ids

    def _ids_of(self, word: str) -> list[int]:
        ids = self._word_ids.get(word)
        if ids is None:
            if len(self._word_ids) >= _CACHED_WORDS:
                self._word_ids.clear()
            pieces = self._bpe.split(word)
            if " " in word:
                pieces = " ".join(pieces).split(" ")
            ids = [self._ids.get(piece, self.unk_id) for piece in pieces]
            self._word_ids[word] = ids
        return ids

    def build_inputs(
        self, a: Sequence[int], b: Sequence[int] | None = None
    ) -> tuple[list[int], list[int]]:
        first = [self.cls_id, *map(int, a), self.sep_id]
        second = [] if b is None else [*map(int, b), self.sep_id]
        return first + second, [0] * len(first) + [1] * len(second)

    def tokens(self, ids: Sequence[int]) -> list[str]:
        return [self._names[int(i)] for i in ids]

    def decode(self, ids: Sequence[int]) -> str:
        special = set(self.special_ids.tolist()) - {self.unk_id}
        text = "".join(self.tokens(i for i in ids if int(i) not in special))
        return text.replace(END_OF_WORD, " ").strip()


def lowercase_and_remove_accent(text: str) -> str:
    """Lower-case and drop every non-spacing mark (Unicode category Mn).

    In Thai, Hindi and Arabic the marks are vowels, which XLM drops too.
    """
    text = unicodedata.normalize("NFD", text.lower())
    return "".join(c for c in text if unicodedata.category(c) != "Mn").lower()
