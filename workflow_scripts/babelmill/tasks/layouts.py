"""The layouts of task data that can be read, and the one way to read them."""

from collections.abc import Iterator, Sequence

from babelmill.errors import UserError
from babelmill.tasks import glue, jsonl, tsv, xnli
from babelmill.tasks.examples import Example, check_label
from babelmill.tasks.source import Source

READERS = {"xnli": xnli.read, "glue": glue.read, "tsv": tsv.read, "jsonl": jsonl.read}


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
        UserError: the file is not as the layout says, a label is not the task's, or
            there is no example.
    """
    empty = True
    for number, example in READERS[layout](source):
        if example is not None:
            empty = False
            if example.label is not None:
                check_label(example.label, labels, f"{source.path}, line {number}")
        yield example
    if empty:
        raise UserError(f"{source.path}: no examples in the file")
