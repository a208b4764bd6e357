"""show_tokens.py as a command."""

import json
import subprocess
import sys

from conftest import ROOT
from test_tokenizers_xlm import write_tiny


def show(*arguments, text=None):
    command = [sys.executable, str(ROOT / "workflow_scripts/show_tokens.py")]
    command += map(str, arguments)
    return subprocess.run(
        command, input=text, capture_output=True, text=True, check=False
    )


def test_lines_and_pairs(tmp_path):
    folder = write_tiny(tmp_path / "tiny", ["l o", "lo w</w>"], ["lo", "low</w>", "é"])
    text = "Low lox\n\nlow\té low\n"
    wanted = [
        {"tokens": ["low</w>", "lo", "x</w>"], "input_ids": [0, 15, 14, 3, 1]},
        {"tokens": [], "input_ids": [0, 1]},
        {
            "tokens": ["low</w>"],
            "tokens_pair": ["e</w>", "low</w>"],
            "input_ids": [0, 15, 1, 3, 15, 1],
        },
    ]
    done = show("--tokenizer", folder, "--lang", "en", text=text)
    assert [json.loads(line) for line in done.stdout.splitlines()] == wanted
    (tmp_path / "text").write_text(text, "utf-8")
    done = show("--tokenizer", folder, "--lang", "en", tmp_path / "text")
    assert [json.loads(line) for line in done.stdout.splitlines()] == wanted


def test_what_cannot_be_read(tmp_path):
    done = show("--tokenizer", tmp_path / "none", "--lang", "en", text="a\n")
    assert done.returncode == 2
    assert done.stderr == f"error: {tmp_path}/none: no such folder\n"
