"""Files that are packed one by one: .gz, .bz2, .xz and .zst."""

import bz2
import gzip
import io
import lzma
import os
from pathlib import Path
from typing import BinaryIO

PACKED_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")

_BLOCK = 1 << 20
_PACKED_BLOCK = 1 << 10
_LONGEST_WINDOW = 1 << 31


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
    """Bytes of a .zst file; unlike the library's reader, it notices a torn one.

    Little is unpacked at a time, as a byte may stand for 32 KiB. Windows of up to 2 GiB
    (``zstd --long=31``) are allowed.
    """

    def __init__(self, path: str | os.PathLike[str]):
        import zstandard

        self._packed = open(path, "rb")  # noqa: SIM115
        unpacker = zstandard.ZstdDecompressor(max_window_size=_LONGEST_WINDOW)
        self._new_frame = unpacker.decompressobj
        self._error = zstandard.ZstdError
        self._frame = self._new_frame()
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        while not self._ready:
            if self._frame.eof and self._frame.unused_data:
                block = self._frame.unused_data
            elif not (block := self._packed.read(_PACKED_BLOCK)):
                if not self._frame.eof:
                    raise EOFError("the file ends in the middle of a frame")
                return 0
            if self._frame.eof:
                self._frame = self._new_frame()
            try:
                self._ready = memoryview(self._frame.decompress(block))
            except self._error as error:
                raise EOFError(str(error)) from error
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def close(self) -> None:
        self._packed.close()
        super().close()
