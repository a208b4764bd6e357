"""Turn the raw text of one language into the workflow's plain text.

    python workflow_scripts/prepare_corpus.py --input news.en.gz blogs/ \\
        --output results/corpora/news/en.txt

writes one sentence a line with a blank line between documents. With --split_sentences,
the lines of the raw text are running paragraphs. With --aligned_with, the text is one
side of parallel text: its lines are kept as they are, and their number must be that of
the other side.
"""

import argparse
import sys
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

from babelmill.corpora import documents_of, read_aligned, read_documents, text_files
from babelmill.errors import UserError
from babelmill.files import read_lines, whole_file
from babelmill.progress import progress
from babelmill.script import run


def raw_lines(paths: list[Path], text_field: str) -> Iterator[str]:
    """The lines of all files; a file's end ends a document."""
    for path in text_files(paths):
        yield from read_documents(path, text_field)
        yield ""


def sentences(paragraphs: Iterator[str], lang: str) -> Iterator[str]:
    """The sentences of paragraphs of one language, and the empty lines between them."""
    from babelmill.sentences import SentenceSplitter

    splitter = SentenceSplitter(lang)
    print(f"sentences of {lang}: {splitter.rules}", file=sys.stderr)
    return chain.from_iterable(splitter.split(p) if p else [""] for p in paragraphs)


def aligned_lines(path: Path, other: Path, text_field: str) -> Iterator[str]:
    """The lines of one side of parallel text, after comparing the line counts."""
    count, expected = map(count_lines, (path, other))
    if count != expected:
        raise UserError(
            f"{path} has {count} lines but {other} has {expected}: the lines of"
            " parallel text must be translations of each other, line by line"
        )
    return progress(read_aligned(path, text_field), path.name, "lines", count)


def count_lines(path: Path) -> int:
    """The number of lines of a file."""
    return sum(1 for _ in progress(read_lines(path), f"counting {path}", "lines"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--input", type=Path, nargs="+", required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--text_field", default="text", help="of JSON lines")
    parser.add_argument("--lines_per_document", type=int, default=0)
    parser.add_argument("--max_lines", type=int, default=None)
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument(
        "--split_sentences", metavar="LANG", help="cut paragraphs, by LANG's rules"
    )
    kind.add_argument("--aligned_with", type=Path, help="the other side's raw text")
    args = parser.parse_args()

    if args.aligned_with:
        if len(args.input) != 1 or args.input[0].is_dir():
            raise UserError("parallel text is one file a language, not a folder")
        lines = aligned_lines(args.input[0], args.aligned_with, args.text_field)
    else:
        lines = raw_lines(args.input, args.text_field)
        if args.split_sentences:
            lines = sentences(lines, args.split_sentences)
        lines = progress(lines, args.output.stem, "lines")
        lines = documents_of(lines, args.lines_per_document)
    words = 0
    with whole_file(args.output) as partial, partial.open("w", encoding="utf-8") as out:
        for line in islice(lines, args.max_lines):
            out.write(line + "\n")
            words += len(line)
        if not words:
            names = " ".join(map(str, args.input))
            raise UserError(f"{names}: no text in it")


if __name__ == "__main__":
    run(main)
