"""Moses text normalization and word tokenization."""

import functools
import re
import unicodedata

from sacremoses import MosesPunctNormalizer, MosesTokenizer


@functools.cache
def _normalizer(lang: str) -> MosesPunctNormalizer:
    return MosesPunctNormalizer(lang=lang)


@functools.cache
def _tokenizer(lang: str) -> MosesTokenizer:
    return MosesTokenizer(lang=lang)


def _replace_unicode_punctuation(text: str) -> str:
    for pattern, replacement in MosesPunctNormalizer.REPLACE_UNICODE_PUNCTUATION:
        text = re.sub(pattern, replacement, text)
    return text


def _remove_non_printing(text: str) -> str:
    return "".join(c for c in text if unicodedata.category(c)[0] != "C")


def normalize(text: str, lang: str) -> str:
    text = _normalizer(lang).normalize(_replace_unicode_punctuation(text))
    return _remove_non_printing(text)


def tokenize(text: str, lang: str) -> list[str]:
    return _tokenizer(lang).tokenize(text, return_str=False, escape=False)
