"""SQuAD v1.1: questions whose answers are spans of a text (also XQuAD, MLQA)."""

import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from babelmill.errors import UserError
from babelmill.files import read_json
from babelmill.tasks.examples import json_cell, read_rows
from babelmill.tasks.jsonl import checked_text
from babelmill.tasks.source import Source

# What ends a line somewhere, and tabs: blanks in their place move no answer.
_BREAK = re.compile(r"[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]")
_KINDS = {str: "a string", list: "a list", dict: "an object", int: "a whole number"}


@dataclass(frozen=True, slots=True)
class Answer:
    """A span of a context: where it starts, in characters, and its text."""

    start: int
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question on a context, and its right answers; none in an unlabeled set."""

    COLUMNS: ClassVar = ("id", "question", "context", "answers")

    id: str
    question: str
    context: str
    answers: tuple[Answer, ...]

    def cells(self) -> tuple[str, ...]:
        answers = [[answer.start, answer.text] for answer in self.answers]
        return self.id, self.question, self.context, json_cell(answers)


def read(source: Source) -> Iterator[tuple[int, Question | None]]:
    """Yield the place of each question in the file, and the question.

    As in ``run_squad.py`` of BERT, a training question is left out (``None``) whose
    first answer is not in the context where it should start; dev and test answers need
    their text alone, and every question counts.

    Raises:
        UserError: the file is not as SQuAD v1.1's, a question has no answer, or an id
            comes twice.
    """
    seen: set[str] = set()
    for number, question in enumerate(_questions(source)):
        where = f"{source.path}, question {question.id}"
        if question.id in seen:
            raise UserError(f"{where}: its id comes a second time")
        seen.add(question.id)
        if source.split != "test" and not question.answers:
            raise UserError(
                f"{where}: no answer: questions without one are of SQuAD v2.0"
            )
        if source.split == "train" and not _stands(question):
            print(
                f"warning: {where}: {question.answers[0].text!r} does not stand at"
                f" {question.answers[0].start}: left out",
                file=sys.stderr,
            )
            yield number, None
        else:
            yield number, question


def _questions(source: Source) -> Iterator[Question]:
    where = str(source.path)
    for article in _get(read_json(source.path), "data", list, where):
        for paragraph in _get(article, "paragraphs", list, where):
            context = _text(_get(paragraph, "context", str, where), where)
            for entry in _get(paragraph, "qas", list, where):
                id = _get(entry, "id", str, where)
                here = f"{where}, question {id}"
                question = _text(_get(entry, "question", str, here), here)
                answers = entry.get("answers", [])
                if source.split != "test":
                    _get(entry, "answers", list, here)
                yield Question(
                    id, question, context, tuple(_answer(a, here) for a in answers)
                )


def _answer(entry: Any, where: str) -> Answer:
    text = _text(_get(entry, "text", str, where), where)
    return Answer(_get(entry, "answer_start", int, where), text)


def _get(entry: Any, key: str, kind: type, where: str) -> Any:
    if not isinstance(entry, dict) or not isinstance(entry.get(key), kind):
        raise UserError(
            f"{where}: no {key} that is {_KINDS[kind]}: SQuAD v1.1 has data,"
            " paragraphs, context, qas, and in these id, question and answers"
        )
    return entry[key]


def _text(text: str, where: str) -> str:
    return _BREAK.sub(" ", checked_text(text, f"{where}: a text"))


def _stands(question: Question) -> bool:
    """Whether the first answer is where it says."""
    first = question.answers[0]
    span = question.context[first.start : first.start + len(first.text)]
    return first.start >= 0 and bool(span.strip()) and span == first.text


def read_questions(
    path: str | os.PathLike[str], answered: bool = True
) -> list[Question]:
    """Read the normalized file.

    Raises:
        UserError: as ``read_rows``, or no answer where there should be one.
    """
    questions = []
    for where, (id, question, context, cell) in read_rows(path, Question.COLUMNS):
        answers = tuple(Answer(*answer) for answer in json.loads(cell))
        if answered and not answers:
            raise UserError(f"{where}: no answer, which training and scores need")
        questions.append(Question(id, question, context, answers))
    return questions
