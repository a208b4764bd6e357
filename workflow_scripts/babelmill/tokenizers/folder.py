"""Tokenizer folders: the files of a tokenizer, read and written."""

import json
import os
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from babelmill.errors import UserError
from babelmill.files import (
    fingerprint,
    read_json,
    read_lines,
    sha256,
    whole_folder,
    write_json,
    write_text,
)
from babelmill.languages import LANGUAGES, XNLI_LANGUAGES
from babelmill.tokenizers.base import Tokenizer
from babelmill.tokenizers.fastbpe_files import (
    Code,
    check_fit,
    read_codes,
    read_vocabulary,
    write_codes,
    write_vocabulary,
)
from babelmill.tokenizers.words import MODES, TextToWords
from babelmill.tokenizers.xlm import SPECIALS, XLMTokenizer

CONFIG = "tokenizer_config.json"
CODES, VOCAB, KYTEA_MODEL = "codes", "vocab", "kytea.bin"
MERGES_TXT, VOCAB_JSON, VOCAB_TXT = "merges.txt", "vocab.json", "vocab.txt"
TOKENIZER_JSON, SENTENCEPIECE = "tokenizer.json", "sentencepiece.bpe.model"
# What each type cannot do without, in the order in which a folder is looked at.
FILES = {
    "fast": [TOKENIZER_JSON],
    "bert": [VOCAB_TXT],
    "xlm": [VOCAB_JSON, MERGES_TXT],
    "sentencepiece": [SENTENCEPIECE],
}
# Libraries that decide ids, by the segmenter of a language; sacremoses always does.
_LIBRARIES = {
    "pythainlp": ["pythainlp"],
    "jieba": ["jieba", "rjieba"],
    "kytea": ["kytea"],
}


def load_tokenizer(folder: str | os.PathLike[str]) -> Tokenizer:
    """Load the tokenizer of a folder: this workflow's, PaddleNLP's or Hugging Face's.

    Raises:
        UserError: files are missing, broken or do not fit each other.
    """
    folder = Path(folder)
    config = read_config(folder)
    type = config.get("type") or next(
        (type for type, names in FILES.items() if _has(folder, names)), None
    )
    if type not in FILES:
        raise UserError(
            f"{folder}: not a tokenizer folder: it needs {VOCAB_JSON} and {MERGES_TXT}"
            f" (XLM), {VOCAB_TXT} (BERT), {SENTENCEPIECE} (XLM-R) or {TOKENIZER_JSON}"
        )
    for name in FILES[type]:
        if not _has(folder, [name]):
            raise UserError(f"{folder}: {name} is missing")
    _compare_versions(folder, config.get("versions", {}))
    return _LOADERS[type](folder, config)


def read_config(folder: Path) -> dict[str, Any]:
    """The tokenizer_config.json of a folder, empty without one."""
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder")
    path = folder / CONFIG
    config = read_json(path) if path.is_file() else {}
    if not isinstance(config, dict):
        raise UserError(f"{path}: expected a JSON object")
    return config


def load_xlm(folder: Path, config: dict[str, Any]) -> XLMTokenizer:
    """Load an XLM tokenizer; what ``config`` does not say is as in ``huggingface``."""
    vocab = read_json(folder / VOCAB_JSON)
    where = f"{folder / VOCAB_JSON}"
    if not isinstance(vocab, dict) or set(vocab.values()) != set(range(len(vocab))):
        raise UserError(f"{where}: ids are not 0, 1, 2… without gaps")
    if missing := [name for name in SPECIALS if name not in vocab]:
        raise UserError(f"{where}: not an XLM vocabulary: it has no {missing[0]}")
    codes = read_codes(folder / MERGES_TXT)
    pieces = vocab.keys() - set(SPECIALS)
    check_fit(codes, pieces, folder / MERGES_TXT, folder / VOCAB_JSON)
    settings = {
        "mode": config.get("mode", "huggingface"),
        "do_lowercase_and_remove_accent": config.get(
            "do_lowercase_and_remove_accent", True
        ),
        "bypass_tokenizer": config.get("bypass_tokenizer", False),
    }
    if settings["mode"] not in MODES:
        raise UserError(f"{folder / CONFIG}: mode is none of {' '.join(MODES)}")
    model = config.get("kytea_model")
    text_to_words = TextToWords(
        **settings, kytea_model=Path(folder, model) if model else None
    )
    names = [VOCAB_JSON, MERGES_TXT]
    fastbpe_vocab = None
    if settings["mode"] == "facebook" and _has(folder, [VOCAB]):
        names.append(VOCAB)
        fastbpe_vocab = read_vocabulary(folder / VOCAB)
    if model and _has(folder, [model]):
        names.append(model)
    return XLMTokenizer(
        vocab,
        [code.merge for code in codes],
        text_to_words,
        config.get("lang2id") or language_ids(XNLI_LANGUAGES),
        _fingerprint(folder, names, {**settings, "versions": config.get("versions")}),
        fastbpe_vocab,
    )


def _load_bert(folder: Path, config: dict[str, Any]) -> Tokenizer:
    from babelmill.tokenizers.wordpiece import WordPieceTokenizer

    vocab = read_wordpieces(folder / VOCAB_TXT)
    settings = {
        "do_lower_case": config.get("do_lower_case", not has_capitals(vocab)),
        "tokenize_chinese_chars": config.get("tokenize_chinese_chars", True),
        "strip_accents": config.get("strip_accents"),
    }
    return WordPieceTokenizer(
        vocab, **settings, fingerprint=_fingerprint(folder, [VOCAB_TXT], settings)
    )


def _load_fast(folder: Path, config: dict[str, Any]) -> Tokenizer:
    from tokenizers import Tokenizer as Library

    from babelmill.tokenizers.fast import FastTokenizer

    path = folder / TOKENIZER_JSON
    try:
        library = Library.from_file(str(path))
    except Exception as error:  # The library raises nothing narrower.
        raise UserError(f"{path}: not a tokenizer: {error}") from error
    names = {
        role: name["content"] if isinstance(name, dict) else name
        for role, name in config.items()
        if role in ("pad_token", "unk_token", "mask_token") and name
    }
    return FastTokenizer(library, names, _fingerprint(folder, [TOKENIZER_JSON], names))


def _load_sentencepiece(folder: Path, config: dict[str, Any]) -> Tokenizer:
    from babelmill.tokenizers.sentencepiece import SentencePieceTokenizer

    del config
    path = folder / SENTENCEPIECE
    return SentencePieceTokenizer(path, _fingerprint(folder, [SENTENCEPIECE], {}))


_LOADERS = {
    "xlm": load_xlm,
    "bert": _load_bert,
    "fast": _load_fast,
    "sentencepiece": _load_sentencepiece,
}


def language_ids(langs: Iterable[str]) -> dict[str, int]:
    """Numbers of languages, in the alphabetical order of their codes, as XLM does."""
    return {lang: i for i, lang in enumerate(sorted(set(langs)))}


def read_wordpieces(path: Path) -> dict[str, int]:
    """Ids of the lines of a vocab.txt.

    Raises:
        UserError: a line comes twice.
    """
    vocab: dict[str, int] = {}
    for number, piece in enumerate(read_lines(path), 1):
        if piece in vocab:
            raise UserError(f"{path}, line {number}: {piece!r} comes a second time")
        vocab[piece] = len(vocab)
    return vocab


def has_capitals(vocab: Iterable[str]) -> bool:
    """Whether a WordPiece vocabulary was made for text that keeps its case."""
    return any(piece != piece.lower() for piece in vocab if piece[:1] != "[")


def write_xlm(
    folder: Path,
    codes: Sequence[Code],
    counts: dict[str, int],
    text_to_words: TextToWords,
    lang2id: dict[str, int],
    max_vocab: int | None = None,
) -> None:
    """Write the folder of an XLM tokenizer.

    Args:
        folder: made anew.
        codes: the merges.
        counts: of the pieces, the most frequent first.
        text_to_words: the preprocessing; its KyTea model is copied.
        lang2id: ids of the languages.
        max_vocab: of the ids, special tokens included, keep only so many.
    """
    kept = list(counts)[: max_vocab - len(SPECIALS) if max_vocab else None]
    vocab = {piece: i for i, piece in enumerate([*SPECIALS, *kept])}
    with whole_folder(folder) as partial:
        write_codes(partial / CODES, codes)
        write_codes(partial / MERGES_TXT, codes)
        write_vocabulary(partial / VOCAB, counts)
        write_text(partial / VOCAB_JSON, json.dumps(vocab, ensure_ascii=False))
        if text_to_words.kytea_model:
            shutil.copyfile(text_to_words.kytea_model, partial / KYTEA_MODEL)
        write_json(partial / CONFIG, xlm_config(text_to_words, lang2id))


def xlm_config(text_to_words: TextToWords, lang2id: dict[str, int]) -> dict[str, Any]:
    """The tokenizer_config.json of an XLM tokenizer."""
    config = {
        "type": "xlm",
        "tokenizer_class": "XLMTokenizer",
        "mode": text_to_words.mode,
        "do_lowercase_and_remove_accent": text_to_words.do_lowercase_and_remove_accent,
        "bypass_tokenizer": text_to_words.bypass_tokenizer,
        "lang2id": lang2id,
        "versions": _versions(lang2id),
    }
    if text_to_words.kytea_model:
        config["kytea_model"] = KYTEA_MODEL
    return config


def write_bert(
    folder: Path,
    pieces: Iterable[str],
    do_lower_case: bool,
    tokenize_chinese_chars: bool = True,
    strip_accents: bool | None = None,
) -> None:
    """Write the folder of a BERT tokenizer."""
    config = {
        "type": "bert",
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": do_lower_case,
        "tokenize_chinese_chars": tokenize_chinese_chars,
        "strip_accents": strip_accents,
    }
    with whole_folder(folder) as partial:
        write_text(partial / VOCAB_TXT, "".join(f"{piece}\n" for piece in pieces))
        write_json(partial / CONFIG, config)


def _has(folder: Path, names: Iterable[str]) -> bool:
    return all((folder / name).is_file() for name in names)


def _fingerprint(folder: Path, names: Iterable[str], settings: Any) -> str:
    files = {Path(name).name: sha256(folder / name) for name in names}
    return fingerprint({"files": files, "settings": settings})


def _versions(langs: Iterable[str]) -> dict[str, str]:
    """Versions of what decides the ids of texts in some languages."""
    libraries = {"sacremoses", "unicode"}
    for lang in langs:
        if lang in LANGUAGES:
            libraries.update(_LIBRARIES.get(LANGUAGES[lang].segmenter, []))
    return {library: _installed(library) for library in sorted(libraries)}


def _installed(library: str) -> str:
    if library == "unicode":
        return unicodedata.unidata_version
    try:
        return version(library)
    except PackageNotFoundError:
        return "none"


def _compare_versions(folder: Path, recorded: dict[str, str]) -> None:
    for library, wanted in recorded.items():
        if (installed := _installed(library)) != wanted:
            print(
                f"warning: {folder} was made with {library} {wanted}; with {installed}"
                " here, some text may get other ids",
                file=sys.stderr,
            )
