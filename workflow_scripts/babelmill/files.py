"""Reading text with clear errors and writing files that are whole or absent."""

import contextlib
import hashlib
import json
import lzma
import os
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from babelmill.errors import UserError
from babelmill.packed import open_bytes

_BLOCK = 1 << 20
_LONGEST_LINE = 1 << 24
_LONGEST_PIECE = 1 << 20
# Blanks and controls, as the NULs where a disk lost a block.
_NO_TEXT = "".join(map(chr, (*range(0x21), *range(0x7F, 0xA1))))


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a name beside ``path`` to write to; rename it to ``path`` on success.

    The name carries the process id, so two runs at the same time do not write into
    each other's file. A failed block leaves nothing behind.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


@contextlib.contextmanager
def whole_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """As ``whole_file``, for a folder; an older folder of that name is replaced."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    try:
        yield partial
        shutil.rmtree(path, ignore_errors=True)
        os.replace(partial, path)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write ``text`` as UTF-8, whole or not at all."""
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="")


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Write ``value`` as indented JSON with sorted keys."""
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)
    write_text(path, text + "\n")


def read_json(path: str | os.PathLike[str]) -> Any:
    """Read one JSON value.

    Raises:
        UserError: the file is not JSON, with the line.
    """
    try:
        return json.loads(Path(path).read_bytes())
    except ValueError as error:
        raise UserError(f"{path}: not JSON: {error}") from error


def read_lines(path: str | os.PathLike[str]) -> Iterator[str]:
    """Yield the lines of a UTF-8 text file without their line ends.

    Lines end with LF or CRLF; a byte order mark at the start is dropped. Only one
    line is in memory at a time.

    Raises:
        UserError: bytes that are not UTF-8 (with line and byte offset), a line of more
            than 16 MiB, or a packed file that cannot be unpacked.
    """
    for line in _decoded(path, _lines):
        yield line.removesuffix("\n").removesuffix("\r")


def read_running_text(path: str | os.PathLike[str]) -> Iterator[str]:
    """Yield the lines of a UTF-8 text file of any shape without their line ends.

    As ``read_lines``, but a CR alone and a CR CR LF end a line too, and a line of more
    than 1 MiB comes in pieces of at most so much. They are cut after the last blank, or
    between any two characters where the second half of a piece has none; pieces without
    text are left out. What is empty or blank here is a whole line that is.
    """
    before, goes_on = "", False
    for piece in _decoded(path, _pieces):
        line = piece.rstrip("\r\n")
        ended, has_text = line != piece, bool(line.strip(_NO_TEXT))
        if has_text or (ended and not goes_on and before + piece != "\r\r\n"):
            yield line
        goes_on = (goes_on or has_text) and not ended
        before = piece[-1:]


def _decoded(
    path: str | os.PathLike[str], split: Callable[[BinaryIO], Iterable[bytes]]
) -> Iterator[str]:
    """Decode the pieces that ``split`` cuts a file into; line ends stay."""
    offset = number = 0
    ended = True
    try:
        with open_bytes(path) as source:
            for raw in split(source):
                number += ended
                if len(raw) > _LONGEST_LINE:
                    raise UserError(
                        f"{path}, line {number}: longer than {_LONGEST_LINE >> 20} MiB:"
                        " break it into lines"
                    )
                try:
                    piece = raw.decode("utf-8")
                except UnicodeDecodeError as error:
                    at, byte = offset + error.start, raw[error.start]
                    raise UserError(
                        f"{path}, line {number}: not UTF-8 at byte {at}"
                        f" (0x{byte:02x}): convert the file to UTF-8"
                    ) from None
                yield piece if offset else piece.removeprefix("\ufeff")
                offset += len(raw)
                ended = raw.endswith((b"\n", b"\r"))
    except (EOFError, lzma.LZMAError, zlib.error) as error:
        raise UserError(f"{path}: cannot be unpacked: {error}") from error
    except OSError as error:
        if error.filename is not None:
            raise
        raise UserError(f"{path}: cannot be unpacked: {error}") from error


def _lines(source: BinaryIO) -> Iterator[bytes]:
    """Lines with their ends (LF); what is longer than the longest allowed is cut."""
    return iter(lambda: source.readline(_LONGEST_LINE + 1), b"")


def _pieces(source: BinaryIO) -> Iterator[bytes]:
    """Lines with their ends (LF, CRLF, CR), long ones in pieces."""
    rest = b""
    while block := source.read(_BLOCK):
        # The last line may go on in the next block; its CR may be half of a CRLF.
        *lines, rest = (rest + block).splitlines(keepends=True)
        for line in lines:
            if len(line) > _LONGEST_PIECE:
                yield from _cut(line)
            else:
                yield line
        *pieces, rest = _cut(rest)
        yield from pieces
    if rest:
        yield rest


def _cut(line: bytes) -> Iterator[bytes]:
    """Pieces of a line; where they end does not depend on what follows them."""
    start, length = 0, len(line.rstrip(b"\r\n"))
    while length - start > _LONGEST_PIECE:
        end = start + _LONGEST_PIECE
        after_blank = line.rfind(b" ", start + _LONGEST_PIECE // 2, end) + 1
        cut = after_blank or _start_of_character(line, end)
        yield line[start:cut]
        start = cut
    yield line[start:]


def _start_of_character(line: bytes, position: int) -> int:
    """The last place up to ``position`` where a character of UTF-8 starts."""
    for start in range(position, position - 4, -1):
        if line[start] >> 6 != 0b10:
            return start
    return position  # Not UTF-8: decoding will say so.


def sha256(path: str | os.PathLike[str]) -> str:
    """The SHA-256 of a file's bytes, in hex."""
    with open(path, "rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def fingerprint(value: Any) -> str:
    """The SHA-256 of a JSON value in canonical form, in hex."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
