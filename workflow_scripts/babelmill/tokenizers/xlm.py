"""XLM's tokenizer: words of Moses or a segmenter, split by fastBPE codes."""

import re
from collections.abc import Container, Sequence
from itertools import chain, islice

import numpy as np

from babelmill.tokenizers.alignment import word_spans
from babelmill.tokenizers.base import Tokenizer
from babelmill.tokenizers.bpe import END_OF_WORD, BytePairEncoding, Merge
from babelmill.tokenizers.cache import WordIds, packed
from babelmill.tokenizers.segmentation import Segmenter
from babelmill.tokenizers.words import TextToWords

BOS, EOS, PAD, UNK = "<s>", "</s>", "<pad>", "<unk>"
MASK = "<special1>"
SPECIALS = (BOS, EOS, PAD, UNK, *(f"<special{i}>" for i in range(10)))
_SPECIAL = re.compile(f"({'|'.join(SPECIALS)})")

_LINES_AT_ONCE = 2048


class XLMTokenizer(Tokenizer):
    """The tokenizer of XLM.

    The mode of ``text_to_words`` decides the rest too: ``facebook`` puts ``</s>`` first
    and splits pieces outside the vocabulary back, the others put ``<s>`` first and know
    special tokens in the text.

    Args:
        vocab: id of each piece.
        merges: the BPE codes.
        text_to_words: the preprocessing.
        lang2id: ids of the languages.
        fingerprint: of everything that decides the ids.
        fastbpe_vocab: in mode ``facebook``, which pieces are not split back; the
            vocabulary that fastBPE got may have more pieces than the model.
    """

    type = "xlm"

    def __init__(
        self,
        vocab: dict[str, int],
        merges: Sequence[Merge],
        text_to_words: TextToWords,
        lang2id: dict[str, int],
        fingerprint: str,
        fastbpe_vocab: Container[str] | None = None,
    ):
        self.mode = text_to_words.mode
        self.lang2id = lang2id
        self.fingerprint = fingerprint
        self.vocab_size = len(vocab)
        self.bos_id, self.eos_id = vocab[BOS], vocab[EOS]
        self.pad_id, self.unk_id = vocab[PAD], vocab[UNK]
        self.mask_id = vocab[MASK]
        self.cls_id = self.eos_id if self.mode == "facebook" else self.bos_id
        self.sep_id = self.eos_id
        self.special_ids = np.array(sorted(vocab[name] for name in SPECIALS))
        self._id_of = vocab
        self._piece_of = {i: piece for piece, i in vocab.items()}
        self._ends_word = np.zeros(len(vocab), bool)
        for piece, i in vocab.items():
            self._ends_word[i] = piece.endswith(END_OF_WORD) or piece in SPECIALS
        self.text_to_words = text_to_words
        known = (fastbpe_vocab or vocab) if self.mode == "facebook" else None
        self._bpe = BytePairEncoding(merges, vocab, known)
        self._ids_of_word = WordIds()
        self._ids_of_segment: dict[str, WordIds] = {}

    def encode_lines(self, lines: Sequence[str], lang: str) -> list[np.ndarray]:
        segmenter = self.text_to_words.segmenter(lang)
        ids_of = self._ids_of_segment.setdefault(lang, WordIds())
        rest = iter(lines)
        encoded: list[np.ndarray] = []
        while block := list(islice(rest, _LINES_AT_ONCE)):
            segments = [self._segments(line, segmenter) for line in block]
            self._learn_segments(set(chain.from_iterable(segments)), ids_of, segmenter)
            encoded += [
                np.frombuffer(bytearray().join(map(ids_of.get, line)), np.int32)
                for line in segments
            ]
        return encoded

    def encode_words(self, words: Sequence[str], lang: str) -> list[np.ndarray]:
        """The ids of words, which neither Moses nor a segmenter splits any further."""
        self._learn_words(set(words))
        return [np.frombuffer(self._ids_of_word[word], np.int32) for word in words]

    def encode_with_offsets(
        self, lines: Sequence[str], lang: str
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        segmenter = self.text_to_words.segmenter(lang)
        return [self._encode_with_offsets(line, segmenter) for line in lines]

    def _encode_with_offsets(
        self, line: str, segmenter: Segmenter
    ) -> tuple[np.ndarray, np.ndarray]:
        segments = self._segments(line, segmenter)
        words = [word for s in segments for word in self._words(s, segmenter)]
        self._learn_words({word for word in words if not self._is_special(word)})
        ids = [
            np.array([self._id_of[word]], np.int32)
            if self._is_special(word)
            else np.frombuffer(self._ids_of_word[word], np.int32)
            for word in words
        ]
        spans = np.array(word_spans(line, words), np.int32).reshape(-1, 2)
        return (
            np.concatenate([*ids, np.zeros(0, np.int32)]),
            np.repeat(spans, [len(pieces) for pieces in ids], axis=0),
        )

    def tokenize(self, line: str, lang: str) -> list[str]:
        """The pieces of a line, those outside the vocabulary as they are."""
        segmenter = self.text_to_words.segmenter(lang)
        pieces = []
        for segment in self._segments(line, segmenter):
            words = self._words(segment, segmenter)
            if self._is_special(segment):
                pieces += words
                continue
            for word in self.text_to_words.clean(words):
                pieces += self._pieces(word)
        return pieces

    def _is_special(self, segment: str) -> bool:
        return segment in SPECIALS and self.mode != "facebook"

    def _words(self, segment: str, segmenter: Segmenter) -> list[str]:
        if self._is_special(segment):
            return [segment]
        (words,) = segmenter.words([segment])
        return words

    def build_inputs(
        self, a: Sequence[int], b: Sequence[int] | None = None
    ) -> tuple[list[int], list[int]]:
        first = [self.cls_id, *map(int, a), self.sep_id]
        second = [] if b is None else [*map(int, b), self.sep_id]
        return first + second, [0] * len(first) + [1] * len(second)

    def word_starts(self, ids: np.ndarray) -> np.ndarray:
        starts = np.ones(ids.shape, bool)
        starts[..., 1:] = self._ends_word[ids[..., :-1]]
        return starts

    def tokens(self, ids: Sequence[int]) -> list[str]:
        return [self._piece_of[int(i)] for i in ids]

    def decode(self, ids: Sequence[int]) -> str:
        pieces = (piece for piece in self.tokens(ids) if piece not in SPECIALS)
        return "".join(pieces).replace(END_OF_WORD, " ").strip()

    def _segments(self, line: str, segmenter: Segmenter) -> list[str]:
        line = self.text_to_words.prepared(line)
        if self.mode == "facebook" or "<" not in line:
            return segmenter.segments(line)
        parts = _SPECIAL.split(line)
        segments = segmenter.segments(parts[0])
        for special, text in zip(parts[1::2], parts[2::2], strict=True):
            segments += special, *segmenter.segments(text)
        return segments

    def _learn_segments(
        self, segments: set[str], ids_of: WordIds, segmenter: Segmenter
    ) -> None:
        """Add segments to the ids of segments."""
        ids_of.make_room()
        if self.mode != "facebook":
            for name in SPECIALS:
                ids_of[name] = packed([self._id_of[name]])
        new = [segment for segment in segments if segment not in ids_of]
        words = segmenter.words(new)
        self._learn_words(set(chain.from_iterable(words)))
        ids = self._ids_of_word.__getitem__
        for segment, its_words in zip(new, words, strict=True):
            ids_of[segment] = b"".join(map(ids, its_words))

    def _learn_words(self, words: set[str]) -> None:
        self._ids_of_word.make_room()
        new = [word for word in words if word not in self._ids_of_word]
        for word, cleaned in zip(new, self.text_to_words.clean(new), strict=True):
            self._ids_of_word[word] = packed(self._ids(cleaned))

    def _ids(self, word: str) -> list[int]:
        if word and " " not in word:
            return self._bpe.ids(word, self.unk_id)
        return [self._id_of.get(piece, self.unk_id) for piece in self._pieces(word)]

    def _pieces(self, word: str) -> list[str]:
        if " " not in word:
            return self._bpe.split(word) if word else []
        if self.text_to_words.do_lowercase_and_remove_accent:
            return [piece for part in word.split() for piece in self._pieces(part)]
        # As transformers and PaddleNLP: blanks inside a word part its pieces.
        return " ".join(self._bpe.split(word)).split(" ")
