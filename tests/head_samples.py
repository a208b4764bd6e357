"""Small samples of the tasks of words, answers and choices, in English and Swahili.

Written for these tests. ``write`` puts them down in the layouts of CoNLL, SQuAD v1.1
and multiple choice: for training many sentences of the same few words.
"""

import itertools
import json
from pathlib import Path

# People, places, and a frame for both, by language.
_PEOPLE = {"en": ["Asha Mwangi", "John", "Anna Berg"], "sw": ["Asha Mwangi", "Juma"]}
_PLACES = {"en": ["Mombasa", "New York", "Berlin"], "sw": ["Mombasa", "Dar es Salaam"]}
_FRAMES = {
    "en": ["{person} lives in {place} .", "In {place} , {person} sleeps ."],
    "sw": ["{person} anaishi {place} .", "Huko {place} , {person} analala ."],
}
_WHO = {"en": "Who is in {place}?", "sw": "Nani yuko {place}?"}
_WHERE = {"en": "Where is {person}?", "sw": "{person} yuko wapi?"}
LANGUAGES = tuple(_FRAMES)


def _worlds(lang: str) -> list[tuple[str, str, str]]:
    return list(itertools.product(_FRAMES[lang], _PEOPLE[lang], _PLACES[lang]))


def words() -> list[str]:
    """All words of the samples, lower-cased, and the marks between them."""
    texts = [f"{f} {p} {q}" for lang in LANGUAGES for f, p, q in _worlds(lang)]
    texts += [*_WHO.values(), *_WHERE.values(), "because then"]
    text = " ".join(texts).lower().translate(str.maketrans("{}?", "   "))
    return [*sorted(set(text.split())), "?", "ba", "##ck"]


def conll(lang: str) -> str:
    """CoNLL's columns: token, a column to pass over, label (IOB2)."""
    lines = ["-DOCSTART- -X- O", ""]
    for frame, person, place in _worlds(lang):
        for word in frame.split():
            kind = {"{person}": "PER", "{place}": "LOC"}.get(word)
            tokens = word.format(person=person, place=place).split()
            if kind is None:
                lines.append(f"{word} x O")
                continue
            # "In Dar es Salaam", where the frame has one word.
            lines += [f"{t} x {'I' if i else 'B'}-{kind}" for i, t in enumerate(tokens)]
        lines.append("")
    return "\n".join(lines) + "\n"


def squad(lang: str) -> str:
    """SQuAD v1.1's JSON: who is where, in running text."""
    paragraphs = []
    for number, (frame, person, place) in enumerate(_worlds(lang)):
        context = frame.format(person=person, place=place).replace(" .", ".")
        context = context.replace(" ,", ",")
        asked = [(_WHO[lang], person), (_WHERE[lang], place)]
        paragraphs.append(
            {
                "context": context,
                "qas": [
                    {
                        "id": f"{lang}-{number}-{i}",
                        "question": question.format(person=person, place=place),
                        "answers": [
                            {"text": answer, "answer_start": context.index(answer)}
                        ],
                    }
                    for i, (question, answer) in enumerate(asked)
                ],
            }
        )
    data = [{"title": "who is where", "paragraphs": paragraphs}]
    return json.dumps({"version": "1.1", "data": data}, ensure_ascii=False)


def choices(lang: str) -> str:
    """JSON lines like XCOPA's: the choice that names the person of the premise."""
    lines = []
    for number, (frame, person, place) in enumerate(_worlds(lang)):
        other = next(p for p in _PEOPLE[lang] if p != person)
        row = {
            "premise": frame.format(person=person, place=place),
            "question": "because" if number % 2 else "then",
            "choice1": other if number % 3 else person,
            "choice2": person if number % 3 else other,
            "label": int(number % 3 > 0),
        }
        lines.append(json.dumps(row, ensure_ascii=False) + "\n")
    return "".join(lines)


SAMPLES = {
    "ner": ("conll", conll, ".txt"),
    "squad": ("squad", squad, ".json"),
    "copa": ("multiple_choice", choices, ".jsonl"),
}


def write(folder: Path) -> None:
    """Write {ner,squad,copa}/{train,dev,test}.{lang}.*; test and dev are as train."""
    for name, (_, text, suffix) in SAMPLES.items():
        (folder / name).mkdir(parents=True)
        for lang in LANGUAGES:
            for split in ("train", "dev", "test"):
                path = folder / name / f"{split}.{lang}{suffix}"
                path.write_text(text(lang), encoding="utf-8")
