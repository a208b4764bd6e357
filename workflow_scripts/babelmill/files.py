"""Reading text with clear errors and writing files that are whole or absent."""

import bz2
import contextlib
import gzip
import hashlib
import io
import json
import lzma
import os
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from babelmill.errors import UserError

_BLOCK = 1 << 20


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


def open_bytes(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file for reading, unpacking ``.gz``, ``.bz2``, ``.xz`` and ``.zst``."""
    suffix = Path(path).suffix
    if suffix == ".gz":
        return gzip.open(path, "rb")
    if suffix == ".bz2":
        return bz2.open(path, "rb")
    if suffix == ".xz":
        return lzma.open(path, "rb")
    if suffix == ".zst":
        return io.BufferedReader(_ZstandardReader(path), _BLOCK)
    return open(path, "rb", buffering=_BLOCK)


class _ZstandardReader(io.RawIOBase):
    """Bytes of a .zst file; unlike the library's reader, it notices a torn one."""

    def __init__(self, path: str | os.PathLike[str]):
        import zstandard

        self._packed = open(path, "rb")  # noqa: SIM115
        self._new_frame = zstandard.ZstdDecompressor().decompressobj
        self._error = zstandard.ZstdError
        self._frame = self._new_frame()
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        while not self._ready:
            if self._frame.eof and self._frame.unused_data:
                block = self._frame.unused_data
            elif not (block := self._packed.read(_BLOCK)):
                if not self._frame.eof:
                    raise EOFError("the file ends in the middle of a frame")
                return 0
            if self._frame.eof:
                self._frame = self._new_frame()
            try:
                self._ready = self._frame.decompress(block)
            except self._error as error:
                raise EOFError(str(error)) from error
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def close(self) -> None:
        self._packed.close()
        super().close()


def read_lines(path: str | os.PathLike[str]) -> Iterator[str]:
    """Yield the lines of a UTF-8 text file without their line ends.

    Lines end with LF or CRLF; a byte order mark at the start is dropped. Only one
    line is in memory at a time.

    Raises:
        UserError: bytes that are not UTF-8 (with line and byte offset), or a packed
            file that cannot be unpacked.
    """
    offset = 0
    try:
        with open_bytes(path) as source:
            for number, raw in enumerate(source, 1):
                if number == 1 and raw.startswith(b"\xef\xbb\xbf"):
                    offset, raw = 3, raw[3:]
                try:
                    line = raw.decode("utf-8")
                except UnicodeDecodeError as error:
                    at, byte = offset + error.start, raw[error.start]
                    raise UserError(
                        f"{path}, line {number}: not UTF-8 at byte {at}"
                        f" (0x{byte:02x}): convert the file to UTF-8"
                    ) from None
                offset += len(raw)
                yield line.removesuffix("\n").removesuffix("\r")
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
        raise UserError(f"{path}: cannot be unpacked: {error}") from error
    except OSError as error:
        if error.filename is not None:
            raise
        raise UserError(f"{path}: cannot be unpacked: {error}") from error


def sha256(path: str | os.PathLike[str]) -> str:
    """The SHA-256 of a file's bytes, in hex."""
    with open(path, "rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def fingerprint(value: Any) -> str:
    """The SHA-256 of a JSON value in canonical form, in hex."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
