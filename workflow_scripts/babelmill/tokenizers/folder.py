"""Tokenizer folders: the files of a tokenizer, read and written."""

import os
from pathlib import Path
from typing import Any

from babelmill.errors import UserError
from babelmill.files import fingerprint, read_json, read_lines, sha256
from babelmill.languages import XNLI_LANGUAGES
from babelmill.tokenizers.base import Tokenizer

CONFIG = "tokenizer_config.json"


def load_tokenizer(folder: str | os.PathLike[str]) -> Tokenizer:
    """Load the tokenizer of a folder.

    Raises:
        UserError: files are missing, broken or disagree.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise UserError(f"{folder}: no such tokenizer folder")
    config = read_json(folder / CONFIG) if (folder / CONFIG).is_file() else {}
    if (folder / "vocab.json").is_file() and (folder / "merges.txt").is_file():
        return _load_xlm(folder, config)
    raise UserError(
        f"{folder}: not a tokenizer folder: it needs vocab.json and merges.txt (XLM),"
        " vocab.txt (BERT) or tokenizer.json"
    )


def _load_xlm(folder: Path, config: dict[str, Any]) -> Tokenizer:
    from babelmill.tokenizers.xlm import XLMTokenizer

    vocab = read_json(folder / "vocab.json")
    merges = [tuple(line.split(" ")[:2]) for line in read_lines(folder / "merges.txt")]
    settings = {
        "mode": config.get("mode", "huggingface"),
        "do_lowercase_and_remove_accent": config.get(
            "do_lowercase_and_remove_accent", True
        ),
        "bypass_tokenizer": config.get("bypass_tokenizer", False),
        "lang2id": config.get("lang2id")
        or {lang: i for i, lang in enumerate(sorted(XNLI_LANGUAGES))},
    }
    model = config.get("kytea_model")
    files = {name: sha256(folder / name) for name in ("vocab.json", "merges.txt")}
    return XLMTokenizer(
        vocab,
        merges,
        **settings,
        kytea_model=Path(folder, model) if model else None,
        fingerprint=fingerprint(
            {"files": files, "settings": settings, "versions": config.get("versions")}
        ),
    )
