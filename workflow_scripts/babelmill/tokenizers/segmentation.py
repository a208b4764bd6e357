"""Lines of text to words, language by language."""

import functools
from collections.abc import Callable
from pathlib import Path

from babelmill.errors import UserError


def segment(lines: list[str], lang: str, kytea_model: Path | None) -> list[list[str]]:
    """The words of each line."""
    from babelmill.tokenizers import moses

    if lang == "zh":
        cut = _jieba()
        return [moses.normalize(" ".join(cut(line)), lang).split() for line in lines]
    if lang == "th":
        cut = _newmm()
        return [cut(moses.normalize(line, lang)) for line in lines]
    if lang == "ja":
        cut = _kytea(kytea_model)
        return [list(cut(moses.normalize(line, lang))) for line in lines]
    return [moses.tokenize(moses.normalize(line, lang), lang) for line in lines]


@functools.cache
def _jieba() -> Callable[[str], list[str]]:
    import logging

    import jieba

    jieba.setLogLevel(logging.WARNING)
    return jieba.lcut


@functools.cache
def _newmm() -> Callable[[str], list[str]]:
    from pythainlp.tokenize import word_tokenize

    return word_tokenize


@functools.cache
def _kytea(model: Path | None) -> Callable[[str], list[str]]:
    if model is None or not model.is_file():
        raise UserError(
            f"Japanese needs a KyTea model, and there is none at {model}: set"
            " kytea_model in tokenizer_config.json to the path of one"
        )
    import Mykytea

    return Mykytea.Mykytea(f"-model {model}").getWS
