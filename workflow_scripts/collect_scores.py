"""Collect score files into one table in long form.

    python workflow_scripts/collect_scores.py --output results/scores.csv \\
        results/scores/*/en.json

writes results/scores.csv with the columns model, setting, task, data, seed, language,
split, metric, value (a fraction) and n (examples), one row a score, sorted. The same
score in two files is an error.
"""

import argparse
from pathlib import Path

from babelmill.script import run
from babelmill.tables.scores import collect, write_scores


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scores", metavar="SCORE.json", nargs="+", type=Path)
    parser.add_argument("--output", required=True, type=Path)
    args = parser.parse_args()
    write_scores(args.output, collect(args.scores))


if __name__ == "__main__":
    run(main)
