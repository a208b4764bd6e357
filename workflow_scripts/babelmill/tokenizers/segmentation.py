"""Lines of text to words, language by language.

Every segmenter has two steps. ``segments`` cuts a line into pieces of which each can be
split into words without the others, so that a piece that comes again need not be split
again. ``words`` splits many distinct pieces at once.
"""

import functools
import logging
import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from babelmill.errors import UserError
from babelmill.languages import LANGUAGES


class Segmenter(Protocol):
    """Splits lines of one language into words."""

    def segments(self, line: str) -> list[str]:
        """Pieces whose words, one after another, are the words of the line."""

    def words(self, segments: Sequence[str]) -> list[list[str]]:
        """The words of each piece."""


class Blanks:
    """Text whose words stand between blanks already."""

    def segments(self, line: str) -> list[str]:
        return line.split()

    def words(self, segments: Sequence[str]) -> list[list[str]]:
        return [[segment] for segment in segments]


class WholeLines:
    """A segmenter that has to see whole lines."""

    def __init__(self, words: Callable[[Sequence[str]], list[list[str]]]):
        self.words = words

    def segments(self, line: str) -> list[str]:
        return [line]


def segmenter(lang: str, kytea_model: Path | None, exact_jieba: bool) -> Segmenter:
    """The segmenter of a language: resources/languages.tsv says which, or else Moses.

    Args:
        lang: its code.
        kytea_model: what Japanese is segmented with.
        exact_jieba: segment Chinese as jieba does, not rjieba, where they differ.

    Raises:
        UserError: the language needs a model that is missing.
    """
    kind = LANGUAGES[lang].segmenter if lang in LANGUAGES else "moses"
    if kind == "moses":
        from babelmill.tokenizers.moses import Moses

        return Moses(lang)
    if kind == "pythainlp":
        return WholeLines(_thai_words)
    if kind == "jieba":
        cut = _jieba_or_rjieba() if exact_jieba else _rjieba()
        return WholeLines(functools.partial(_chinese_words, cut))
    if kind == "kytea":
        return WholeLines(functools.partial(_japanese_words, _kytea(kytea_model)))
    raise UserError(
        f"resources/languages.tsv: the segmenter of {lang}, {kind!r}, is none of moses,"
        " pythainlp, jieba, kytea"
    )


def _normalized(lines: Sequence[str], lang: str) -> list[str]:
    from babelmill.tokenizers.moses import normalize

    if not lines:
        return []
    return normalize("\n".join(lines), lang).split("\n")


def _thai_words(lines: Sequence[str]) -> list[list[str]]:
    from babelmill.tokenizers.thai import cut

    return [cut(line) for line in _normalized(lines, "th")]


def _chinese_words(
    cut: Callable[[str], list[str]], lines: Sequence[str]
) -> list[list[str]]:
    cut_lines = [" ".join(cut(line)) for line in lines]
    return [line.split() for line in _normalized(cut_lines, "zh")]


def _japanese_words(
    cut: Callable[[str], Sequence[str]], lines: Sequence[str]
) -> list[list[str]]:
    return [list(cut(line)) for line in _normalized(lines, "ja")]


def _rjieba() -> Callable[[str], list[str]]:
    import rjieba

    return rjieba.cut


# Blanks and punctuation that no word of jieba or rjieba reaches over, and what both
# cut alike in between: Han of jieba's range, letters, digits. Not "C-SPAN" or "40%".
_BORDER = " ，。！？、：；“”‘’（）《》·…"
_BORDERS = re.compile(f"([{_BORDER}]+)")
_CUT_ALIKE = re.compile(f"[\u4e00-\u9fd5a-zA-Z0-9{_BORDER}]*")


def _jieba_or_rjieba() -> Callable[[str], list[str]]:
    """jieba's words, from the faster rjieba for text that both cut alike."""
    import rjieba

    @functools.cache
    def jieba_cut() -> Callable[[str], list[str]]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import jieba
        jieba.setLogLevel(logging.WARNING)
        return jieba.lcut

    def cut(text: str) -> list[str]:
        if _CUT_ALIKE.fullmatch(text):
            return rjieba.cut(text)
        words = []
        for part in _BORDERS.split(text):
            alike = _CUT_ALIKE.fullmatch(part)
            words += rjieba.cut(part) if alike else jieba_cut()(part)
        return words

    return cut


def _kytea(model: Path | None) -> Callable[[str], Sequence[str]]:
    if model is None or not model.is_file():
        where = f": there is none at {model}" if model else ""
        raise UserError(
            f"Japanese needs a KyTea model{where}: train one with train_kytea.py and"
            " give it to the tokenizer with --kytea_model"
        )
    from babelmill.tokenizers import kytea

    return kytea.load(model)
