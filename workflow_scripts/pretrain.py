"""Pretrain an encoder on shards.

    python workflow_scripts/pretrain.py --shards results/shards/news/*_training.hdf5 \\
        --validation results/shards/news/validation.hdf5 \\
        --manifest results/shards/news/manifest.json \\
        --tokenizer results/tokenizers/news-bpe \\
        --architecture '{"emb_dim": 64, "n_layers": 2, "n_heads": 4, ...}' \\
        --settings '{"max_steps": 1000, ...}' \\
        --state results/state/pretrained/news --output_dir results/pretrained/news

writes model.safetensors, config.json, the tokenizer's files, loss.jsonl and
validation.json. Killed and called again, it goes on from its last checkpoint.
"""

import argparse
import json
import shutil
from pathlib import Path

from babelmill.files import read_json, whole_folder, write_json, write_text
from babelmill.models import runtime, xlm
from babelmill.models.weights import save_weights
from babelmill.script import code, run
from babelmill.tokenizers import load_tokenizer
from babelmill.training.checkpoints import Checkpoints, computed, json_lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shards", type=Path, nargs="+", required=True)
    parser.add_argument("--validation", type=Path, required=True)
    parser.add_argument("--manifest", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--architecture", type=json.loads, required=True)
    parser.add_argument("--settings", type=json.loads, required=True)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--output_dir", type=Path, required=True)
    parser.add_argument("--gpus", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()

    runtime.prepare(args.gpus, args.threads)
    from babelmill.pretraining.examples import count_tokens_by_language
    from babelmill.pretraining.trainer import pretrain

    tokenizer = load_tokenizer(args.tokenizer)
    config = xlm.full_config(args.architecture, tokenizer)
    shards = read_json(args.manifest)["files"]
    checkpoints = Checkpoints(args.state, [config, computed(args.settings), shards])
    asked = [args.settings, code()]
    if checkpoints.put_back(args.output_dir, asked):
        return
    model, records = pretrain(
        config, args.settings, args.shards, args.validation, checkpoints
    )
    counts = count_tokens_by_language(
        args.validation,
        len(tokenizer.lang2id),
        tokenizer.special_ids,
        tokenizer.vocab_size,
    )
    with whole_folder(args.output_dir) as partial:
        xlm.save(partial, config, model)
        save_weights(partial / xlm.TOKEN_COUNTS, {"counts": counts})
        shutil.copytree(args.tokenizer, partial, dirs_exist_ok=True)
        write_text(partial / "loss.jsonl", json_lines(records))
        write_json(partial / "validation.json", records[-1]["validation"])
    checkpoints.finish(args.output_dir, asked)


if __name__ == "__main__":
    run(main)
