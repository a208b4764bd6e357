"""Tokenizers: XLM's (Moses, segmenters, BPE), BERT's WordPiece, any tokenizer.json."""

from babelmill.tokenizers.base import Tokenizer
from babelmill.tokenizers.folder import load_tokenizer

__all__ = ["Tokenizer", "load_tokenizer"]
