"""Folders: what is written, what is refused, and that others can read it."""

import json
import re
import subprocess
import sys

import pytest

from babelmill.errors import UserError
from babelmill.tokenizers import load_tokenizer
from babelmill.tokenizers.fastbpe_files import (
    read_codes,
    read_vocabulary,
    write_vocabulary,
)
from conftest import ROOT
from test_tokenizers_xlm import write_tiny

CODES = "l o 9\nlo w</w> 7\ne r</w> 4\n"
VOCAB = "low 7\ner 4\nlo@@ 2\n\u00a0 2\n\u00a0@@ 1\nl@@ 1\nr 0\n"


def run(script, *arguments):
    """Run a script; an empty message means that it went well."""
    command = [sys.executable, str(ROOT / "workflow_scripts" / script)]
    command += map(str, arguments)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 2), done.stderr
    return done.stderr.strip() if done.returncode else ""


@pytest.fixture
def given(tmp_path):
    """Flags that name codes and a vocabulary."""
    (tmp_path / "given.codes").write_text(CODES, "utf-8")
    (tmp_path / "given.vocab").write_text(VOCAB, "utf-8")
    return [
        *(
            "--codes_file",
            tmp_path / "given.codes",
            "--vocab_file",
            tmp_path / "given.vocab",
        ),
        *("--output_dir", tmp_path / "made"),
    ]


def test_given_codes_and_vocabulary(given, tmp_path):
    assert not run("install_tokenizer.py", *given, "--languages", "sw", "en", "de")
    made = tmp_path / "made"
    assert (made / "codes").read_text() == (made / "merges.txt").read_text() == CODES
    vocab = json.loads((made / "vocab.json").read_text())
    # White space is no piece; without it, the marked one is the empty piece, as in the
    # official vocabulary of XLM.
    assert list(vocab)[14:] == ["low</w>", "er</w>", "lo", "", "l", "r</w>"]
    assert list(vocab.values()) == list(range(20))
    tokenizer = load_tokenizer(made)
    assert tokenizer.lang2id == {"de": 0, "en": 1, "sw": 2}
    assert tokenizer.encode_lines(["Low lower"], "en")[0].tolist() == [14, 16, 3, 15]


def test_fewer_ids_than_pieces(given, tmp_path):
    flags = ["--max_vocab", "16", "--mode", "facebook"]
    assert not run("install_tokenizer.py", *given, *flags)
    tokenizer = load_tokenizer(tmp_path / "made")
    assert tokenizer.vocab_size == 16
    # "lo" has no id, but fastBPE's vocabulary knows it: it is not split back.
    assert tokenizer.tokenize("los", "en") == ["lo", "s</w>"]
    assert tokenizer.lang2id["zh"] == 14


def test_a_vocabulary_far_smaller_than_the_codes(given, tmp_path):
    # Of three codes, only one has an id; but there is only one id.
    assert not run("install_tokenizer.py", *given, "--max_vocab", "15")
    assert load_tokenizer(tmp_path / "made").vocab_size == 15


def test_the_official_vocabulary(test_data, tmp_path):
    data = test_data("data", "xlm_xnli15_bpe")
    files = [
        "--codes_file",
        data / "codes_xnli_15",
        "--vocab_file",
        data / "vocab_xnli_15",
    ]
    made = tmp_path / "made"
    flags = ["--max_vocab", "95000", "--output_dir", made]
    assert not run("install_tokenizer.py", *files, *flags)
    official = json.loads((data / "hf_format/vocab.json").read_bytes())
    assert json.loads((made / "vocab.json").read_bytes()) == official
    merges = (data / "hf_format/merges.txt").read_bytes()
    assert (made / "merges.txt").read_bytes() == merges


def test_a_given_folder(given, tmp_path):
    assert not run("install_tokenizer.py", *given, "--mode", "facebook")
    flags = ["--folder", tmp_path / "made", "--output_dir", tmp_path / "copy"]
    assert not run("install_tokenizer.py", *flags)
    first, copy = load_tokenizer(tmp_path / "made"), load_tokenizer(tmp_path / "copy")
    assert copy.mode == "facebook"
    assert copy.fingerprint == first.fingerprint
    assert not run("install_tokenizer.py", *flags, "--mode", "huggingface")
    assert load_tokenizer(tmp_path / "copy").mode == "huggingface"


def test_a_folder_of_hugging_face(tmp_path):
    foreign = write_tiny(tmp_path / "foreign", ["l o", "lo w</w>"], ["lo", "low</w>"])
    (foreign / "tokenizer_config.json").unlink()
    flags = ["--folder", foreign, "--output_dir", tmp_path / "made"]
    assert not run("install_tokenizer.py", *flags)
    made = tmp_path / "made"
    assert read_vocabulary(made / "vocab") == {"lo": 1, "low</w>": 1}
    assert [code.merge for code in read_codes(made / "codes")] == [
        *(("l", "o"), ("lo", "w</w>"))
    ]
    config = json.loads((made / "tokenizer_config.json").read_text())
    assert (config["type"], config["mode"]) == ("xlm", "huggingface")
    assert config["versions"]["sacremoses"] == "0.2.0"


def test_given_wordpieces(tmp_path):
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "Ab", "##c"]
    (tmp_path / "v").write_text("\n".join(pieces) + "\n")
    made = tmp_path / "made"
    flags = ["--type", "bert", "--vocab_file", tmp_path / "v", "--output_dir", made]
    assert not run("install_tokenizer.py", *flags)
    config = json.loads((made / "tokenizer_config.json").read_text())
    assert config["do_lower_case"] is False
    assert load_tokenizer(made).tokenize("Abc", "en") == ["Ab", "##c"]
    assert not run("install_tokenizer.py", *flags, "--do_lower_case")
    assert load_tokenizer(made).tokenize("Abc", "en") == ["[UNK]"]


def test_a_published_model_by_its_name(tmp_path, monkeypatch):
    """Taken from the hub's local cache, as its library lays it out."""
    cache = tmp_path / "hub" / "models--team--tiny-bert"
    snapshot = cache / "snapshots" / "0123456789abcdef0123456789abcdef01234567"
    snapshot.mkdir(parents=True)
    (cache / "refs").mkdir()
    (cache / "refs" / "main").write_text(snapshot.name)
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "Ab", "ab", "##c"]
    (snapshot / "vocab.txt").write_text("\n".join(pieces) + "\n")
    (snapshot / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    made = tmp_path / "made"
    flags = ["--type", "bert", "--output_dir", made, "--bert_model"]
    assert not run("install_tokenizer.py", *flags, "team/tiny-bert")
    assert load_tokenizer(made).tokenize("Abc", "en") == ["Ab", "##c"]
    message = run("install_tokenizer.py", *flags, "team/other")
    assert message.splitlines()[-1].startswith(
        "error: bert_model team/other: not to be"
    )


@pytest.mark.parametrize(
    ("codes", "vocab", "message"),
    [
        ("l o 9\nlo\n", VOCAB, r"given\.codes, line 2: expected two pieces"),
        ("l o x\n", VOCAB, r"given\.codes, line 1: expected two pieces"),
        ("l o 9\nx yz 1\n", VOCAB, r"codes, line 2: merges 'yz', which no line before"),
        ("l o 9\na b 1\nl o 1\n", VOCAB, r"given\.codes, line 3: makes 'lo' again"),
        ("", VOCAB, r"given\.codes: no codes"),
        (CODES, "low 7\nlow\n", r"given\.vocab, line 2: expected a piece and a count"),
        (CODES, "low 7\ner 4\nlow 1\n", r"given\.vocab, line 3: 'low' comes a second"),
        (CODES, "", r"given\.vocab: no pieces"),
        (
            CODES,
            "los 7\nq 1\n",
            r"codes does not fit .*vocab: 3 of 3 pieces are not in it, the first 'lo'"
            r" of line 1",
        ),
    ],
)
def test_files_that_are_broken_or_do_not_fit(given, tmp_path, codes, vocab, message):
    (tmp_path / "given.codes").write_text(codes)
    (tmp_path / "given.vocab").write_text(vocab)
    assert re.search(message, run("install_tokenizer.py", *given))
    assert not (tmp_path / "made").exists()


def test_codes_of_subword_nmt(tmp_path):
    (tmp_path / "codes").write_text("#version: 0.2\na b\nab c</w>\n")
    assert [code.merge for code in read_codes(tmp_path / "codes")] == [
        *(("a", "b"), ("ab", "c</w>"))
    ]


def test_vocabulary_file_there_and_back(tmp_path):
    counts = {"low</w>": 3, "lo": 2, "\u00a0": 1, "@": 1, "é</w>": 0}
    write_vocabulary(tmp_path / "vocab", counts)
    assert (tmp_path / "vocab").read_text("utf-8") == "low 3\nlo@@ 2\n@@@ 1\né 0\n"
    del counts["\u00a0"]
    assert read_vocabulary(tmp_path / "vocab") == counts


def break_config(folder):
    (folder / "tokenizer_config.json").write_text("{")


def break_ids(folder):
    vocab = json.loads((folder / "vocab.json").read_text())
    (folder / "vocab.json").write_text(json.dumps({**vocab, "lo": 99}))


def no_special(folder):
    vocab = json.loads((folder / "vocab.json").read_text())
    names = [name for name in vocab if name != "<special9>"]
    text = json.dumps({name: i for i, name in enumerate(names)})
    (folder / "vocab.json").write_text(text)


def other_merges(folder):
    (folder / "merges.txt").write_text("x y 1\nxy z 1\n")


def bad_mode(folder):
    (folder / "tokenizer_config.json").write_text('{"mode": "x"}')


def no_merges(folder):
    (folder / "merges.txt").unlink()
    (folder / "tokenizer_config.json").write_text('{"type": "xlm"}')


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (break_config, "tokenizer_config.json: not JSON"),
        (break_ids, "vocab.json: ids are not 0, 1, 2"),
        (no_special, "not an XLM vocabulary: it has no <special9>"),
        (other_merges, "does not fit .*: 2 of 2 pieces are not in it"),
        (bad_mode, "mode is none of facebook huggingface paddlenlp"),
        (no_merges, "merges.txt is missing"),
    ],
)
def test_folders_that_are_refused(tmp_path, damage, message):
    folder = write_tiny(tmp_path / "tiny", ["l o", "lo w"], ["lo", "low"])
    load_tokenizer(folder)
    damage(folder)
    with pytest.raises(UserError, match=message):
        load_tokenizer(folder)


def test_not_a_folder(tmp_path):
    with pytest.raises(UserError, match="no such folder"):
        load_tokenizer(tmp_path / "x")
    with pytest.raises(UserError, match="not a tokenizer folder"):
        load_tokenizer(tmp_path)


def test_the_fingerprint_is_of_what_decides_ids(tmp_path):
    def fingerprint(name, merges=("l o",), **config):
        folder = write_tiny(tmp_path / name, merges, ["lo", "ab"], **config)
        return load_tokenizer(folder).fingerprint

    first = fingerprint("a")
    assert fingerprint("elsewhere") == first
    assert len(first) == 64
    assert fingerprint("b", ["l o", "a b"]) != first
    assert fingerprint("c", mode="facebook") != first
    assert fingerprint("d", do_lowercase_and_remove_accent=False) != first


def test_other_versions_are_said(tmp_path, capsys):
    versions = {"sacremoses": "0.0.1"}
    load_tokenizer(write_tiny(tmp_path / "a", ["l o"], ["lo"], versions=versions))
    assert "was made with sacremoses 0.0.1" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore")
def test_paddlenlp_reads_what_is_installed(given, tmp_path, paddlenlp):
    from paddlenlp.transformers import XLMTokenizer

    assert not run("install_tokenizer.py", *given, "--languages", "en", "de")
    theirs = XLMTokenizer.from_pretrained(str(tmp_path / "made"))
    encoded = theirs("low lower", "low", lang="en")
    ours = load_tokenizer(tmp_path / "made")
    a, b = ours.encode_lines(["low lower", "low"], "en")
    assert ours.build_inputs(a, b)[0] == encoded["input_ids"]
    assert theirs.lang2id == ours.lang2id


# Japanese


def test_japanese_without_a_model(tmp_path):
    tokenizer = load_tokenizer(write_tiny(tmp_path / "a", ["l o"], ["lo"]))
    with pytest.raises(UserError, match="Japanese needs a KyTea model: train one"):
        tokenizer.encode_lines(["猫"], "ja")
    (tmp_path / "bad.bin").write_text("no model")
    folder = write_tiny(tmp_path / "b", ["l o"], ["lo"], kytea_model="../bad.bin")
    with pytest.raises(UserError, match=r"bad\.bin: not a KyTea model"):
        load_tokenizer(folder).encode_lines(["猫"], "ja")


def test_japanese_with_a_trained_model(tmp_path):
    text = tmp_path / "segmented text.txt"
    text.write_text(
        "今日 は 良い 天気 です 。\n猫 と 犬 が いる 。\n1/2 & \\ の 猫 。\n", "utf-8"
    )
    models = [tmp_path / "a b.bin", tmp_path / "c.bin"]
    for model in models:
        assert not run("train_kytea.py", "--input", text, "--output", model)
    assert models[0].read_bytes() == models[1].read_bytes()
    foreign = write_tiny(tmp_path / "a", ["今 日</w>"], ["今日</w>", "猫</w>"])
    flags = ["--kytea_model", models[0], "--output_dir", tmp_path / "made it"]
    assert not run("install_tokenizer.py", "--folder", foreign, *flags)
    tokenizer = load_tokenizer(tmp_path / "made it")
    # Without its accent, で is て.
    words = "今日 は 良い 天気 てす ."
    found = "".join(tokenizer.tokenize("今日は良い天気です。", "ja"))
    assert found.replace("</w>", " ").strip() == words
    fingerprint = tokenizer.fingerprint
    (tmp_path / "made it" / "kytea.bin").write_bytes(b"KyTea")
    assert load_tokenizer(tmp_path / "made it").fingerprint != fingerprint


def test_nothing_to_train_on(tmp_path):
    (tmp_path / "ja.txt").write_text("今日は\n\n", "utf-8")
    flags = ["--input", tmp_path / "ja.txt", "--output", tmp_path / "model"]
    assert "no line has blanks between words" in run("train_kytea.py", *flags)
    assert not (tmp_path / "model").exists()


def test_moses_cuts_a_language_that_is_not_in_the_table(tmp_path):
    tokenizer = load_tokenizer(write_tiny(tmp_path / "a", ["l o"], ["lo"]))
    (unknown,), (english,) = (
        tokenizer.encode_lines(["lo, lo."], lang) for lang in ("xx", "en")
    )
    assert unknown.tolist() == english.tolist()
