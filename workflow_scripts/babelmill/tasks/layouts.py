"""The layouts of task data that can be read, and the one way to read them."""

from collections.abc import Iterator

from babelmill.errors import UserError
from babelmill.tasks import conll, glue, jsonl, multiple_choice, squad, tsv, xnli
from babelmill.tasks.examples import Example, Row, check_label
from babelmill.tasks.source import Source

READERS = {
    "xnli": xnli.read,
    "glue": glue.read,
    "tsv": tsv.read,
    "jsonl": jsonl.read,
    "conll": conll.read,
    "squad": squad.read,
    "multiple_choice": multiple_choice.read,
}
# What their examples are, where not ``Example``.
_FORMS = {
    "conll": conll.Sentence,
    "squad": squad.Question,
    "multiple_choice": multiple_choice.Choice,
}
# Of the official data, some holds empty texts (QQP), and all of it counts.
_OWN = ("tsv", "jsonl")


def form(layout: str) -> type[Row]:
    """What the examples of a layout are."""
    return _FORMS.get(layout, Example)


def task_examples(layout: str, source: Source) -> Iterator[Row | None]:
    """Yield the examples of a file, one at a time, with their labels checked.

    ``None`` stands for an example that is left out, as the official code leaves it out
    (XNLI without a gold label, torn rows of QQP, answers that are not where SQuAD says
    they are), so that the caller can count them.

    Args:
        layout: a key of ``READERS``.
        source: the file.

    Raises:
        UserError: the file is not as the layout says, a label is not the task's, a
            text of one's own is empty, or there is no example.
    """
    empty = True
    for number, example in READERS[layout](source):
        if example is not None:
            empty = False
        if isinstance(example, Example):
            if layout in _OWN:
                _check_texts(source, number, example)
            if example.label is not None:
                where = f"{source.path}, line {number}"
                check_label(example.label, source.labels, where)
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
