"""CoNLL's columns: a token and its label a line, a blank line between sentences.

Columns are parted by tabs or blanks. The marks of documents of CoNLL-2003 are passed
over, as are the comments, the ranges of multiword tokens and the empty nodes of
CoNLL-U, and the language before each token of WikiANN's own files (``sw:Nairobi``).
"""

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from babelmill.errors import UserError
from babelmill.files import read_lines
from babelmill.tasks.examples import check_label, json_cell, read_rows
from babelmill.tasks.source import Source

_DOCUMENT = "-DOCSTART-"
_COMMENT = re.compile(r"#\s*(newdoc|newpar|[\w.:-]+\s*=)")
_NO_WORD = re.compile(r"\d+[-.]\d+")


@dataclass(frozen=True, slots=True)
class Sentence:
    """The words of a sentence, and their labels; ``None`` in an unlabeled set."""

    COLUMNS: ClassVar = ("id", "words", "labels")

    id: str
    words: tuple[str, ...]
    labels: tuple[str, ...] | None

    def cells(self) -> tuple[str, ...]:
        labels = json_cell(self.labels) if self.labels else ""
        return self.id, json_cell(self.words), labels


def read(source: Source) -> Iterator[tuple[int, Sentence]]:
    """Yield the number of its first line, and each sentence; ids count from 0.

    Raises:
        UserError: a line with other columns than the first one, a column that is not
            there, or a label that is not one of ``source.labels``, if it has any.
    """
    index, first, tokens = 0, 0, []
    for number, token in _tokens(source):
        if token is not None:
            first = first or number
            tokens.append(token)
        elif tokens:
            yield first, _sentence(index, tokens)
            index, first, tokens = index + 1, 0, []


def _sentence(index: int, tokens: Sequence[tuple[str, str | None]]) -> Sentence:
    words, labels = zip(*tokens, strict=True)
    return Sentence(str(index), words, None if None in labels else labels)


def _tokens(source: Source) -> Iterator[tuple[int, tuple[str, str | None] | None]]:
    """Yield line numbers, tokens and labels, and ``None`` after each sentence."""
    width, prefix, number = 0, None, 0
    for number, line in enumerate(read_lines(source.path), 1):
        where = f"{source.path}, line {number}"
        if not line.strip() or line.startswith(_DOCUMENT):
            yield number, None
            continue
        if _COMMENT.match(line) and "\t" not in line:
            continue
        fields = line.split("\t") if "\t" in line else line.split(" ")
        if "\t" not in line:
            fields = list(filter(None, fields))
        width = width or len(fields)
        if len(fields) != width:
            raise UserError(
                f"{where}: {len(fields)} columns, but the first token has {width}:"
                " mend the line, or part the sentences by blank lines"
            )
        if source.token_column and _NO_WORD.fullmatch(fields[0]):
            continue
        word, label = _columns(source, fields, where)
        if prefix is None:
            prefix = f"{source.lang}:" if word.startswith(f"{source.lang}:") else ""
        if not word.startswith(prefix) or word == prefix:
            raise UserError(
                f"{where}: no token after {prefix!r}, as the others have it"
            )
        if label is not None and source.labels:
            check_label(label, source.labels, where)
        yield number, (word.removeprefix(prefix), label)
    yield number + 1, None


def _columns(
    source: Source, fields: Sequence[str], where: str
) -> tuple[str, str | None]:
    """The token and the label of a line."""
    wanted = [source.token_column]
    if source.label_column is not None:
        wanted.append(int(source.label_column))
    try:
        values = [fields[column].strip() for column in wanted]
    except IndexError:
        raise UserError(
            f"{where}: no column {max(wanted)} among {len(fields)}, counted from 0"
        ) from None
    if len({column % len(fields) for column in wanted}) < len(wanted):
        raise UserError(f"{where}: the only column {fields[0]!r} is token and label")
    if not all(values):
        raise UserError(f"{where}: an empty token or label")
    word, label = [*values, None][:2]
    return word, label


def read_sentences(
    path: str | os.PathLike[str], labels: Sequence[str] | None = None
) -> list[Sentence]:
    """Read the normalized file.

    Args:
        path: what ``write_examples`` wrote.
        labels: of the task; none - any will do; ``None`` - there may be none at all.

    Raises:
        UserError: as ``read_rows``, or a label that is missing or not the task's.
    """
    sentences = []
    for where, (id, words, given) in read_rows(path, Sentence.COLUMNS):
        if labels is not None and not given:
            raise UserError(f"{where}: no labels, which training and scores need")
        found = tuple(json.loads(given)) if given else None
        for label in found if labels else ():
            check_label(label, labels, where)
        sentences.append(Sentence(id, tuple(json.loads(words)), found))
    return sentences
