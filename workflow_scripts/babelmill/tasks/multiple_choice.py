"""Multiple choice, one JSON object a line: a text, what may follow it, what does.

SWAG, HellaSwag, COPA and XCOPA are of this kind. Of two text columns the second stands
before every choice, as the beginning of SWAG's endings and the question of COPA do.
"""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from babelmill.errors import UserError
from babelmill.tasks.examples import check_label, json_cell, read_rows
from babelmill.tasks.jsonl import checked_text, label_of, objects, text_of, value_of
from babelmill.tasks.source import Source


@dataclass(frozen=True, slots=True)
class Choice:
    """A text, what may follow it, and the label of what does.

    Attributes:
        label: the name of the right choice; ``None`` in an unlabeled set.
    """

    COLUMNS: ClassVar = ("id", "text", "choices", "label")

    id: str
    text: str
    choices: tuple[str, ...]
    label: str | None

    def cells(self) -> tuple[str, ...]:
        return self.id, self.text, json_cell(self.choices), self.label or ""


def read(source: Source) -> Iterator[tuple[int, Choice]]:
    """Yield line number and example; the id is the number of the example, from 0.

    Raises:
        UserError: as for ``jsonl``, fewer than two choices, not as many as the first
            example has, or a label that names none of them.
    """
    count = len(source.labels)
    for index, (number, row) in enumerate(objects(source.path)):
        where = f"{source.path}, line {number}"
        first, *before = (text_of(row, key, where) for key in source.text_columns)
        choices = tuple(" ".join([*before, c]) for c in _choices(source, row, where))
        count = count or len(choices)
        if len(choices) != count or count < 2:
            raise UserError(f"{where}: {len(choices)} choices instead of {count or 2}")
        label = label_of(row, source.label_column, where)
        if label is not None:
            check_label(label, source.labels or numbers(count), where)
        yield number, Choice(str(index), first, choices, label)


def numbers(count: int) -> list[str]:
    """The names of choices that have no others: their numbers, from 0."""
    return list(map(str, range(count)))


def _choices(source: Source, row: dict[str, Any], where: str) -> list[str]:
    values = [value_of(row, key, where) for key in source.choice_columns]
    if len(values) == 1:
        (values,) = values
        if not isinstance(values, list):
            raise UserError(f"{where}: {source.choice_columns[0]} is not a list")
    texts = [checked_text(value, f"{where}: a choice") for value in values]
    if not all(text.strip() for text in texts):
        raise UserError(f"{where}: an empty choice: mend or delete the line")
    return texts


def read_choices(
    path: str | os.PathLike[str], labels: Sequence[str] | None = None
) -> list[Choice]:
    """Read the normalized file.

    Args:
        path: what ``write_examples`` wrote.
        labels: the names of the choices; none - their numbers; ``None`` - they may be
            missing.

    Raises:
        UserError: as ``read_rows``, another number of choices than of labels, or a
            label that is none of them.
    """
    examples: list[Choice] = []
    for where, (id, text, cell, label) in read_rows(path, Choice.COLUMNS):
        choices = tuple(json.loads(cell))
        count = len(labels or (examples[0].choices if examples else choices))
        if len(choices) != count:
            raise UserError(f"{where}: {len(choices)} choices instead of {count}")
        if labels is not None:
            check_label(label, labels or numbers(count), where)
        examples.append(Choice(id, text, choices, label or None))
    return examples
