"""The normalized form of task data: one TSV file a split and language.

The file has the header line ``id  text_a  text_b  label``. ``text_b`` is empty where
the task has one text, ``label`` where the set has no labels. Quotes are plain
characters, and no text holds a tab or a line break.
"""

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from babelmill.errors import UserError
from babelmill.files import read_lines

COLUMNS = ("id", "text_a", "text_b", "label")


@dataclass(frozen=True, slots=True)
class Example:
    """One example.

    Attributes:
        id: unique within the file.
        text_a: the first text.
        text_b: the second text, or "" where the task has one.
        label: a label's name, a number for regression, ``None`` in an unlabeled set.
    """

    id: str
    text_a: str
    text_b: str
    label: str | None


def check_label(label: str, labels: Sequence[str], where: str) -> None:
    """Refuse a label that the task does not have.

    Args:
        label: the label as it stands in the file.
        labels: the names that are allowed; none for regression, where the label is a
            finite number.
        where: file and line, for the message.

    Raises:
        UserError: the label is not allowed.
    """
    if labels:
        if label not in labels:
            raise UserError(
                f"{where}: label {label!r} is not one of the task's labels"
                f" ({', '.join(labels)})"
            )
    elif not _is_finite_number(label):
        raise UserError(
            f"{where}: label {label!r} is not a number, and the task has no label"
            " names: give --labels, or mend the row"
        )


def _is_finite_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def write_examples(path: str | os.PathLike[str], examples: Iterable[Example]) -> None:
    """Write the normalized file; tabs and line breaks in texts become spaces."""
    with Path(path).open("w", encoding="utf-8", newline="") as target:
        target.write("\t".join(COLUMNS) + "\n")
        for example in examples:
            fields = example.id, example.text_a, example.text_b, example.label or ""
            target.write("\t".join(map(_one_line, fields)) + "\n")


def _one_line(text: str) -> str:
    return " ".join(text.replace("\t", " ").splitlines())


def read_examples(
    path: str | os.PathLike[str], labels: Sequence[str] | None = None
) -> list[Example]:
    """Read the normalized file.

    Args:
        path: what ``write_examples`` wrote.
        labels: check every label against these, as ``check_label`` does; ``None``
            leaves them unchecked (a test set without labels).

    Raises:
        UserError: another header, a row without exactly four columns, a label outside
            ``labels``, or no example at all.
    """
    lines = read_lines(path)
    header = next(lines, "")
    if header != "\t".join(COLUMNS):
        raise UserError(
            f"{path}, line 1: the header is {header!r}, not {' '.join(COLUMNS)}"
            " (tab-separated): make the file with prepare_task.py"
        )
    examples = []
    for number, line in enumerate(lines, 2):
        fields = line.split("\t")
        if len(fields) != len(COLUMNS):
            raise UserError(
                f"{path}, line {number}: {len(fields)} columns instead of"
                f" {len(COLUMNS)}: make the file again with prepare_task.py"
            )
        if labels is not None:
            check_label(fields[3], labels, f"{path}, line {number}")
        examples.append(Example(*fields[:3], label=fields[3] or None))
    if not examples:
        raise UserError(f"{path}: no examples after the header")
    return examples
