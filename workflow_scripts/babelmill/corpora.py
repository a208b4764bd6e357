"""Raw text of any shape -> one sentence a line, blank line between documents."""

import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from babelmill.errors import UserError
from babelmill.files import read_lines, read_running_text
from babelmill.packed import PACKED_SUFFIXES

JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")
TEXT_SUFFIXES = (".txt", *JSON_SUFFIXES)
ARCHIVE_SUFFIXES = (".tar", ".tgz", ".zip", ".7z")

# C0 and C1 controls (NUL, form feed, ...), tab and the Unicode line separators end no
# line here, so they are blanks.
_BLANKS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
# One alone, from an escape in JSON, has no UTF-8 form.
_SURROGATES = re.compile("[\ud800-\udfff]")
# Inside a text the byte order mark of a file that was put behind another is nothing.
_BYTE_ORDER_MARK = "\ufeff"
# Zero-width blanks, joiners and marks of direction are parts of words, but no text.
_INVISIBLE = re.compile("[ \u200b-\u200f\u202a-\u202e\u2060-\u2069]*")


def text_files(paths: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """The text files that ``paths`` name; a folder stands for its files, sorted.

    Hidden files and folders in a folder are left out.

    Raises:
        UserError: a path does not exist or is an archive of several files, or a folder
            holds no text file.
    """
    files: list[Path] = []
    for path in map(Path, paths):
        if path.is_dir():
            found = [p for p in _files_in(path) if _unpacked_suffix(p) in TEXT_SUFFIXES]
            if not found:
                raise UserError(
                    f"{path}: no text file in this folder"
                    f" (looked for {' '.join(TEXT_SUFFIXES)}, packed or not)"
                )
            files += sorted(found)
        elif not path.exists():
            raise UserError(f"{path}: no such file: put the raw text there")
        elif _unpacked_suffix(path) in ARCHIVE_SUFFIXES:
            raise UserError(f"{path}: an archive: unpack it and name the folder")
        else:
            files.append(path)
    return files


def _files_in(folder: Path) -> Iterator[Path]:
    """The files in a folder and its folders; one that several links name, once."""

    def refuse(error: OSError) -> None:
        raise error

    seen = set()
    for place, folders, names in os.walk(folder, onerror=refuse, followlinks=True):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        real = os.path.realpath(place)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        yield from (Path(place, name) for name in names if not name.startswith("."))


def _unpacked_suffix(path: Path) -> str:
    """What the name ends in, without the suffix of a packed file."""
    return (path.with_suffix("") if path.suffix in PACKED_SUFFIXES else path).suffix


def read_documents(path: Path, text_field: str = "text") -> Iterator[str]:
    """Yield the lines of a text or JSON-lines file, cleaned; "" ends a document.

    Very long lines of a text file come in pieces (``files.read_running_text``). A JSON
    line is a document: the text of its field is split at line ends, its empty lines
    are left out, and an empty string follows it.

    Raises:
        UserError: not UTF-8, not JSON, or no such field, with the line.
    """
    if _unpacked_suffix(path) not in JSON_SUFFIXES:
        yield from map(clean, read_running_text(path))
        return
    for text in _json_texts(path, text_field):
        yield from filter(None, map(clean, text.replace("\r", "\n").split("\n")))
        yield ""


def read_aligned(path: Path, text_field: str = "text") -> Iterator[str]:
    """Yield each line of a text or JSON-lines file, cleaned, as one line.

    Only LF and CRLF end lines, as all who count the lines of parallel text agree; what
    else breaks lines, also in the text of a JSON line, is a blank.

    Raises:
        UserError: as ``read_documents``.
    """
    if _unpacked_suffix(path) in JSON_SUFFIXES:
        return map(clean, _json_texts(path, text_field))
    return map(clean, read_lines(path))


def _json_texts(path: Path, field: str) -> Iterator[str]:
    """The texts of a file of JSON lines; an empty line has an empty text."""
    for number, line in enumerate(read_lines(path), 1):
        where = f"{path}, line {number}"
        try:
            record = json.loads(line) if line.strip() else {field: ""}
        except (ValueError, RecursionError) as error:
            raise UserError(
                f"{where}: not JSON: {error}; each line holds one object"
            ) from None
        if not isinstance(record, dict):
            raise UserError(f"{where}: not a JSON object, which each line must hold")
        if field not in record:
            raise UserError(
                f"{where}: no field {field!r}: set text_field to the field that holds"
                " the text"
            )
        if not isinstance(record[field], str):
            raise UserError(f"{where}: field {field!r} is not text")
        yield _SURROGATES.sub("\ufffd", record[field])


def clean(line: str) -> str:
    """One line of text without control characters, outer and repeated blanks.

    A line of invisible characters alone becomes "".
    """
    if line.isprintable():  # as most lines are
        return " ".join(line.split())
    line = _BLANKS.sub(" ", line.replace(_BYTE_ORDER_MARK, ""))
    line = " ".join(line.split())
    return "" if _INVISIBLE.fullmatch(line) else line


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
