"""Lines per CPU-second of the XLM tokenizer, against PaddleNLP's, and equal ids.

    python benchmarks/tokenization.py --tokenizer folder --data folder [--lines 5000]

Every ``{lang}.txt`` below the data folder is tokenized by both, in one process, one
after the other, from cold caches (dictionaries loaded). Exit code 1 if any id differs.
"""

import argparse
import gc
import logging
import sys
import time
import warnings
from collections import defaultdict
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "workflow_scripts"))

from babelmill.files import read_lines
from babelmill.languages import XNLI_LANGUAGES
from babelmill.script import run
from babelmill.tokenizers.folder import load_xlm


def timed(function, *args):
    """The result of a call and its CPU-seconds."""
    start = time.process_time()
    result = function(*args)
    return result, time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--lines", type=int, help="of each file, all by default")
    args = parser.parse_args()

    warnings.simplefilter("ignore")
    from paddlenlp.transformers import XLMTokenizer

    logging.disable(logging.INFO)
    texts = defaultdict(list)
    for path in sorted(args.data.rglob("*.txt")):
        if path.stem in XNLI_LANGUAGES:
            texts[path.stem] += islice(read_lines(path), args.lines)

    print("lang    lines  babelmill  paddlenlp  ratio  different")
    totals = [0, 0.0, 0.0, 0]
    for lang, lines in texts.items():
        ours = load_xlm(args.tokenizer, {"mode": "paddlenlp"})
        theirs = XLMTokenizer(
            str(args.tokenizer / "vocab.json"), str(args.tokenizer / "merges.txt")
        )

        def reference(lines, theirs=theirs, lang=lang):
            pieces = (theirs.tokenize(line, lang=lang) for line in lines)
            return [theirs.convert_tokens_to_ids(line) for line in pieces]

        ours.encode_lines(lines[:1], lang)
        reference(lines[:1])
        # Charge neither with the garbage collector's walks over imported modules.
        gc.collect()
        gc.freeze()
        found, our_seconds = timed(ours.encode_lines, lines, lang)
        wanted, their_seconds = timed(reference, lines)
        different = sum(a.tolist() != b for a, b in zip(found, wanted, strict=True))
        row = [len(lines), our_seconds, their_seconds, different]
        totals = [total + value for total, value in zip(totals, row, strict=True)]
        print_row(lang, *row)
    print_row("all", *totals)
    sys.exit(bool(totals[-1]))


def print_row(
    lang: str, lines: int, our_seconds: float, their_seconds: float, different: int
) -> None:
    print(
        f"{lang:4} {lines:8,}",
        f"{lines / our_seconds:10,.0f} {lines / their_seconds:10,.0f}",
        f"{their_seconds / our_seconds:6.1f} {different:10,}",
        flush=True,
    )


if __name__ == "__main__":
    run(main)
