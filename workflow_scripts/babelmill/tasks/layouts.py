"""The layouts of task data that can be read, and the one way to read them."""

from collections.abc import Iterator, Sequence

from babelmill.errors import UserError
from babelmill.tasks import glue, jsonl, tsv, xnli
from babelmill.tasks.examples import Example, check_label
from babelmill.tasks.source import Source

READERS = {"xnli": xnli.read, "glue": glue.read, "tsv": tsv.read, "jsonl": jsonl.read}
# Of the official data, some holds empty texts (QQP), and all of it counts.
_OWN = ("tsv", "jsonl")


def task_examples(
    layout: str, source: Source, labels: Sequence[str]
) -> Iterator[Example | None]:
    """Yield the examples of a file, one at a time, with their labels checked.

    ``None`` stands for a row that the official data itself leaves out (XNLI without a
    gold label, torn rows of QQP), so that the caller can count them.

    Args:
        layout: a key of ``READERS``.
        source: the file.
        labels: the task's label names; none for regression.

    Raises:
        UserError: the file is not as the layout says, a label is not the task's, a
            text of one's own is empty, or there is no example.
    """
    empty = True
    for number, example in READERS[layout](source):
        if example is not None:
            empty = False
            if layout in _OWN:
                _check_texts(source, number, example)
            if example.label is not None:
                check_label(example.label, labels, f"{source.path}, line {number}")
        yield example
    if empty:
        raise UserError(f"{source.path}: no examples in the file")


def _check_texts(source: Source, number: int, example: Example) -> None:
    """Refuse an example that has nothing in a text column."""
    texts = (example.text_a, example.text_b)
    for column, text in zip(source.text_columns, texts, strict=False):
        if not text.strip():
            raise UserError(
                f"{source.path}, line {number}: nothing in column {column}: mend or"
                " delete the row"
            )
