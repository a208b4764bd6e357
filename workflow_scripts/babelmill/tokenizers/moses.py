"""Moses normalization and word tokenization of many lines at once.

The rules are those of sacremoses, taken from it at run time. Two things make them fast:

- Lines are joined by line feeds and every rule runs once over all of them. The rules
  are rewritten so that none reaches over a line feed.
- No rule reaches over a blank between two letters, so a line may be cut there
  (``Moses.segments``), and what recurs in a text (mostly single words) needs its words
  only once. A segment of letters and digits alone is a word as it stands.
"""

import functools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from re import _constants, _parser
from typing import NamedTuple

from sacremoses import MosesPunctNormalizer, MosesTokenizer


class Rule(NamedTuple):
    """A substitution, and a character without which there is nothing to substitute."""

    needs: str
    pattern: re.Pattern[str]
    replacement: str


def _within_lines(pattern: str, replacement: str) -> Rule:
    """A rule that treats each line of a text as sacremoses treats the whole text."""
    pattern = pattern.replace("[^", "[^\n").replace(r"\s", r"[^\S\n]")
    if (pattern, replacement) == (" +", " "):
        # The same, without a replacement for every single blank.
        pattern = "  +"
    literals = [
        chr(code) for kind, code in _parser.parse(pattern) if kind is _constants.LITERAL
    ]
    return Rule(
        max(literals, default=""), re.compile(pattern, re.MULTILINE), replacement
    )


def _apply(rules: Sequence[Rule], text: str) -> str:
    for rule in rules:
        if rule.needs in text:
            text = rule.pattern.sub(rule.replacement, text)
    return text


@functools.cache
def _normalization_rules(lang: str) -> list[Rule]:
    normalizer = MosesPunctNormalizer(lang=lang)
    rules = normalizer.REPLACE_UNICODE_PUNCTUATION + normalizer.substitutions
    return [_within_lines(*rule) for rule in rules]


def normalize(text: str, lang: str) -> str:
    """Replace Unicode punctuation, normalize, remove non-printing characters.

    Every line of ``text`` is treated on its own.
    """
    text = _apply(_normalization_rules(lang), text)
    text = "\n".join(map(str.strip, text.split("\n")))
    for character in set(text):
        if unicodedata.category(character)[0] == "C" and character != "\n":
            text = text.replace(character, "")
    return text


class Moses:
    """The word tokenization of one language."""

    def __init__(self, lang: str):
        self._lang = lang
        moses = MosesTokenizer(lang=lang)
        self._restore_dots = moses.restore_multidots
        self._dots = moses.MULTIDOT_RUN
        self._pad_symbols = moses.PAD_NOT_ISALNUM
        comma = [
            moses.COMMA_SEPARATE_1,
            moses.COMMA_SEPARATE_2,
            moses.COMMA_SEPARATE_3,
        ]
        if lang == "en":
            apostrophe = moses.ENGLISH_SPECIFIC_APOSTROPHE
        elif lang in ("fr", "it"):
            apostrophe = moses.FR_IT_SPECIFIC_APOSTROPHE
        else:
            apostrophe = [moses.NON_SPECIFIC_APOSTROPHE]
        self._rules = [
            _within_lines(rule[0].pattern, rule[1]) for rule in comma + apostrophe
        ]
        self._letters = frozenset(moses.IsAlpha)
        self._lower = frozenset(moses.IsLower)
        self._numeric_prefixes = frozenset(moses.NUMERIC_ONLY_PREFIXES)
        self._prefixes = frozenset(moses.NONBREAKING_PREFIXES) - self._numeric_prefixes

        alphanumeric = sorted(set(moses.IsAlnum))
        kept = normalize("\n".join(alphanumeric), lang).split("\n")
        plain = _character_class(
            old for old, new in zip(alphanumeric, kept, strict=True) if old == new
        )
        self._plain = re.compile(f"([{plain}]+)([,.?!]?)")
        self._cut = re.compile(f" (?=[{plain}])(?<=[{plain},] )")

    def segments(self, line: str) -> list[str]:
        """Cut a line where no rule looks over the cut.

        The words of the line are the words of its segments, one after another.
        """
        return self._cut.split(line)

    def words(self, segments: Sequence[str]) -> list[list[str]]:
        """The words of each segment, or of each whole line."""
        words = list(map(self._plain_words, segments))
        if rest := [i for i, found in enumerate(words) if not found]:
            text = normalize("\n".join(segments[i] for i in rest), self._lang)
            for i, found in zip(rest, self._tokenize(text), strict=True):
                words[i] = found
        return words

    def _plain_words(self, segment: str) -> list[str]:
        """The words of letters and digits with at most one mark; of others, none."""
        plain = self._plain.fullmatch(segment)
        # sacremoses writes a run of dots as DOTDOTMULTI and cannot tell it from text.
        if not plain or "DOTMULTI" in segment:
            return []
        word, mark = plain.groups()
        if not mark or (mark == "." and not self._ends(word, "")):
            return [segment]
        return [word, mark]

    def _tokenize(self, text: str) -> list[list[str]]:
        """The words of each line of a normalized text."""
        text = "\n".join(map(" ".join, map(str.split, text.split("\n"))))
        text = self._pad_symbols[0].sub(self._pad_symbols[1], text)

        def mark_dots(run: re.Match[str]) -> str:
            after = "" if text[run.end() : run.end() + 1] in ("", "\n") else " "
            return f" {'DOT' * len(run[0])}MULTI{after}"

        text = self._dots.sub(mark_dots, text)
        text = _apply(self._rules, text)
        lines = [self._split_periods(line.split()) for line in text.split("\n")]
        if "DOTMULTI" in text:
            lines = [[self._restore_dots(word) for word in line] for line in lines]
        return lines

    def _split_periods(self, tokens: list[str]) -> list[str]:
        """Split off the periods that end a sentence, not an abbreviation."""
        words = []
        for token, following in zip(tokens, [*tokens[1:], ""], strict=False):
            if (
                len(token) > 1
                and token[-1] == "."
                and self._ends(token[:-1], following)
            ):
                words += token[:-1], "."
            else:
                words.append(token)
        if words and words[-1].endswith(".'"):
            words[-1:] = filter(None, (words[-1][:-2], ".", "'"))
        return words

    def _ends(self, prefix: str, following: str) -> bool:
        """Whether a period after ``prefix`` ends a sentence."""
        if "." in prefix and not self._letters.isdisjoint(prefix):
            return False
        if prefix in self._prefixes or following[:1] in self._lower:
            return False
        return not (
            prefix in self._numeric_prefixes and re.match("[0-9]", following[:1])
        )


def _character_class(characters: Iterable[str]) -> str:
    """The inside of a regular expression's class, with runs written as ranges."""
    runs: list[list[int]] = []
    for code in map(ord, characters):
        if runs and runs[-1][1] == code - 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    return "".join(
        f"{re.escape(chr(first))}-{re.escape(chr(last))}" for first, last in runs
    )
