"""Turn one split of one language of a task into the normalized table.

    python workflow_scripts/prepare_task.py --format xnli --split dev --lang sw \\
        --labels entailment neutral contradiction \\
        --output results/tasks/xnli/dev.sw.tsv XNLI-1.0/xnli.dev.tsv

writes results/tasks/xnli/dev.sw.tsv with the columns id, text_a, text_b (empty where
the task has one text) and label (empty where the set has none). Without --labels the
task is a regression, and labels are numbers. The last three formats have columns of
their own, and need no --labels.

Formats:
  xnli   dev and test: xnli.dev.tsv, xnli.test.tsv; train: multinli.train.{lang}.tsv
  glue   the files of the official archives, with --task_name
  tsv    own task with a header line, with --text_columns and --label_column
  jsonl  own task, one JSON object a line, with --text_columns and --label_column
  conll  token classification: a token a line, with --token_column and --label_column,
         numbers from 0, or from -1 backwards; a blank line between sentences
  squad  question answering: SQuAD v1.1's JSON
  multiple_choice  one JSON object a line, with --text_columns, --choice_columns and
         --label_column, which holds the number of the right choice, from 0
"""

import argparse
import itertools
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from babelmill.files import whole_file
from babelmill.progress import progress
from babelmill.script import run
from babelmill.tasks.examples import Row, write_examples
from babelmill.tasks.glue import TASK_NAMES
from babelmill.tasks.layouts import READERS, form, task_examples
from babelmill.tasks.source import Source


def main() -> None:
    args = parse_args()
    source = Source(
        path=args.input,
        split=args.split,
        lang=args.lang,
        task_name=args.task_name,
        text_columns=tuple(args.text_columns),
        label_column=args.label_column,
        token_column=args.token_column,
        choice_columns=tuple(args.choice_columns),
        labels=tuple(args.labels),
    )
    counts: Counter[str] = Counter()

    def counted_examples() -> Iterator[Row]:
        for example in task_examples(args.format, source):
            counts["left out" if example is None else "kept"] += 1
            if example is not None:
                yield example

    examples = itertools.islice(counted_examples(), args.limit)
    with whole_file(args.output) as partial:
        shown = progress(examples, args.output.name, "examples")
        write_examples(partial, shown, form(args.format))
    print(
        f"{args.output}: {counts['kept']} examples, {counts['left out']} left out"
        " (no gold label, torn, or an answer that is not in its text)",
        file=sys.stderr,
    )


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("input", metavar="INPUT", type=Path)
    parser.add_argument("--format", required=True, choices=list(READERS))
    parser.add_argument("--split", required=True, choices=["train", "dev", "test"])
    parser.add_argument("--lang", help="language code; xnli takes its rows only")
    parser.add_argument("--labels", nargs="+", default=[], help="names of the classes")
    parser.add_argument("--task_name", type=str.lower, choices=TASK_NAMES)
    parser.add_argument("--text_columns", nargs="+", default=[], help="one or two")
    parser.add_argument("--label_column", help="may be left out for a test set")
    parser.add_argument("--token_column", type=int, default=0, help="of conll")
    parser.add_argument(
        "--choice_columns", nargs="+", default=[], help="all, or a list"
    )
    parser.add_argument("--limit", type=int, help="keep the first so many examples")
    parser.add_argument("--output", required=True, type=Path)
    args = parser.parse_args()
    if args.limit is not None and args.limit < 1:
        parser.error("--limit must be at least 1")
    if args.format == "xnli" and not args.lang:
        parser.error("--format xnli needs --lang")
    if args.format == "glue" and not args.task_name:
        parser.error("--format glue needs --task_name")
    if args.format == "multiple_choice" and not args.choice_columns:
        parser.error("--format multiple_choice needs --choice_columns")
    texts = args.format in ("tsv", "jsonl", "multiple_choice")
    if texts and len(args.text_columns) not in (1, 2):
        parser.error(f"--format {args.format} needs one or two --text_columns")
    labeled = args.format in ("tsv", "jsonl", "multiple_choice", "conll")
    if labeled and args.split != "test" and not args.label_column:
        parser.error(f"--split {args.split} needs --label_column")
    return args


if __name__ == "__main__":
    run(main)
