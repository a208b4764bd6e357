"""Raw text of any shape -> one sentence a line, blank line between documents."""

import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from babelmill.errors import UserError
from babelmill.files import read_lines

TEXT_SUFFIXES = (".txt", ".jsonl", ".json")
PACKED_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")

# C0 and C1 controls (NUL, form feed, ...), tab and the Unicode line separators end no
# line here, so they are blanks; a lone surrogate (of a JSON escape) has no UTF-8 form.
_BLANKS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_SURROGATES = re.compile("[\ud800-\udfff]")


def text_files(paths: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """The text files that ``paths`` name; a folder stands for its files, sorted.

    Raises:
        UserError: a path does not exist, or a folder holds no text file.
    """
    files: list[Path] = []
    for path in map(Path, paths):
        if path.is_dir():
            found = sorted(p for p in path.rglob("*") if _is_text(p))
            if not found:
                raise UserError(
                    f"{path}: no text file in this folder"
                    f" (looked for {' '.join(TEXT_SUFFIXES)}, packed or not)"
                )
            files += found
        elif path.exists():
            files.append(path)
        else:
            raise UserError(f"{path}: no such file: put the raw text there")
    return files


def _is_text(path: Path) -> bool:
    name = path
    if name.suffix in PACKED_SUFFIXES:
        name = name.with_suffix("")
    return path.is_file() and name.suffix in TEXT_SUFFIXES


def read_sentences(path: Path, text_field: str = "text") -> Iterator[str]:
    """Yield the lines of a text or JSON-lines file, cleaned; "" ends a document.

    A JSON line is a document: the text of its field is split at line breaks, and an
    empty string follows it. Control characters become blanks, runs of blanks one
    blank.

    Raises:
        UserError: not UTF-8, not JSON, or no such field, with the line.
    """
    name = path.with_suffix("") if path.suffix in PACKED_SUFFIXES else path
    if name.suffix not in (".jsonl", ".json"):
        yield from map(clean, read_lines(path))
        return
    for number, line in enumerate(read_lines(path), 1):
        if line.strip():
            yield from _json_document(path, number, line, text_field)
            yield ""


def _json_document(path: Path, number: int, line: str, field: str) -> Iterator[str]:
    try:
        text = json.loads(line)[field]
    except ValueError as error:
        raise UserError(f"{path}, line {number}: not JSON: {error}") from None
    except (KeyError, TypeError):
        raise UserError(
            f"{path}, line {number}: no field {field!r}: set text_field to the field"
            " that holds the text"
        ) from None
    if not isinstance(text, str):
        raise UserError(f"{path}, line {number}: field {field!r} is not text")
    yield from map(clean, text.splitlines())


def clean(line: str) -> str:
    """One line of text without control characters, outer and repeated blanks."""
    if not line.isascii():
        line = _SURROGATES.sub("\ufffd", line)
    return " ".join(_BLANKS.sub(" ", line).split())


def documents_of(lines: Iterable[str], lines_per_document: int = 0) -> Iterator[str]:
    """Yield ``lines`` with exactly one empty line between documents, none at the ends.

    ``lines_per_document`` cuts running text without blank lines into documents.
    """
    in_document = 0
    started = False
    for line in lines:
        if not line:
            in_document = 0
            continue
        if lines_per_document and in_document == lines_per_document:
            in_document = 0
        if in_document == 0 and started:
            yield ""
        yield line
        in_document += 1
        started = True


def count_lines(path: Path, text_field: str = "text") -> int:
    """The number of lines that ``read_sentences`` gives."""
    return sum(1 for _ in read_sentences(path, text_field))
