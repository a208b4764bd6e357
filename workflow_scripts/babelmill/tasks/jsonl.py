"""Own task, one JSON object a line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from babelmill.errors import UserError
from babelmill.files import read_lines
from babelmill.tasks.examples import Example
from babelmill.tasks.source import Source


def read(source: Source) -> Iterator[tuple[int, Example]]:
    """Yield line number and example; the id is the number of the example, from 0.

    Raises:
        UserError: a line that is no JSON object, an object that lacks a key, or a text
            that is no string of Unicode characters.
    """
    for index, (number, row) in enumerate(objects(source.path)):
        where = f"{source.path}, line {number}"
        texts = [text_of(row, key, where) for key in source.text_columns]
        text_a, text_b = [*texts, ""][:2]
        label = label_of(row, source.label_column, where)
        yield number, Example(str(index), text_a, text_b, label)


def objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield line number and object of every line that is not empty."""
    for number, line in enumerate(read_lines(path), 1):
        if line.strip():
            yield number, _object(line, f"{path}, line {number}")


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise UserError(f"{where}: not JSON: {error}") from error
    if not isinstance(row, dict):
        raise UserError(f"{where}: a JSON object is needed, such as {{...}}")
    return row


def value_of(row: dict[str, Any], key: str, where: str) -> Any:
    """A value of an object, which must have it."""
    if key not in row:
        raise UserError(f"{where}: no key {key}; the object has {', '.join(row)}")
    return row[key]


def text_of(row: dict[str, Any], key: str, where: str) -> str:
    """A text of an object."""
    return checked_text(value_of(row, key, where), f"{where}: {key}")


def checked_text(value: Any, where: str) -> str:
    """A value that must be a string of Unicode characters."""
    if not isinstance(value, str):
        raise UserError(f"{where} is {json.dumps(value)}, not a string")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise UserError(f"{where} holds half a surrogate pair: mend the escape")
    return value


def label_of(row: dict[str, Any], key: str | None, where: str) -> str | None:
    """The label of an object; none without a key."""
    if not key:
        return None
    value = value_of(row, key, where)
    return value if isinstance(value, str) else json.dumps(value)
