"""The normalized form of task data: one TSV file a split and language.

A row is an example, and the header line names what one consists of. Quotes are plain
characters, and no cell holds a tab or a line break; a cell of several values is a JSON
list. The examples of classification have the columns ``id  text_a  text_b  label``:
``text_b`` is empty where the task has one text, ``label`` where the set has no labels.
"""

import json
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

from babelmill.errors import UserError
from babelmill.files import read_lines


class Row(Protocol):
    """What can be written as a row of the normalized form."""

    COLUMNS: ClassVar[tuple[str, ...]]

    def cells(self) -> tuple[str, ...]:
        """The text of each column."""


@dataclass(frozen=True, slots=True)
class Example:
    """One example.

    Attributes:
        id: unique within the file.
        text_a: the first text.
        text_b: the second text, or "" where the task has one.
        label: a label's name, a number for regression, ``None`` in an unlabeled set.
    """

    COLUMNS: ClassVar = ("id", "text_a", "text_b", "label")

    id: str
    text_a: str
    text_b: str
    label: str | None

    def cells(self) -> tuple[str, ...]:
        return self.id, self.text_a, self.text_b, self.label or ""


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


def write_examples(
    path: str | os.PathLike[str], examples: Iterable[Row], form: type[Row] = Example
) -> None:
    """Write the normalized file; tabs and line breaks in texts become blanks."""
    with Path(path).open("w", encoding="utf-8", newline="") as target:
        target.write("\t".join(form.COLUMNS) + "\n")
        for example in examples:
            target.write("\t".join(map(_one_line, example.cells())) + "\n")


def _one_line(text: str) -> str:
    return " ".join(text.replace("\t", " ").splitlines())


def json_cell(value: Any) -> str:
    """Several values as one cell."""
    return json.dumps(value, ensure_ascii=False)


def read_rows(
    path: str | os.PathLike[str], columns: Sequence[str]
) -> Iterator[tuple[str, list[str]]]:
    """Yield the cells of each row of a normalized file, and where it stands.

    Raises:
        UserError: another header, a row without exactly these columns, or no row.
    """
    lines = read_lines(path)
    header = next(lines, "")
    if header != "\t".join(columns):
        raise UserError(
            f"{path}, line 1: the header is {header!r}, not {' '.join(columns)}"
            " (tab-separated): make the file with prepare_task.py"
        )
    number = 1
    for number, line in enumerate(lines, 2):
        cells = line.split("\t")
        if len(cells) != len(columns):
            raise UserError(
                f"{path}, line {number}: {len(cells)} columns instead of"
                f" {len(columns)}: make the file again with prepare_task.py"
            )
        yield f"{path}, line {number}", cells
    if number == 1:
        raise UserError(f"{path}: no examples after the header")


def read_examples(
    path: str | os.PathLike[str], labels: Sequence[str] | None = None
) -> list[Example]:
    """Read the normalized file of a classification or a regression.

    Args:
        path: what ``write_examples`` wrote.
        labels: check every label against these, as ``check_label`` does; ``None``
            leaves them unchecked (a test set without labels).

    Raises:
        UserError: as ``read_rows``, or a label outside ``labels``.
    """
    examples = []
    for where, cells in read_rows(path, Example.COLUMNS):
        if labels is not None:
            check_label(cells[3], labels, where)
        examples.append(Example(*cells[:3], label=cells[3] or None))
    return examples
