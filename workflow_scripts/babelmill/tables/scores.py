"""Scores: a JSON file for each set of examples, or one CSV of many in long form."""

import csv
import math
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any

from babelmill.errors import UserError
from babelmill.files import read_json, read_lines, whole_file


@dataclass(frozen=True, order=True)
class Score:
    """One measured number.

    Attributes:
        model: the name of the model in the tables.
        setting: how it was trained for the task, such as ``zero-shot``.
        task: the name of the task.
        data: what it was measured on, as the tables call it, such as ``XNLI test``.
            Numbers on different data are never ranked against each other.
        seed: the seed of the fine-tuning.
        language: the language code.
        split: ``dev`` or ``test``.
        metric: a metric of ``babelmill.metrics``.
        value: a fraction, at most 1.
        n: how many examples were scored.
    """

    model: str
    setting: str
    task: str
    data: str
    seed: int
    language: str
    split: str
    metric: str
    value: float
    n: int

    @property
    def key(self) -> tuple[Any, ...]:
        """What no two scores may share."""
        return (
            *(self.model, self.setting, self.task, self.data, self.seed),
            *(self.language, self.split, self.metric),
        )


_TYPES = {field.name: field.type for field in fields(Score)}


def _score(values: dict[str, Any], where: str) -> Score:
    if missing := sorted(_TYPES.keys() - values.keys()):
        raise UserError(f"{where}: no {', '.join(missing)} in the score")
    values = {name: values[name] for name in _TYPES}
    for name, value in values.items():
        # A fraction may be written as 1; a truth value is no number.
        types = (int, float) if _TYPES[name] is float else _TYPES[name]
        if not isinstance(value, types) or isinstance(value, bool):
            kind = {str: "text", int: "a whole number", float: "a number"}[_TYPES[name]]
            raise UserError(f"{where}: {name} is {value!r}, not {kind}")
    score = Score(**{**values, "value": float(values["value"])})
    if not (math.isfinite(score.value) and -1 <= score.value <= 1):
        raise UserError(
            f"{where}: value is {score.value}, but scores are fractions, not percent"
        )
    if score.n < 1:
        raise UserError(f"{where}: n is {score.n}, but a score needs an example")
    return score


def read_score_file(path: str | os.PathLike[str]) -> list[Score]:
    """Read one score file: what all its scores share, and ``metrics`` by name.

    Keys that are no attribute of ``Score`` are passed over.

    Raises:
        UserError: a key is missing or of the wrong type, or a value is no fraction.
    """
    content = read_json(path)
    if not isinstance(content, dict) or not isinstance(content.get("metrics"), dict):
        raise UserError(f"{path}: a score file is one JSON object with metrics in it")
    return [
        _score({**content, "metric": metric, "value": value}, str(path))
        for metric, value in content["metrics"].items()
    ]


def collect(paths: Iterable[str | os.PathLike[str]]) -> list[Score]:
    """Read score files and sort the scores.

    Raises:
        UserError: as ``read_score_file``, or two files score the same thing.
    """
    seen: dict[tuple[Any, ...], str | os.PathLike[str]] = {}
    scores = []
    for path in paths:
        for score in read_score_file(path):
            if score.key in seen:
                raise UserError(
                    f"{path}: scores the same as {seen[score.key]}:"
                    f" {' '.join(map(str, score.key))}"
                )
            seen[score.key] = path
            scores.append(score)
    return sorted(scores)


def write_scores(path: str | os.PathLike[str], scores: Iterable[Score]) -> None:
    """Write scores as CSV, one a row, in the order given."""
    with (
        whole_file(path) as partial,
        partial.open("w", encoding="utf-8", newline="") as target,
    ):
        writer = csv.DictWriter(target, list(_TYPES), lineterminator="\n")
        writer.writeheader()
        writer.writerows(map(asdict, scores))


def read_scores(path: str | os.PathLike[str]) -> list[Score]:
    """Read what ``write_scores`` wrote.

    Raises:
        UserError: another header, a number that is none, or the same score twice.
    """
    rows = csv.DictReader(read_lines(path))
    if rows.fieldnames != list(_TYPES):
        raise UserError(
            f"{path}, line 1: the columns are not {', '.join(_TYPES)}: make the file"
            " with collect_scores.py"
        )
    scores, seen = [], set()
    for row in rows:
        where = f"{path}, line {rows.line_num}"
        try:
            score = _score({name: _TYPES[name](row[name]) for name in row}, where)
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"{where}: not a score: {error}") from error
        if score.key in seen:
            raise UserError(f"{where}: the same score stands in a row above")
        seen.add(score.key)
        scores.append(score)
    return scores
