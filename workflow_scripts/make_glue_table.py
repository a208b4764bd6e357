"""Make the table of GLUE results, with published results below ours.

    python workflow_scripts/make_glue_table.py --scores results/scores.csv \\
        --split dev --tasks cola rte --published resources/published/glue.csv \\
        --csv results/glue_table.csv --md results/glue_table.md \\
        --tex results/glue_table.tex

writes the table in three forms: one row a model and setting, percent, mean and sample
standard deviation over seeds. Of the scores it takes those in English whose task has
the name of a GLUE task.
"""

import argparse
from pathlib import Path

from babelmill.errors import UserError
from babelmill.script import run
from babelmill.tables.aggregate import gather_runs, published_rows
from babelmill.tables.render import Column, Table, write_table
from babelmill.tables.scores import read_scores

# Name and title of a column, the task, and the metric of our scores in it.
# Some reports give one correlation of STS-B without saying which; it has a column of
# its own, in which we have no number.
COLUMNS = [
    ("cola_mcc", "CoLA Mcc", "cola", "matthews"),
    ("sst2_acc", "SST-2", "sst-2", "accuracy"),
    ("mrpc_f1", "MRPC F1", "mrpc", "f1"),
    ("mrpc_acc", "MRPC acc.", "mrpc", "accuracy"),
    ("stsb_pearson", "STS-B Pearson", "sts-b", "pearson"),
    ("stsb_spearman", "STS-B Spearman", "sts-b", "spearman"),
    ("stsb_mean", "STS-B mean", "sts-b", "pearson_spearman"),
    ("stsb_corr", "STS-B unspecified", "sts-b", None),
    ("qqp_f1", "QQP F1", "qqp", "f1"),
    ("qqp_acc", "QQP acc.", "qqp", "accuracy"),
    ("mnli_m_acc", "MNLI-m", "mnli", "accuracy"),
    ("mnli_mm_acc", "MNLI-mm", "mnli-mm", "accuracy"),
    ("qnli_acc", "QNLI", "qnli", "accuracy"),
    ("rte_acc", "RTE", "rte", "accuracy"),
]
TASKS = list(dict.fromkeys(task for _, _, task, _ in COLUMNS))


def main() -> None:
    args = parse_args()
    columns = [column for column in COLUMNS if column[2] in args.tasks]
    ours = {(task, metric): name for name, _, task, metric in columns if metric}
    values = [
        (
            (score.model, score.setting, score.data),
            score.seed,
            ours[score.task, score.metric],
            score.value,
        )
        for score in read_scores(args.scores)
        if score.language == "en"
        and score.split == args.split
        and (score.task, score.metric) in ours
    ]
    if not values:
        raise UserError(
            f"{args.scores}: no English score of {', '.join(args.tasks)} on split"
            f" {args.split}"
        )
    rows = [entry.row(list(ours.values())) for entry in gather_runs(values)]
    if args.published:
        rows += published_rows(args.published, [name for name, *_ in columns])
    table = Table(
        rows,
        [
            Column(name, title, std=metric is not None)
            for name, title, _, metric in columns
        ],
        compare_by=("data",),
    )
    write_table(table, args.csv, args.md, args.tex)


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scores", required=True, type=Path)
    parser.add_argument("--split", required=True, choices=["dev", "test"])
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=TASKS)
    parser.add_argument("--published", type=Path, help="published results")
    parser.add_argument("--csv", required=True, type=Path)
    parser.add_argument("--md", required=True, type=Path)
    parser.add_argument("--tex", required=True, type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    run(main)
