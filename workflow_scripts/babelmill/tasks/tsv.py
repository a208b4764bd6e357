"""Own task, tab-separated with a header line."""

from collections.abc import Iterator

from babelmill.tasks.examples import Example
from babelmill.tasks.source import Source
from babelmill.tasks.tables import table_examples


def read(source: Source) -> Iterator[tuple[int, Example | None]]:
    """Yield line number and example.

    Raises:
        UserError: as ``table_rows``.
    """
    return table_examples(source.path, source.text_columns, source.label_column)
