"""Make the table of a task's scores per language, with published results below ours.

    python workflow_scripts/make_xnli_table.py --scores results/scores.csv \\
        --task xnli --split test --published resources/published/xnli.csv \\
        --languages en fr es de el bg ru tr ar vi th zh hi sw ur \\
        --csv results/xnli_table.csv --md results/xnli_table.md \\
        --tex results/xnli_table.tex

writes the table in three forms: one row a model and setting, percent. A language is
the mean over seeds; avg is the mean over languages of each seed, then over seeds, and
avg_std the sample standard deviation of those averages. Of several --metrics each has
rows of its own, and stands behind the data's name.
"""

import argparse
from pathlib import Path

from babelmill.errors import UserError
from babelmill.script import run
from babelmill.tables.aggregate import gather_runs, published_rows
from babelmill.tables.render import Column, Table, write_table
from babelmill.tables.scores import Score, read_scores


def main() -> None:
    args = parse_args()

    def named(score: Score) -> str:
        several = len(args.metrics) > 1
        return f"{score.data}, {score.metric}" if several else score.data

    values = [
        (
            (score.model, score.setting, named(score)),
            score.seed,
            score.language,
            score.value,
        )
        for score in read_scores(args.scores)
        if (score.task, score.split) == (args.task, args.split)
        and score.metric in args.metrics
    ]
    if not values:
        raise UserError(
            f"{args.scores}: no {' or '.join(args.metrics)} of task {args.task} on"
            f" split {args.split}"
        )
    rows = [entry.row(args.languages, average="avg") for entry in gather_runs(values)]
    if args.published:
        rows += published_rows(args.published, args.languages, average="avg")
    columns = [Column(language, language) for language in args.languages]
    columns.append(Column("avg", "avg", std=True))
    # Zero-shot transfer and training on translations are different problems.
    table = Table(rows, columns, compare_by=("data", "setting"))
    write_table(table, args.csv, args.md, args.tex)


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scores", required=True, type=Path)
    parser.add_argument("--task", required=True, help="as the scores name it")
    parser.add_argument("--split", required=True, choices=["dev", "test"])
    parser.add_argument(
        "--metrics", nargs="+", default=["accuracy"], help="as the scores name them"
    )
    parser.add_argument("--languages", required=True, nargs="+")
    parser.add_argument("--published", type=Path, help="published results")
    parser.add_argument("--csv", required=True, type=Path)
    parser.add_argument("--md", required=True, type=Path)
    parser.add_argument("--tex", required=True, type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    run(main)
