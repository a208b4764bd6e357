"""Label the examples of one language with an exported model.

    python workflow_scripts/predict.py --model results/exported/news/nli/... \\
        --input results/tasks/nli/test.sw.tsv --lang sw \\
        --output results/predictions/news/nli/.../sw.tsv

writes id, label, prediction and the probability of each label; with --score also the
metric of the predictions, beside what --score_fields says of the run.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from babelmill.files import read_json, write_json, write_text
from babelmill.metrics import score
from babelmill.models import runtime
from babelmill.models.inputs import encode_examples, label_numbers
from babelmill.script import run
from babelmill.tasks import Example, read_examples
from babelmill.tokenizers import load_tokenizer


def prediction_table(
    examples: list[Example], labels: list[str], logits: np.ndarray
) -> str:
    """The predictions as TSV, one row an example."""
    powers = np.exp(logits - logits.max(1, keepdims=True))
    probabilities = powers / powers.sum(1, keepdims=True)
    rows = [["id", "label", "prediction", *(f"p_{label}" for label in labels)]]
    for example, row in zip(examples, probabilities, strict=True):
        predicted = labels[int(row.argmax())]
        shares = [f"{share:.6f}" for share in row]
        rows.append([example.id, example.label or "", predicted, *shares])
    return "".join("\t".join(row) + "\n" for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--lang", required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--score", type=Path)
    parser.add_argument("--metric", default="accuracy")
    parser.add_argument("--score_fields", type=json.loads, default={})
    parser.add_argument("--batch_size", type=int, default=64)
    parser.add_argument("--gpus", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()

    runtime.prepare(args.gpus, args.threads)
    from babelmill.inference.predictor import Predictor

    tokenizer = load_tokenizer(args.model)
    labels = read_json(args.model / "labels.json")
    examples = read_examples(args.input, labels)
    length = read_json(args.model / "inference.json")["max_seq_length"]
    inputs = encode_examples(examples, tokenizer, args.lang, length)
    predictor = Predictor(args.model, args.gpus, args.threads)
    logits = predictor.predict(inputs, args.batch_size, tokenizer.pad_id)
    write_text(args.output, prediction_table(examples, labels, logits))
    if args.score:
        truth = label_numbers(examples, labels)
        value = float(score(args.metric, truth, logits.argmax(1)))
        result = {"metric": args.metric, "value": value, "n": len(examples)}
        write_json(args.score, {**args.score_fields, "language": args.lang, **result})


if __name__ == "__main__":
    run(main)
