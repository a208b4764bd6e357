"""Tab-separated tables, where quotes are plain characters.

The official files hold unbalanced quotes, so no quoting is ever undone.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from babelmill.errors import UserError
from babelmill.files import read_lines
from babelmill.tasks.examples import Example


def numbered_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the fields of every line that is not empty."""
    for number, line in enumerate(read_lines(path), 1):
        if line:
            yield number, line.split("\t")


def table_rows(
    path: Path, columns: Sequence[str], skip_torn: bool = False
) -> Iterator[tuple[int, list[str] | None]]:
    """Yield the line number and the values of ``columns`` for every row.

    Args:
        path: a table with a header line.
        columns: the names of the columns wanted, in the order wanted.
        skip_torn: yield ``None`` for a row with fewer columns than the header, which
            is an error otherwise.

    Raises:
        UserError: the file is empty, the header lacks a column, or a row has not as
            many columns as the header.
    """
    rows = numbered_rows(path)
    _, header = next(rows, (1, None))
    if header is None:
        raise UserError(f"{path}: the file is empty")
    missing = [column for column in columns if column not in header]
    if missing:
        raise UserError(
            f"{path}, line 1: no column {', '.join(missing)}; the header has"
            f" {', '.join(header)}"
        )
    places = [header.index(column) for column in columns]
    for number, fields in rows:
        if len(fields) == len(header):
            yield number, [fields[place] for place in places]
        elif len(fields) < len(header) and skip_torn:
            yield number, None
        else:
            raise UserError(
                f"{path}, line {number}: {len(fields)} columns, but the header has"
                f" {len(header)}: mend or delete the row"
            )


def table_examples(
    path: Path,
    text_columns: Sequence[str],
    label_column: str | None,
    skip_torn: bool = False,
) -> Iterator[tuple[int, Example | None]]:
    """Yield line number and example of every row; the id is the row's number, from 0.

    Args:
        path: a table with a header line.
        text_columns: the names of one or two columns.
        label_column: ``None`` where the set has no labels.
        skip_torn: as in ``table_rows``.

    Raises:
        UserError: as ``table_rows``.
    """
    columns = [*text_columns, *filter(None, [label_column])]
    for index, (number, values) in enumerate(table_rows(path, columns, skip_torn)):
        if values is None:
            yield number, None
            continue
        label = values.pop() if label_column else None
        text_a, text_b = [*values, ""][:2]
        yield number, Example(str(index), text_a, text_b, label)
