"""Tokenize the text of one language into documents of ids.

    python workflow_scripts/tokenize_corpus.py --input results/corpora/news/en.txt \\
        --lang en --tokenizer results/tokenizers/news-bpe \\
        --output results/tokenized/news/news-bpe/en.h5

With --aligned every line is kept, empty ones too, so that line n of one language stays
the translation of line n of another; a document is then --lines_per_document lines.
"""

import argparse
from collections.abc import Iterable, Iterator
from itertools import accumulate, groupby
from pathlib import Path

import numpy as np

from babelmill.errors import UserError
from babelmill.files import read_lines, sha256
from babelmill.parallel import ordered_map
from babelmill.progress import bar
from babelmill.script import run
from babelmill.shards.documents import write_documents
from babelmill.tokenizers import Tokenizer, load_tokenizer

_LINES_PER_BATCH, _CHARACTERS_PER_BATCH = 4096, 1 << 20
_EMPTY = np.zeros(0, np.int32)

# Whether a line has text, and its ids.
Line = tuple[bool, np.ndarray]


def batches(lines: Iterable[str]) -> Iterator[list[str]]:
    """Group lines, fewer of them where they are long."""
    batch, characters = [], 0
    for line in lines:
        batch.append(line)
        characters += len(line)
        if len(batch) == _LINES_PER_BATCH or characters > _CHARACTERS_PER_BATCH:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def encoded_lines(
    lines: Iterable[str], tokenizer: Tokenizer, lang: str, processes: int
) -> Iterator[Line]:
    """Yield for each line whether it has text, and its ids."""

    def encode(batch: list[str]) -> tuple[list[bool], np.ndarray, list[int]]:
        ids = tokenizer.encode_lines(batch, lang)
        ends = list(accumulate(map(len, ids)))
        return list(map(bool, batch)), np.concatenate([*ids, _EMPTY]), ends

    shown = bar(f"tokenizing {lang}", "lines")
    for has_text, ids, ends in ordered_map(encode, batches(lines), processes):
        shown.update(len(ends))
        start = 0
        for text, end in zip(has_text, ends, strict=True):
            yield text, ids[start:end]
            start = end
    shown.close()


def documents_at_blank_lines(lines: Iterator[Line]) -> Iterator[Iterator[np.ndarray]]:
    """Documents end at empty lines; sentences without a token are left out."""
    for has_text, document in groupby(lines, lambda line: line[0]):
        if has_text:
            yield (ids for _, ids in document if len(ids))


def documents_of_lines(
    lines: Iterator[Line], lines_per_document: int
) -> Iterator[Iterator[np.ndarray]]:
    """Documents of a fixed number of lines, every line kept."""
    for _, document in groupby(enumerate(lines), lambda n: n[0] // lines_per_document):
        yield (ids for _, (_, ids) in document)


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
    parser.add_argument("--threads", type=int, default=1, help="processes at work")
    args = parser.parse_args()

    tokenizer = load_tokenizer(args.tokenizer)
    text = read_lines(args.input)
    lines = encoded_lines(text, tokenizer, args.lang, args.threads)
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
