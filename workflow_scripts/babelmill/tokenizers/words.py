"""Text to the words that BPE codes are learned on and applied to."""

import functools
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from babelmill.tokenizers.segmentation import Blanks, Segmenter, segmenter

MODES = ("facebook", "huggingface", "paddlenlp")


@dataclass(frozen=True)
class TextToWords:
    """XLM's preprocessing.

    Attributes:
        mode: ``facebook`` and ``huggingface`` lower-case words; ``paddlenlp``
            lower-cases the text before it is split into words, as PaddleNLP 3.0.0b4 and
            ``XLMTokenizer.tokenize`` of transformers 4 do. Then Moses leaves the period
            on "left. she" and splits "İ". Chinese is cut by jieba in ``paddlenlp``, by
            rjieba in the others, as transformers do.
        do_lowercase_and_remove_accent: lower case, no non-spacing marks (category Mn);
            in Thai, Hindi and Arabic these are vowels, which XLM drops too.
        bypass_tokenizer: the words stand between blanks already and are left as is.
        kytea_model: what Japanese is segmented with.
    """

    mode: str = "huggingface"
    do_lowercase_and_remove_accent: bool = True
    bypass_tokenizer: bool = False
    kytea_model: Path | None = None

    def prepared(self, line: str) -> str:
        """A line as it is split into words."""
        # To Moses, a line feed inside a line is white space like any other.
        line = line.replace("\n", "\v")
        if self.mode == "paddlenlp" and self.do_lowercase_and_remove_accent:
            # Character by character, so that no sigma becomes a final one.
            line = line.replace("Σ", "σ").lower()
        return line

    def segmenter(self, lang: str) -> Segmenter:
        """What splits prepared lines of a language into words."""
        if self.bypass_tokenizer:
            return Blanks()
        return _segmenter(lang, self.kytea_model, self.mode == "paddlenlp")

    def clean(self, words: Sequence[str]) -> list[str]:
        """Each word as BPE sees it: lower-cased, without accents, if so set."""
        if not (words and self.do_lowercase_and_remove_accent) or self.bypass_tokenizer:
            return list(words)
        text = unicodedata.normalize("NFD", "\n".join(words).lower())
        for character in set(text):
            if unicodedata.category(character) == "Mn":
                text = text.replace(character, "")
        return text.lower().split("\n")

    def __call__(self, lines: Sequence[str], lang: str) -> Iterator[str]:
        """All words of some lines, cleaned."""
        segmenter = self.segmenter(lang)
        prepared = map(self.prepared, lines)
        segments = list(chain.from_iterable(map(segmenter.segments, prepared)))
        words = list(chain.from_iterable(segmenter.words(segments)))
        for word in self.clean(words):
            # Thai has blanks as words and in words.
            yield from filter(None, word.split(" "))


_segmenter = functools.cache(segmenter)
