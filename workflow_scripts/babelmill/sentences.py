"""Running paragraphs -> sentences, by Unicode's rules and Moses' abbreviations.

Unicode's default rules (UAX #29, through ICU) know the marks that end sentences in
every script, but no abbreviations. Moses' lists of those (its nonbreaking prefixes,
through sacremoses) take back what ends after one, as Moses' own splitter does.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from icu4py.breakers import SentenceBreaker
from sacremoses.corpus import NonbreakingPrefixes

# Thai and Lao put no mark between sentences, and UAX #29 does not count the Tibetan
# shad. A guess is no help: of the ends that pythainlp's crfcut finds in NTREX, 42 % are
# ends, and they are half of all.
_WITHOUT_RULES = {"bo": "Tibetan", "dz": "Dzongkha", "lo": "Lao", "th": "Thai"}

_ONLY_BEFORE_NUMBERS = "#NUMERIC_ONLY#"
_LONGEST_ABBREVIATION = 50
_NOT_OF_WORDS = re.compile(r"[\s\"'“”„«‘(\[-]")
_INITIALS = re.compile(r"([^\W\d]\.)+[^\W\d]")  # U.S
_BEFORE_WORDS = "\"'“”„«»‘’([{¿¡-–— "
# UAX #29 counts every quote and bracket after a full stop as a closing one, also where
# the next sentence follows without a blank.
_OPENED = re.compile("(?<=[。！？”’」』）》〉】])[「『（《〈【“‘]+$")


class SentenceSplitter:
    """Cuts running text of one language into sentences.

    Attributes:
        rules: what it goes by, for people.
    """

    def __init__(self, lang: str):
        self._lang = lang
        prefixes = NonbreakingPrefixes()
        words = [line.split() for line in prefixes.words(lang)]
        self._before_numbers = {w for w, *when in words if _ONLY_BEFORE_NUMBERS in when}
        self._prefixes = {w for w, *_ in words} - self._before_numbers
        if lang in _WITHOUT_RULES:
            self.rules = f"no rules for {_WITHOUT_RULES[lang]}, its lines stay whole"
        elif lang in prefixes.available_langs:
            self.rules = f"Unicode's rules and Moses' abbreviations of {lang}"
        else:
            self.rules = (
                "Unicode's rules and Moses' abbreviations of en"
                f" (it has none of {lang})"
            )

    def split(self, paragraph: str) -> Iterator[str]:
        """Yield the sentences of a paragraph, without outer blanks."""
        if self._lang in _WITHOUT_RULES:
            yield paragraph
            return
        parts: list[str] = []
        for part, following in pairwise([*SentenceBreaker(paragraph, self._lang), ""]):
            opened = _OPENED.search(part) if following else None
            end = opened.start() if opened else len(part)
            parts.append(part[:end])
            if not following or not self._goes_on(part, following):
                if sentence := "".join(parts).strip():
                    yield sentence
                parts = []
            parts.append(part[end:])

    def _goes_on(self, part: str, following: str) -> bool:
        """Whether the sentence that ``part`` is the end of goes on in ``following``."""
        first = following.lstrip(_BEFORE_WORDS)[:1]
        if first != first.title():  # a small letter, in a script that has large ones
            return True
        text = part.rstrip()
        if not text.endswith("."):
            return False
        word = _NOT_OF_WORDS.split(text[-_LONGEST_ABBREVIATION:-1])[-1]
        return (
            text == part  # no blank: a part of a name or number
            or word in self._prefixes
            or (word in self._before_numbers and following[0].isdigit())
            or bool(_INITIALS.fullmatch(word))
        )
