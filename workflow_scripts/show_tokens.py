"""Print the tokens of text, one JSON object for each line.

    echo "He left. She stayed." | python workflow_scripts/show_tokens.py \\
        --tokenizer tokenizers/xnli15 --lang en

A tab in a line parts the two texts of a pair. ``tokens`` (and ``tokens_pair``) are the
pieces of the text, those outside the vocabulary as they are; ``input_ids`` have the
special tokens around.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from babelmill.files import read_lines
from babelmill.script import run
from babelmill.tokenizers import Tokenizer, load_tokenizer


def described(lines: Iterator[str], tokenizer: Tokenizer, lang: str) -> Iterator[dict]:
    """What is printed of each line."""
    for line in lines:
        text, tab, pair = line.partition("\t")
        texts = [text, pair] if tab else [text]
        ids, _ = tokenizer.build_inputs(*tokenizer.encode_lines(texts, lang))
        tokens = [tokenizer.tokenize(text, lang) for text in texts]
        names = ["tokens", "tokens_pair"][: len(texts)]
        yield {**dict(zip(names, tokens, strict=True)), "input_ids": ids}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--lang", required=True)
    parser.add_argument("file", type=Path, nargs="?", default=Path("/dev/stdin"))
    args = parser.parse_args()

    tokenizer = load_tokenizer(args.tokenizer)
    for line in described(read_lines(args.file), tokenizer, args.lang):
        print(json.dumps(line, ensure_ascii=False))


if __name__ == "__main__":
    run(main)
