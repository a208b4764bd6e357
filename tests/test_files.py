"""Text of any shape is read line by line, in memory that does not grow with it."""

import bz2
import gzip
import io
import lzma
import random
import re
import tracemalloc

import pytest
import zstandard

from babelmill import files
from babelmill.errors import UserError
from babelmill.files import read_lines, read_running_text

PACKED = [
    (".gz", gzip.compress),
    (".bz2", bz2.compress),
    (".xz", lzma.compress),
    (".zst", zstandard.compress),
]
READERS = [read_lines, read_running_text]


@pytest.fixture
def text(tmp_path):
    """A function that writes bytes to a file and reads its lines."""

    def lines_of(content, read=read_running_text, name="text.txt"):
        path = tmp_path / name
        path.write_bytes(content)
        return list(read(path))

    return lines_of


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    "content, lines",
    [
        (b"", []),
        (b"a", ["a"]),
        (b"a\n", ["a"]),
        (b"a\r\n\r\nb", ["a", "", "b"]),
        (b"\n\n", ["", ""]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", ["a", "\ufeffb"]),
        (
            "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg".encode(),
            ["a\u2028b\u2029c\x85d\x0be\x0cf\x1cg"],
        ),
        (b"a\x00b\n \t\n", ["a\x00b", " \t"]),
    ],
)
def test_lines(text, read, content, lines):
    assert text(content, read) == lines


def test_carriage_returns_end_lines_of_running_text_alone(text):
    content = b"a\rb\r\rc\r\nd\r\r\ne\r"
    assert text(content) == ["a", "b", "", "c", "d", "e"]
    assert text(content, read_lines) == ["a\rb\r\rc", "d\r", "e"]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("suffix, pack", PACKED)
def test_packed_files_read_as_plain_ones(text, read, suffix, pack):
    content = "\ufeffeins\r\nzwei\n\ndrei".encode()
    assert text(pack(content), read, f"x.txt{suffix}") == ["eins", "zwei", "", "drei"]


@pytest.mark.parametrize("suffix, pack", PACKED)
def test_parts_of_a_packed_file_follow_each_other(text, suffix, pack):
    packed = pack(b"one\ntw") + pack(b"") + pack(b"o\nthree")
    assert text(packed, name=f"x.txt{suffix}") == ["one", "two", "three"]


def test_frames_of_zstandard_without_text_and_with_long_windows(text):
    skipped = b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"abcd"
    long = zstandard.ZstdCompressionParameters(window_log=28, compression_level=1)
    frame = zstandard.ZstdCompressor(compression_params=long).compressobj()
    packed = frame.compress(b"a\n") + frame.flush()
    assert zstandard.get_frame_parameters(packed).window_size == 1 << 28
    assert text(skipped + packed + skipped, name="x.zst") == ["a"]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("suffix, pack", PACKED)
def test_torn_archive_is_an_error_of_its_own(text, read, suffix, pack):
    packed = pack("".join(f"line {i * i}\n" for i in range(20_000)).encode())
    for size in (len(packed) // 2, len(packed) - 1):
        with pytest.raises(UserError, match=r"x\.\w+: cannot be unpacked"):
            text(packed[:size], read, f"x{suffix}")


@pytest.mark.parametrize("suffix, pack", PACKED)
def test_a_file_that_is_not_packed_is_an_error_for_people(text, suffix, pack):
    with pytest.raises(UserError, match="cannot be unpacked"):
        text(b"plain text\n" * 100, name=f"x{suffix}")


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    "content, place",
    [
        # "gut\n" are 4 bytes, "sch" 3 more.
        ("gut\nschön\n".encode("latin-1"), r"line 2: .* byte 7 \(0xf6\)"),
        ("\ufeffgut\r\nschön".encode() + b"\xc3", r"line 2: .* byte 14 \(0xc3\)"),
        ("text".encode("utf-16"), r"line 1: .* byte 0 \(0xff\)"),
        # A lone surrogate, a character in two bytes too many, a half character.
        (b"\n\n\xed\xa0\x80\n", r"line 3: .* byte 2 \(0xed\)"),
        (b"a\xc0\x80", r"line 1: .* byte 1 \(0xc0\)"),
        (b"a\xf0\x9f\x98\n\n", r"line 1: .* byte 1 \(0xf0\)"),
    ],
)
def test_bytes_that_are_not_utf8_are_named_by_line_and_offset(
    text, read, content, place
):
    with pytest.raises(UserError, match=f"text.txt, {place}: convert the file"):
        text(content, read)


def test_a_long_line_is_cut_at_blanks(text, monkeypatch):
    monkeypatch.setattr(files, "_LONGEST_PIECE", 8)
    assert text(b"one two three four\nend") == ["one two ", "three ", "four", "end"]
    assert text(b"12345678\n") == ["12345678"]
    assert text(b"123456789\n") == ["12345678", "9"]
    # A blank in the first half of a piece alone does not make it that short.
    assert text(b"a bcdefghij") == ["a bcdefg", "hij"]
    # é are two bytes, ไ three, the smile four.
    assert text("aééééé".encode()) == ["aééé", "éé"]
    assert text("abไไไ".encode()) == ["abไไ", "ไ"]
    assert text("abcde😀😀".encode()) == ["abcde", "😀😀"]


def test_pieces_without_text_are_no_empty_lines(text, monkeypatch):
    monkeypatch.setattr(files, "_LONGEST_PIECE", 8)
    assert text(b"a" + b" " * 50 + b"b\n\nc") == ["a       ", "   b", "", "c"]
    assert text(b" " * 50 + b"b\nc") == ["  b", "c"]
    assert text(b"a" + b"\0" * 50 + b"\r\n\r\nc") == ["a" + "\0" * 7, "", "c"]
    assert text(b"12345678\r\nb") == ["12345678", "b"]
    # A long line of blanks is one empty line, wherever its end is.
    for size in range(7, 20):
        blank = text(b"a\n" + b" " * size + b"\r\nb")
        assert [line.strip() for line in blank] == ["a", "", "b"]


def test_offsets_and_lines_are_right_in_long_lines(text, monkeypatch):
    monkeypatch.setattr(files, "_LONGEST_PIECE", 8)
    content = b"\xef\xbb\xbfone two three\n" + "four füve".encode("latin-1")
    with pytest.raises(UserError, match=r"line 2: not UTF-8 at byte 23 \(0xfc\)"):
        text(content)
    with pytest.raises(UserError, match=r"line 1: not UTF-8 at byte 7 \(0x80\)"):
        text(b"1234567" + b"\x80" * 50)


def test_lines_and_pieces_by_definition(text, monkeypatch):
    """For blocks of any size: the same pieces, none too long, all of the text."""
    rng = random.Random(0)
    monkeypatch.setattr(files, "_LONGEST_PIECE", 8)
    for _ in range(100):
        content = "".join(rng.choices("ab  éไ😀\r\n\n", k=rng.randrange(60)))
        made = []
        for block in (2, 3, 7, 64):
            monkeypatch.setattr(files, "_BLOCK", block)
            made.append(text(content.encode()))
        pieces = made[0]
        assert all(each == pieces for each in made)
        assert all(len(piece.encode()) <= 8 for piece in pieces)
        assert "".join("".join(pieces).split()) == "".join(content.split())
        *lines, last = re.split("\r\r\n|\r\n|\n|\r", content)
        lines += [last] if last.strip() else []
        blank = [line.strip() for line in lines].count("")
        assert [piece.strip() for piece in pieces].count("") == blank
        if all(len(line.encode()) <= 8 for line in lines):
            assert pieces == lines


class Endless(io.RawIOBase):
    """The same byte over and over, ``size`` times."""

    def __init__(self, byte, size):
        self.byte, self.left = byte, size

    def readable(self):
        return True

    def readinto(self, buffer):
        size = min(self.left, len(buffer))
        buffer[:size] = self.byte * size
        self.left -= size
        return size


def peak_of(lines):
    """Peak memory of reading all lines, in MiB, and their length."""
    tracemalloc.start()
    length = sum(map(len, lines))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 2**20, length


@pytest.mark.parametrize(
    "byte, size", [(b"x", 1 << 25), (b" ", 1 << 25), (b"\0", 1 << 25), (b"\r", 1 << 17)]
)
def test_memory_is_flat_for_any_file(monkeypatch, byte, size):
    def open_bytes(path):
        return io.BufferedReader(Endless(byte, size))

    monkeypatch.setattr(files, "open_bytes", open_bytes)
    monkeypatch.setattr(files, "_BLOCK", 1 << 15)
    peak, length = peak_of(read_running_text("x"))
    assert peak < 8
    assert length == (size if byte == b"x" else 0)


def test_memory_is_flat_for_a_line_too_long(monkeypatch):
    endless = Endless(b"x", 1 << 40)
    monkeypatch.setattr(files, "_LONGEST_LINE", 4 << 20)
    monkeypatch.setattr(files, "open_bytes", lambda path: io.BufferedReader(endless))
    tracemalloc.start()
    with pytest.raises(UserError, match="x, line 1: longer than 4 MiB: break it"):
        list(read_lines("x"))
    assert tracemalloc.get_traced_memory()[1] < 20 << 20
    tracemalloc.stop()


def test_memory_is_flat_for_text_that_packs_well(tmp_path):
    line = b"the same text " * 1000 + b"\n"
    path = tmp_path / "x.zst"
    path.write_bytes(zstandard.compress(line * (1 << 13)))
    assert path.stat().st_size < len(line)
    peak, length = peak_of(read_running_text(path))
    assert length == (len(line) - 1) << 13  # 109 MiB
    assert peak < 40
