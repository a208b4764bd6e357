"""Label the examples of one language with an exported model.

    python workflow_scripts/predict.py --model results/exported/news/nli/... \\
        --input results/tasks/nli/test.sw.tsv --lang sw \\
        --output results/predictions/news/nli/.../test.sw.tsv

writes id, label, prediction and the probability of each label, CoNLL's columns with a
column of predictions more, or the JSON that SQuAD's evaluate-v1.1.py reads, by the kind
of task. With --score come the --metrics of the predictions, beside what --score_fields
says of the run. --submission writes the columns index and prediction instead, as the
GLUE benchmark takes them.
"""

import argparse
import json
from pathlib import Path

from babelmill.files import read_json, write_json, write_text
from babelmill.heads import HEADS
from babelmill.models import runtime
from babelmill.script import run
from babelmill.tokenizers import load_tokenizer


def main() -> None:
    args = parse_args()
    runtime.prepare(args.gpus, args.threads)
    from babelmill.inference.predictor import Predictor

    tokenizer = load_tokenizer(args.model)
    labels = read_json(args.model / "labels.json")
    settings = read_json(args.model / "inference.json")
    head = HEADS[settings["kind"]](labels, args.metrics[0])
    examples = head.read(args.input, labels if args.score else None)
    encoded = head.encode(examples, tokenizer, args.lang, settings)
    predictor = Predictor(args.model, args.gpus, args.threads)
    outputs = predictor.predict(encoded.inputs, args.batch_size, tokenizer.pad_id)
    predictions = head.predictions(encoded, outputs)
    if args.output:
        write_text(args.output, head.file(examples, predictions))
    if args.submission:
        write_text(args.submission, head.submission(examples, predictions))
    if args.score:
        metrics = {
            metric: head.score(metric, examples, predictions) for metric in args.metrics
        }
        score = {**args.score_fields, "metrics": metrics, "n": len(examples)}
        write_json(args.score, score)


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--lang", required=True, help="what the texts are in")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--submission", type=Path)
    parser.add_argument("--score", type=Path)
    parser.add_argument("--metrics", nargs="+", default=["accuracy"])
    parser.add_argument("--score_fields", type=json.loads, default={})
    parser.add_argument("--batch_size", type=int, default=64)
    parser.add_argument("--gpus", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    if not args.output and not args.submission:
        parser.error("give --output or --submission")
    return args


if __name__ == "__main__":
    run(main)
