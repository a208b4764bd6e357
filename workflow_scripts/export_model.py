"""Export a fine-tuned model for inference.

    python workflow_scripts/export_model.py --model results/finetuned/news/nli/... \\
        --max_seq_length 128 --output_dir results/exported/news/nli/...

writes model.json and model.pdiparams (Paddle inference program and parameters), the
tokenizer's files, labels.json and inference.json.
"""

import argparse
import shutil
from pathlib import Path

from babelmill.files import whole_folder, write_json
from babelmill.models import runtime
from babelmill.models.folders import load_config
from babelmill.models.weights import WEIGHTS
from babelmill.models.xlm import TOKEN_COUNTS
from babelmill.script import run


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--max_seq_length", type=int, required=True)
    parser.add_argument("--output_dir", type=Path, required=True)
    args = parser.parse_args()

    runtime.prepare(gpus=0, threads=1)
    from babelmill.inference.export import export_classifier

    trained = {WEIGHTS, TOKEN_COUNTS}
    trained |= {"metrics.jsonl", "loss.jsonl", "validation.json"}
    with whole_folder(args.output_dir) as partial:
        for path in args.model.iterdir():
            if path.name not in trained:
                shutil.copy(path, partial)
        export_classifier(load_config(args.model), args.model, partial)
        write_json(partial / "inference.json", {"max_seq_length": args.max_seq_length})


if __name__ == "__main__":
    run(main)
