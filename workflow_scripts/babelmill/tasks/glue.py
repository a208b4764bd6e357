"""GLUE: the files of the official archives. Their test sets have no labels.

Labels stay as they are in the files: names for MNLI, QNLI and RTE, a score from 0 to 5
for STS-B, and ``0`` and ``1`` for the others. MNLI's mismatched sets have the columns
of the matched ones; ``mnli-mm`` is their task name.
"""

from collections.abc import Iterator

from babelmill.errors import UserError
from babelmill.tasks.examples import Example
from babelmill.tasks.source import Source
from babelmill.tasks.tables import numbered_rows, table_examples

# The columns of the texts, and the column of the label in train and dev set.
_COLUMNS = {
    "cola": (("sentence",), None),
    "sst-2": (("sentence",), "label"),
    "mrpc": (("#1 String", "#2 String"), "Quality"),
    "sts-b": (("sentence1", "sentence2"), "score"),
    "qqp": (("question1", "question2"), "is_duplicate"),
    "mnli": (("sentence1", "sentence2"), "gold_label"),
    "mnli-mm": (("sentence1", "sentence2"), "gold_label"),
    "qnli": (("question", "sentence"), "label"),
    "rte": (("sentence1", "sentence2"), "label"),
    "wnli": (("sentence1", "sentence2"), "label"),
}
TASK_NAMES = tuple(_COLUMNS)


def read(source: Source) -> Iterator[tuple[int, Example | None]]:
    """Yield line number and example; ``None`` for a torn row of QQP.

    The id is the number of the row, from 0, which is what the official test sets call
    the index.

    Raises:
        UserError: as ``table_rows``.
    """
    if source.task_name == "cola" and source.split != "test":
        return _read_cola(source)
    text_columns, label_column = _COLUMNS[source.task_name]
    return table_examples(
        source.path,
        text_columns,
        label_column if source.split != "test" else None,
        # Line breaks within questions tear a few rows of the official train set.
        skip_torn=source.task_name == "qqp",
    )


def _read_cola(source: Source) -> Iterator[tuple[int, Example]]:
    """Train and dev set have no header: source, label, author's mark, sentence."""
    for index, (number, fields) in enumerate(numbered_rows(source.path)):
        if len(fields) != 4:
            raise UserError(
                f"{source.path}, line {number}: {len(fields)} columns instead of the 4"
                " of CoLA (source, label, author's mark, sentence)"
            )
        yield number, Example(str(index), fields[3], "", fields[1])
