"""Raw text of any shape becomes one sentence a line, blank line between documents."""

import bz2
import gzip
import json
import lzma
import subprocess
import sys

import pytest
import zstandard

from babelmill.config import check
from babelmill.corpora import (
    clean,
    documents_of,
    read_aligned,
    read_documents,
    text_files,
)
from babelmill.errors import UserError
from babelmill.plan import Plan
from conftest import ROOT, load_config

SCRIPT = ROOT / "workflow_scripts" / "prepare_corpus.py"


def prepare(*arguments):
    return subprocess.run(
        [sys.executable, SCRIPT, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "raw, cleaned",
    [
        ("a\x00b\x1fc", "a b c"),
        ("  two \t words \x85", "two words"),
        ("a\u00a0b\u3000c", "a b c"),
        ("line\u2028separator", "line separator"),
        ("\ufeffmark\ufeffs", "marks"),
        # Urdu and Hindi words need their joiners, Thai may have blanks of no width.
        ("کتاب\u200cخانہ", "کتاب\u200cخانہ"),
        ("क्\u200dष", "क्\u200dष"),
        ("ไป\u200bบ้าน", "ไป\u200bบ้าน"),
        # Nothing to see, nothing to read.
        ("\x00\x01 \x7f\x9f", ""),
        (" \u200b \u200f\u2060\ufeff", ""),
    ],
)
def test_what_is_no_text_becomes_blanks(raw, cleaned):
    assert clean(raw) == cleaned


def test_documents_are_parted_by_one_blank_line():
    lines = ["", "", "a", "b", "", "", "c", ""]
    assert list(documents_of(lines)) == ["a", "b", "", "c"]


def test_lines_per_document_cuts_running_text():
    assert list(documents_of("abcde", 2)) == ["a", "b", "", "c", "d", "", "e"]


def names_in(folder):
    return [str(path.relative_to(folder)) for path in text_files([folder])]


def test_folder_is_read_in_sorted_order(tmp_path):
    names = ("b.txt", "a.txt.gz", "c.md", "sub/a.jsonl", "sub/b/c.ndjson.zst", "B.txt")
    hidden = (".a.txt", "._b.txt", ".old/c.txt", "sub/.checkpoints/a.txt")
    for name in names + hidden:
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).touch()
    read = ["B.txt", "a.txt.gz", "b.txt", "sub/a.jsonl", "sub/b/c.ndjson.zst"]
    assert names_in(tmp_path) == read


def test_links_to_folders_are_followed_once(tmp_path):
    (tmp_path / "far" / "sub").mkdir(parents=True)
    (tmp_path / "far" / "sub" / "x.txt").touch()
    (tmp_path / "far" / "sub" / "loop").symlink_to(tmp_path / "far")
    near = tmp_path / "near"
    near.mkdir()
    for name in ("a", "b"):
        (near / name).symlink_to(tmp_path / "far")
    assert names_in(near) == ["a/sub/x.txt"]


def test_what_cannot_be_read_is_named(tmp_path):
    for name, message in (
        ("no.txt", "no such file: put the raw text there"),
        ("a.tar.gz", "an archive: unpack it and name the folder"),
        ("folder", r"no text file in this folder \(looked for .txt .jsonl"),
    ):
        path = tmp_path / name
        if name == "folder":
            path.mkdir()
        elif name != "no.txt":
            path.touch()
        with pytest.raises(UserError, match=f"{name}: {message}"):
            text_files([path])


def test_json_line_is_a_document(tmp_path):
    path = tmp_path / "web.jsonl"
    path.write_text(
        '\ufeff{"content": "one\\ntwo\\r\\n\\r\\n \\nthree\\u2028\\rfour"}\r\n\n'
        '{"content": "five \\ud83d", "n": 1}\n{"content": "\\ud83d\\ude00\\u0000."}',
        newline="",
    )
    documents = [["one", "two", "three", "four"], [], ["five \ufffd"], ["😀 ."]]
    expected = [line for document in documents for line in (*document, "")]
    assert list(read_documents(path, "content")) == expected


def test_a_long_json_line_is_kept(tmp_path):
    path = tmp_path / "web.jsonl"
    path.write_text(json.dumps({"text": "word " * (1 << 19)}))
    assert list(read_documents(path)) == [("word " * (1 << 19)).strip(), ""]


@pytest.mark.parametrize(
    "line, message",
    [
        ("{", "line 1: not JSON: .*; each line holds one object"),
        ('{"text": "\xff', "line 1: not JSON"),
        ('{"text": "a"} {"text": "b"}', "line 1: not JSON: Extra data"),
        ("[" * 100_000, "line 1: not JSON: .*recursion"),
        ('{"body": "x"}', "line 1: no field 'text': set text_field"),
        ("[]", "line 1: not a JSON object"),
        ('{"text": null}', "line 1: field 'text' is not text"),
    ],
)
@pytest.mark.parametrize("read", [read_documents, read_aligned])
def test_bad_json_line_is_named(tmp_path, read, line, message):
    path = tmp_path / "web.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(UserError, match=message):
        list(read(path))


def test_only_line_feeds_end_aligned_lines(tmp_path):
    path = tmp_path / "en.txt"
    path.write_bytes("one\r\ntw\ro\u2028\x85x\n\0\nlast".encode())
    assert list(read_aligned(path)) == ["one", "tw o x", "", "last"]


def test_an_aligned_json_line_is_a_line(tmp_path):
    path = tmp_path / "en.jsonl"
    path.write_text('{"text": "one\\n\\ntwo"}\n{"text": ""}\n\n{"text": "x"}')
    assert list(read_aligned(path)) == ["one two", "", "", "x"]


def prepared(folder, files, *flags, lang="en"):
    """What the script makes of files of a folder."""
    raw = folder / "raw"
    for name, content in files.items():
        (raw / name).parent.mkdir(parents=True, exist_ok=True)
        (raw / name).write_bytes(content)
    out = folder / f"{lang}.txt"
    done = prepare("--input", raw, "--output", out, *flags)
    assert done.returncode == 0, done.stderr
    return out.read_text("utf-8"), done.stderr


def test_script_reads_all_shapes_of_a_folder(tmp_path):
    files = {
        "a.txt": b"\xef\xbb\xbfone\r\n\ttwo\0\r\n \t\r\n\xef\xbb\xbfthree",
        "b.txt.gz": gzip.compress(b"four\n") + gzip.compress(b"\n" * 5000 + b"five"),
        "c.txt.bz2": bz2.compress(b"\n\nsix\rseven\r\reight\r"),
        "d.txt.xz": lzma.compress(b"\x1f\n\x1f"),
        "e/f.jsonl.zst": zstandard.compress(b'{"text": "nine\\n\\nten"}\n' * 2),
        "g.txt": b"",
    }
    text, _ = prepared(tmp_path, files)
    documents = [
        ["one", "two"],
        ["three"],
        ["four"],
        ["five"],
        ["six", "seven"],
        ["eight"],
        ["nine", "ten"],
        ["nine", "ten"],
    ]
    assert text == "\n\n".join(map("\n".join, documents)) + "\n"


def test_script_splits_sentences(tmp_path):
    files = {"a.txt": b"Mr. X went. He came.\nShe, too.\n\nWhy? No."}
    text, log = prepared(tmp_path, files, "--split_sentences", "en")
    assert text == "Mr. X went.\nHe came.\nShe, too.\n\nWhy?\nNo.\n"
    assert "sentences of en: Unicode's rules and Moses' abbreviations of en" in log
    text, _ = prepared(
        tmp_path, files, "--split_sentences", "en", "--lines_per_document", "2"
    )
    assert text == "Mr. X went.\nHe came.\n\nShe, too.\n\nWhy?\nNo.\n"


def test_script_says_where_it_splits_no_sentences(tmp_path):
    text, log = prepared(
        tmp_path, {"a.txt": "ไป. มา.\n".encode()}, "--split_sentences", "th"
    )
    assert text == "ไป. มา.\n"
    assert "sentences of th: no rules for Thai, its lines stay whole" in log


def test_script_splits_no_aligned_text(tmp_path):
    flags = ("--aligned_with", "x.txt", "--split_sentences", "en")
    done = prepare("--input", "y.txt", "--output", tmp_path / "out.txt", *flags)
    assert done.returncode == 2
    assert "not allowed with argument" in done.stderr


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


def test_config_splits_sentences_language_by_language():
    config = load_config()
    config["corpora"]["demo-monolingual"]["split_sentences"] = True
    check(config)
    flags = Plan(config).corpus_flags("demo-monolingual", "sw")
    assert flags[flags.index("--split_sentences") + 1] == "sw"
    config["corpora"]["demo-parallel"]["split_sentences"] = True
    with pytest.raises(UserError, match=r"demo-parallel: split_sentences would break"):
        check(config)
