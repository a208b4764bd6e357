"""The built-in demo: raw text and a small NLI task, written from lexicons.

A tiny world: one person does one thing, in one place, at one time. What is stated of
it is a `Fact` in English ids; only `Lexicon.render` knows a language. So the demo
needs no download, every language says the same, and every label is right by
construction. It shows that a workflow runs, not how good a model is.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import yaml

from babelmill.errors import UserError

# Every language treats these as masculine singular, so that one form of a verb fits
# them all. The three splits of the NLI task share no person.
PERSONS_OF = {
    "train": (
        *("teacher", "farmer", "baker", "doctor"),
        *("soldier", "fisherman", "driver", "engineer"),
    ),
    "dev": ("lawyer", "carpenter"),
    "test": ("student", "hunter"),
}
PERSONS = sum(PERSONS_OF.values(), ())

ACTIONS_OF = {
    "music": ("guitar", "violin", "drum"),
    "reading": ("book", "newspaper", "letter"),
    "fruit": ("apple", "banana", "orange"),
    "repair": ("radio", "clock", "bicycle"),
}
PLACES_OF = {
    "indoors": ("kitchen", "library", "office", "school"),
    "outdoors": ("garden", "park", "beach", "forest"),
}
TIMES = ("morning", "noon", "evening", "night")
REMARKS = ("rain", "wind", "cold", "happy", "tired", "leisure")

ACTIVITY_OF = {action: whole for whole, parts in ACTIONS_OF.items() for action in parts}
SETTING_OF = {place: whole for whole, parts in PLACES_OF.items() for place in parts}
ACTIONS, ACTIVITIES = tuple(ACTIVITY_OF), tuple(ACTIONS_OF)
PLACES, SETTINGS = tuple(SETTING_OF), tuple(PLACES_OF)

LABELS = ("entailment", "neutral", "contradiction")
# Kinds of hypotheses: the one part that they state, and what they may state of it.
KINDS = {
    "action": ("what", ACTIONS),
    "activity": ("what", ACTIVITIES),
    "place": ("where", PLACES),
    "setting": ("where", SETTINGS),
    "time": ("when", TIMES),
}

# A number of frames that divides this is drawn from evenly.
_VARIANTS = 12

Item = TypeVar("Item")


@dataclass(frozen=True)
class Fact:
    """What a sentence states; None is left open."""

    person: str
    what: str | None = None  # an action or, in general, an activity
    where: str | None = None  # a place or, in general, a setting
    when: str | None = None


@dataclass(frozen=True)
class Sentence:
    """A fact to be said, or a remark instead, and how to say it."""

    fact: Fact
    variant: int
    remark: str | None = None
    pronoun: bool = False


@dataclass(frozen=True)
class Pair:
    """A premise, a hypothesis about the same person, and whether it follows."""

    premise: Sentence
    hypothesis: Sentence
    label: str
    kind: str


class Frame:
    """An order of words: text with {slots}; a part in [brackets] may drop out."""

    SLOTS = frozenset({"person", "verb", "object", "place", "time"})

    def __init__(self, text: str) -> None:
        self.text = text
        self._pieces = [
            (piece, frozenset(re.findall(r"{(\w*)}", piece)))
            for piece in re.split(r"\[(.*?)\]", text)
        ]
        self.required = frozenset().union(*(slots for _, slots in self._pieces[::2]))
        self.slots = frozenset().union(*(slots for _, slots in self._pieces))

    def fits(self, stated: frozenset[str]) -> bool:
        """Whether the frame has room for all that is stated and needs no more."""
        return self.required <= stated <= self.slots

    def fill(self, phrases: dict[str, str]) -> str:
        """The text with its slots filled, without the parts that have an open slot."""
        return "".join(
            piece.format_map(phrases)
            for piece, slots in self._pieces
            if slots <= phrases.keys()
        )


@dataclass(frozen=True)
class Lexicon:
    """The words of one language; ``resources/demo/en.yaml`` explains every field."""

    language: str
    persons: dict[str, str]
    pronoun: str
    actions: dict[str, list[str]]
    activities: dict[str, list[str]]
    places: dict[str, str]
    settings: dict[str, str]
    times: dict[str, str]
    frames: list[Frame]
    remarks: dict[str, Frame]

    def render(self, sentence: Sentence) -> str:
        """Say a sentence in this language."""
        fact = sentence.fact
        verb, object_ = (self.actions | self.activities).get(fact.what, ("", ""))
        phrases = {
            "person": self.pronoun if sentence.pronoun else self.persons[fact.person],
            "verb": verb,
            "object": object_,
            "place": (self.places | self.settings).get(fact.where, ""),
            "time": self.times.get(fact.when, ""),
        }
        phrases = {slot: phrase for slot, phrase in phrases.items() if phrase}
        if sentence.remark:
            return self._capitalize(self.remarks[sentence.remark].fill(phrases))
        fitting = [frame for frame in self.frames if frame.fits(phrases.keys())]
        # Frames that differ only in a part that dropped out count once.
        texts = list(dict.fromkeys(frame.fill(phrases) for frame in fitting))
        return self._capitalize(texts[sentence.variant % len(texts)])

    def phrases(self) -> list[str]:
        """All phrases, each alone, in the order of their ids."""
        text = next(
            frame.text for frame in self.frames if {"verb", "object"} <= frame.slots
        )
        between = " " if " " in text else ""
        object_last = text.index("{verb}") < text.index("{object}")
        spoken = (
            between.join(filter(None, phrase if object_last else phrase[::-1]))
            for phrase in (
                *(self.actions[action] for action in ACTIONS),
                *(self.activities[activity] for activity in ACTIVITIES),
            )
        )
        return [
            *(self.persons[person] for person in PERSONS),
            *spoken,
            *(self.places[place] for place in PLACES),
            *(self.settings[setting] for setting in SETTINGS),
            *(self.times[time] for time in TIMES),
        ]

    def _capitalize(self, text: str) -> str:
        first = "İ" if self.language == "tr" and text[0] == "i" else text[0].upper()
        return first + text[1:]


def read_lexicons(
    folder: Path, languages: list[str] | None = None
) -> dict[str, Lexicon]:
    """The lexicons ``{language}.yaml`` of a folder, all or those named.

    Raises:
        UserError: no such lexicon, or one with a key missing, unknown or ill-formed.
    """
    if languages is None:
        languages = sorted(path.stem for path in folder.glob("*.yaml"))
        if not languages:
            raise UserError(f"{folder}: no lexicon (*.yaml) in this folder")
    return {
        language: read_lexicon(folder / f"{language}.yaml") for language in languages
    }


def read_lexicon(path: Path) -> Lexicon:
    """Read and check one lexicon; the file's name is the language.

    Raises:
        UserError: not YAML; a key missing, unknown or of the wrong form; a frame with
            an unknown slot; no frame for something that the demo wants to say.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not YAML in UTF-8: {error}") from error
    _check(path, "", content, _SHAPE)
    frames = [_frame(path, "frames", text) for text in content["frames"]]
    remarks = {
        key: _frame(path, f"remarks.{key}", text)
        for key, text in content["remarks"].items()
    }
    lexicon = Lexicon(path.stem, **(content | {"frames": frames, "remarks": remarks}))
    _check_frames(path, lexicon)
    return lexicon


def _is_text(value: Any) -> bool:
    return _is_optional(value) and value != ""


def _is_optional(value: Any) -> bool:
    return isinstance(value, str) and value == " ".join(value.split())


def _is_phrase(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and _is_text(value[0])
        and _is_optional(value[1])
    )


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_text, value))


_SHAPE = {
    "persons": dict.fromkeys(PERSONS, _is_text),
    "pronoun": _is_optional,
    "actions": dict.fromkeys(ACTIONS, _is_phrase),
    "activities": dict.fromkeys(ACTIONS_OF, _is_phrase),
    "places": dict.fromkeys(PLACES, _is_text),
    "settings": dict.fromkeys(PLACES_OF, _is_text),
    "times": dict.fromkeys(TIMES, _is_text),
    "frames": _is_list,
    "remarks": dict.fromkeys(REMARKS, _is_text),
}
_FORM = {
    _is_text: "a text in one line, without outer or double spaces",
    _is_optional: 'a text in one line, or ""',
    _is_phrase: "a pair of texts, [verb, object]; the object may be empty",
    _is_list: "a list of texts",
}


def _check(path: Path, key: str, value: Any, shape: dict | Callable) -> None:
    """Compare a value with the shape that it should have."""
    if callable(shape):
        if not shape(value):
            raise UserError(f"{path}: key '{key}' must be {_FORM[shape]}")
        return
    if not isinstance(value, dict):
        raise UserError(f"{path}: {f'key {key!r}' if key else 'it'} must be a mapping")
    prefix = f"{key}." if key else ""
    for name in shape:
        if name not in value:
            raise UserError(f"{path}: key '{prefix}{name}' is missing")
    for name, part in value.items():
        if name not in shape:
            raise UserError(f"{path}: unknown key '{prefix}{name}'")
        _check(path, f"{prefix}{name}", part, shape[name])


def _frame(path: Path, key: str, text: str) -> Frame:
    plain = re.sub(r"{\w*}", "", re.sub(r"\[(.*?)\]", r"\1", text))
    if re.search(r"[][{}]", plain):
        raise UserError(
            f"{path}: key '{key}': a {{slot}} or [part] is not closed, or parts are"
            f" nested, in '{text}'"
        )
    frame = Frame(text)
    unknown = sorted(frame.slots - Frame.SLOTS)
    if unknown:
        raise UserError(
            f"{path}: key '{key}': unknown slot {{{unknown[0]}}} in '{text}'"
        )
    return frame


def _check_frames(path: Path, lexicon: Lexicon) -> None:
    """Make sure that whatever may be stated, with or without a person, can be said."""
    person = {"person"} if lexicon.pronoun else set()
    for key, frame in lexicon.remarks.items():
        if not frame.required <= person:
            raise UserError(
                f"{path}: key 'remarks.{key}': only {{person}} is stated here"
            )
    for what in (set(), {"verb"}, {"verb", "object"}):
        for where in (set(), {"place"}):
            for when in (set(), {"time"}):
                stated = what | where | when
                for who in (person, {"person"}) if stated else ():
                    if not any(frame.fits(who | stated) for frame in lexicon.frames):
                        slots = ", ".join(sorted(who | stated))
                        raise UserError(f"{path}: key 'frames': none states {slots}")


def _pick(rng: np.random.Generator, options: tuple[Item, ...]) -> Item:
    return options[rng.integers(len(options))]


def _variant(rng: np.random.Generator) -> int:
    return int(rng.integers(_VARIANTS))


def documents(rng: np.random.Generator) -> Iterator[list[Sentence]]:
    """Documents without end, of 4 to 7 sentences about one person each.

    The first sentence states a whole fact, later ones restate it in part or in
    general, with now and then a remark.
    """
    while True:
        whole = Fact(
            _pick(rng, PERSONS),
            _pick(rng, ACTIONS),
            _pick(rng, PLACES),
            _pick(rng, TIMES),
        )
        parts = [
            replace(whole, what=what, where=where, when=when)
            for what in (whole.what, ACTIVITY_OF[whole.what], None)
            for where in (whole.where, SETTING_OF[whole.where], None)
            for when in (whole.when, None)
            if what or where or when
        ]
        rest = [(part, None) for part in parts[1:]]
        rest += [(Fact(whole.person), remark) for remark in REMARKS]
        chosen = rng.permutation(len(rest))[: rng.integers(3, 7)]
        yield [Sentence(whole, _variant(rng))] + [
            Sentence(fact, _variant(rng), remark, pronoun=bool(rng.integers(2)))
            for fact, remark in (rest[index] for index in chosen)
        ]


def parallel_documents(rng: np.random.Generator, lines: int) -> list[list[Sentence]]:
    """Documents with ``lines`` sentences in all; the last one may be cut short."""
    chosen: list[list[Sentence]] = []
    for document in documents(rng):
        if lines <= 0:
            return chosen
        chosen.append(document[:lines])
        lines -= len(document)
    return chosen


def phrasebook_order(rng: np.random.Generator, phrases: int, rounds: int) -> list[int]:
    """The numbers of all phrases, shuffled anew in each round."""
    return [int(number) for _ in range(rounds) for number in rng.permutation(phrases)]


def held_out(action: str, place: str) -> bool:
    """Whether only test premises may state the two together: a quarter of all pairs.

    Every action is held out in two places of eight.
    """
    return (ACTIONS.index(action) + PLACES.index(place)) % 4 == 0


def nli_pairs(rng: np.random.Generator, split: str, count: int) -> list[Pair]:
    """Pairs of a split, in random order, with exactly as many of each label.

    Every hypothesis comes with a premise for each of the three labels, so that the
    label cannot be guessed from the hypothesis.

    Raises:
        UserError: ``count`` is not a multiple of three.
    """
    if count % len(LABELS):
        raise UserError(f"{count} {split} pairs: must be a multiple of 3, for 3 labels")
    pairs = []
    for triple in range(count // len(LABELS)):
        kind = list(KINDS)[triple % len(KINDS)]
        part, values = KINDS[kind]
        hypothesis = Fact(_pick(rng, PERSONS_OF[split]), **{part: _pick(rng, values)})
        said = Sentence(hypothesis, _variant(rng))
        for label in LABELS:
            premise = Sentence(
                _premise(rng, hypothesis, kind, label, split), _variant(rng)
            )
            pairs.append(Pair(premise, said, label, kind))
    return [pairs[index] for index in rng.permutation(count)]


def _premise(
    rng: np.random.Generator, hypothesis: Fact, kind: str, label: str, split: str
) -> Fact:
    """A fact about the same person from which the label follows.

    At least two of what, where and when are stated. What the hypothesis does not ask
    for is stated exactly, in general or not at all, with equal chances.
    """
    forms = {
        "what": (ACTIONS, ACTIVITIES, (None,)),
        "where": (PLACES, SETTINGS, (None,)),
        "when": (TIMES, (None,)),
    }
    if kind == "time":
        # The hypothesis says "does this", so the premise must say what.
        forms["what"] = forms["what"][:2]
    part, _ = KINDS[kind]
    forms[part] = _forms_for(label, kind, getattr(hypothesis, part))
    stated = 0
    while stated < 2:
        options = {key: _pick(rng, choices) for key, choices in forms.items()}
        stated = sum(None not in values for values in options.values())
    while True:
        parts = {key: _pick(rng, values) for key, values in options.items()}
        fact = Fact(hypothesis.person, **parts)
        exact = fact.what in ACTIVITY_OF and fact.where in SETTING_OF
        if not exact or held_out(fact.what, fact.where) == (split == "test"):
            return fact


def _forms_for(label: str, kind: str, value: str) -> tuple[tuple[str | None, ...], ...]:
    """What a premise may state of a part for a hypothesis that states ``value``."""
    _, values = KINDS[kind]
    follows: tuple[str, ...] = (value,)
    if kind == "activity":
        # The activity itself is as frequent as each of its three actions.
        values, follows = (*ACTIONS, *ACTIVITIES), (*ACTIONS_OF[value], value)
    if kind == "setting":
        values, follows = PLACES, PLACES_OF[value]
    if label == "entailment":
        return (follows,)
    if label == "neutral":
        return (None,), ((ACTIVITY_OF | SETTING_OF).get(value),)
    return (tuple(other for other in values if other not in follows),)
