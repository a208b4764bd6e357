"""Raw text of any shape becomes one sentence a line, blank line between documents."""

import bz2
import gzip
import lzma
import subprocess
import sys

import pytest
import zstandard

from babelmill.corpora import clean, documents_of, read_sentences, text_files
from babelmill.errors import UserError
from babelmill.files import read_lines
from conftest import ROOT

SCRIPT = ROOT / "workflow_scripts" / "prepare_corpus.py"


def prepare(*arguments):
    return subprocess.run(
        [sys.executable, SCRIPT, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


PACKED = [
    (".gz", gzip.compress),
    (".bz2", bz2.compress),
    (".xz", lzma.compress),
    (".zst", zstandard.compress),
]


@pytest.mark.parametrize("suffix, pack", [("", bytes), *PACKED])
def test_packed_files_read_as_plain_ones(tmp_path, suffix, pack):
    path = tmp_path / f"text.txt{suffix}"
    path.write_bytes(pack("\ufeffeins\r\nzwei\n\ndrei".encode()))
    assert list(read_sentences(path)) == ["eins", "zwei", "", "drei"]


@pytest.mark.parametrize("suffix, pack", PACKED)
def test_torn_archive_is_an_error_of_its_own(tmp_path, suffix, pack):
    path = tmp_path / f"text.txt{suffix}"
    lines = "".join(f"line {i * i}\n" for i in range(50_000)).encode()
    packed = pack(lines)
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(UserError, match=r"text\.txt\.\w+: cannot be unpacked"):
        list(read_sentences(path))


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_a_file_that_is_not_packed_is_an_error_for_people(tmp_path, suffix):
    path = tmp_path / f"text.txt{suffix}"
    path.write_bytes(b"plain text\n" * 100)
    with pytest.raises(UserError, match="cannot be unpacked"):
        list(read_sentences(path))


def test_frames_of_zstandard_follow_each_other(tmp_path):
    path = tmp_path / "text.txt.zst"
    path.write_bytes(zstandard.compress(b"one\ntw") + zstandard.compress(b"o\nthree"))
    assert list(read_sentences(path)) == ["one", "two", "three"]


def test_bytes_that_are_not_utf8_are_named_by_line_and_offset(tmp_path):
    path = tmp_path / "latin1.txt"
    path.write_bytes(b"gut\n" + "schön\n".encode("latin-1"))
    # "gut\n" are 4 bytes, "sch" 3 more.
    with pytest.raises(UserError, match=r"line 2: not UTF-8 at byte 7 \(0xf6\)"):
        list(read_lines(path))


@pytest.mark.parametrize(
    "raw, cleaned",
    [
        ("a\x00b\x1fc", "a b c"),
        ("  two \t words \x85", "two words"),
        ("lone \ud800 surrogate", "lone \ufffd surrogate"),
        ("line\u2028separator", "line separator"),
    ],
)
def test_control_characters_become_blanks(raw, cleaned):
    assert clean(raw) == cleaned


def test_documents_are_parted_by_one_blank_line():
    lines = ["", "", "a", "b", "", "", "c", ""]
    assert list(documents_of(lines)) == ["a", "b", "", "c"]


def test_lines_per_document_cuts_running_text():
    assert list(documents_of("abcde", 2)) == ["a", "b", "", "c", "d", "", "e"]


def test_folder_is_read_in_sorted_order(tmp_path):
    for name in ("b.txt", "a.txt.gz", "c.md", "sub/a.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    names = [str(p.relative_to(tmp_path)) for p in text_files([tmp_path])]
    assert names == ["a.txt.gz", "b.txt", "sub/a.jsonl"]


def test_json_line_is_a_document(tmp_path):
    path = tmp_path / "web.jsonl"
    path.write_text('{"content": "one\\ntwo"}\n\n{"content": "three \\ud83d"}\n')
    expected = ["one", "two", "", "three \ufffd", ""]
    assert list(read_sentences(path, "content")) == expected


@pytest.mark.parametrize(
    "line, message",
    [
        ("{", "line 1: not JSON"),
        ('{"body": "x"}', "line 1: no field 'text'"),
        ("[]", "line 1: no field 'text'"),
        ('{"text": 3}', "line 1: field 'text' is not text"),
    ],
)
def test_bad_json_line_is_named(tmp_path, line, message):
    path = tmp_path / "web.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(UserError, match=message):
        list(read_sentences(path))


def prepare_aligned(folder, english, swahili):
    """Prepare one side of parallel text; what was done, and the output's path."""
    (folder / "en.txt").write_text(english)
    (folder / "sw.txt").write_text(swahili)
    sides = ("--input", folder / "sw.txt", "--aligned_with", folder / "en.txt")
    return prepare(*sides, "--output", folder / "out.txt"), folder / "out.txt"


def test_script_keeps_aligned_lines_and_blank_ones(tmp_path):
    done, out = prepare_aligned(tmp_path, "one\n\nthree\n", "moja\nmbili\n\n")
    assert done.returncode == 0, done.stderr
    assert out.read_text() == "moja\nmbili\n\n"


def test_script_names_both_line_counts(tmp_path):
    done, out = prepare_aligned(tmp_path, "one\ntwo\n", "moja\n")
    assert done.returncode == 2
    assert "sw.txt has 1 lines" in done.stderr and "en.txt has 2" in done.stderr
    assert "Traceback" not in done.stderr
    assert not out.exists()


@pytest.mark.parametrize("content", ["", "\n\n \n"])
def test_script_refuses_a_file_without_text(tmp_path, content):
    (tmp_path / "xx.txt").write_text(content)
    out = tmp_path / "out.txt"
    done = prepare("--input", tmp_path / "xx.txt", "--output", out)
    assert done.returncode == 2
    assert "xx.txt: no text in it" in done.stderr
    assert list(tmp_path.glob("*out*")) == []
