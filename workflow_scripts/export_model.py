"""Export a fine-tuned model for inference: of several, the best on dev.

    python workflow_scripts/export_model.py \\
        --models results/finetuned/news/nli/zero-shot/seed1/lr* \\
        --output_dir results/exported/news/nli/zero-shot/seed1

writes model.json and model.pdiparams (Paddle inference program and parameters), the
tokenizer's files, labels.json, inference.json (the kind of task and what it reads of a
text), and in choice.json the best score on dev of every model. Of equally good ones the
first is exported.
"""

import argparse
import json
import shutil
from pathlib import Path

from babelmill.files import read_json, read_lines, whole_folder, write_json
from babelmill.models import runtime
from babelmill.models.folders import load_config
from babelmill.models.weights import WEIGHTS
from babelmill.models.xlm import TOKEN_COUNTS
from babelmill.script import run

_OF_TRAINING = {
    *(WEIGHTS, TOKEN_COUNTS),
    *("metrics.jsonl", "loss.jsonl", "validation.json"),
}


def best_on_dev(model: Path) -> float:
    """The highest mean metric on dev of a fine-tuned model's evaluations."""
    records = map(json.loads, read_lines(model / "metrics.jsonl"))
    return max(record["dev_mean"] for record in records)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=Path, nargs="+", required=True)
    parser.add_argument("--output_dir", type=Path, required=True)
    args = parser.parse_args()

    runtime.prepare(gpus=0, threads=1)
    from babelmill.inference.export import export_classifier

    scores = {model: best_on_dev(model) for model in args.models}
    best = max(scores, key=scores.__getitem__)
    choice = {"exported": best.name, "dev": {m.name: s for m, s in scores.items()}}
    with whole_folder(args.output_dir) as partial:
        for path in best.iterdir():
            if path.name not in _OF_TRAINING:
                shutil.copy(path, partial)
        kind = read_json(best / "inference.json")["kind"]
        export_classifier(load_config(best), kind, best, partial)
        write_json(partial / "choice.json", choice)


if __name__ == "__main__":
    run(main)
