"""Train a KyTea model, which Japanese needs, on segmented text.

    python workflow_scripts/train_kytea.py --input segmented.ja.txt --output kytea.bin

The text has one sentence a line with blanks between words.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from babelmill.errors import UserError
from babelmill.files import read_lines, whole_file
from babelmill.script import run
from babelmill.tokenizers import kytea


def segmented(path: Path) -> Iterator[list[str]]:
    """The words of each line that has any."""
    several = 0
    for line in read_lines(path):
        if words := line.split():
            several += len(words) > 1 and max(map(len, words)) > 1
            yield words
    if not several:
        raise UserError(
            f"{path}: nothing to learn from: no line has blanks between words"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args()

    with whole_file(args.output) as partial:
        kytea.train(segmented(args.input), partial)


if __name__ == "__main__":
    run(main)
