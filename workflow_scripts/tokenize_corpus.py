"""Tokenize the text of one language into documents of ids.

    python workflow_scripts/tokenize_corpus.py --input results/corpora/news/en.txt \\
        --lang en --tokenizer results/tokenizers/news-bpe \\
        --output results/tokenized/news/news-bpe/en.h5

With --aligned every line is kept, empty ones too, so that line n of one language stays
the translation of line n of another; a document is then --lines_per_document lines.
"""

import argparse
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from babelmill.errors import UserError
from babelmill.files import read_lines, sha256
from babelmill.progress import progress
from babelmill.script import run
from babelmill.shards.documents import write_documents
from babelmill.tokenizers import Tokenizer, load_tokenizer

_LINES_PER_BATCH = 4096
_EMPTY = np.zeros(0, np.int32)


def encoded_lines(
    path: Path, tokenizer: Tokenizer, lang: str
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield each line of the text with its ids."""
    lines = iter(progress(read_lines(path), f"tokenizing {lang}", "lines"))
    while batch := list(islice(lines, _LINES_PER_BATCH)):
        yield from zip(batch, tokenizer.encode_lines(batch, lang), strict=True)


def documents_at_blank_lines(
    lines: Iterator[tuple[str, np.ndarray]],
) -> Iterator[list[np.ndarray]]:
    """Documents end at empty lines; sentences without a token are left out."""
    document: list[np.ndarray] = []
    for text, ids in lines:
        if len(ids):
            document.append(ids)
        elif not text and document:
            yield document
            document = []
    if document:
        yield document


def documents_of_lines(
    lines: Iterator[tuple[str, np.ndarray]], lines_per_document: int
) -> Iterator[list[np.ndarray]]:
    """Documents of a fixed number of lines, every line kept."""
    while document := [ids for _, ids in islice(lines, lines_per_document)]:
        yield document


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--lang", required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--aligned", action="store_true")
    parser.add_argument("--lines_per_document", type=int, default=1)
    args = parser.parse_args()

    tokenizer = load_tokenizer(args.tokenizer)
    lines = encoded_lines(args.input, tokenizer, args.lang)
    if args.aligned:
        documents = documents_of_lines(lines, max(args.lines_per_document, 1))
    else:
        documents = documents_at_blank_lines(lines)
    attributes = {
        "lang": args.lang,
        "text_sha256": sha256(args.input),
        "tokenizer_fingerprint": tokenizer.fingerprint,
    }
    tokens = write_documents(
        args.output, documents, tokenizer.vocab_size, args.aligned, attributes
    )
    if not tokens:
        args.output.unlink()
        raise UserError(f"{args.input}: no text in it")


if __name__ == "__main__":
    run(main)
