"""Own task, one JSON object a line."""

import json
from collections.abc import Iterator
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
    index = 0
    for number, line in enumerate(read_lines(source.path), 1):
        if not line.strip():
            continue
        where = f"{source.path}, line {number}"
        row = _object(line, where)
        texts = [_text(row, key, where) for key in source.text_columns]
        text_a, text_b = [*texts, ""][:2]
        label = _label(row, source.label_column, where) if source.label_column else None
        yield number, Example(str(index), text_a, text_b, label)
        index += 1


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise UserError(f"{where}: not JSON: {error}") from error
    if not isinstance(row, dict):
        raise UserError(f"{where}: a JSON object is needed, such as {{...}}")
    return row


def _value(row: dict[str, Any], key: str, where: str) -> Any:
    if key not in row:
        raise UserError(f"{where}: no key {key}; the object has {', '.join(row)}")
    return row[key]


def _text(row: dict[str, Any], key: str, where: str) -> str:
    value = _value(row, key, where)
    if not isinstance(value, str):
        raise UserError(f"{where}: {key} is {json.dumps(value)}, not a string")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise UserError(f"{where}: {key} holds half a surrogate pair: mend the escape")
    return value


def _label(row: dict[str, Any], key: str, where: str) -> str:
    value = _value(row, key, where)
    return value if isinstance(value, str) else json.dumps(value)
