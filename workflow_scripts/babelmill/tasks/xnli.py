"""XNLI: dev and test sets of XNLI-1.0, train sets of XNLI-MT-1.0.

``xnli.dev.tsv`` and ``xnli.test.tsv`` hold all 15 languages; each
``multinli.train.{lang}.tsv`` is MultiNLI in one language, English or translated.
"""

from collections.abc import Iterator

from babelmill.errors import UserError
from babelmill.tasks.examples import Example
from babelmill.tasks.source import Source
from babelmill.tasks.tables import table_rows

NO_GOLD_LABEL = "-"


def read(source: Source) -> Iterator[tuple[int, Example | None]]:
    """Yield line number and example; ``None`` where the annotators did not agree.

    Raises:
        UserError: as ``table_rows``, or the file has no row of the language.
    """
    return _read_train(source) if source.split == "train" else _read_evaluation(source)


def _read_train(source: Source) -> Iterator[tuple[int, Example | None]]:
    rows = table_rows(source.path, ("premise", "hypo", "label"))
    for index, (number, (premise, hypothesis, label)) in enumerate(rows):
        # The train sets say "contradictory", the dev and test sets "contradiction".
        label = "contradiction" if label == "contradictory" else label
        yield number, Example(str(index), premise, hypothesis, label)


def _read_evaluation(source: Source) -> Iterator[tuple[int, Example | None]]:
    columns = ("language", "pairID", "sentence1", "sentence2", "gold_label")
    others = set()
    found = False
    for number, (lang, *values) in table_rows(source.path, columns):
        if lang != source.lang:
            others.add(lang)
            continue
        found = True
        example = Example(*values)
        yield number, None if example.label == NO_GOLD_LABEL else example
    if not found:
        raise UserError(
            f"{source.path}: no row of language {source.lang}; the file has"
            f" {', '.join(sorted(others)) or 'no rows'}"
        )
