"""Pretrain an encoder on shards.

    python workflow_scripts/pretrain.py --shards results/shards/news/*_training.hdf5 \\
        --validation results/shards/news/validation.hdf5 \\
        --manifest results/shards/news/manifest.json \\
        --tokenizer results/tokenizers/news-bpe \\
        --architecture '{"emb_dim": 64, "n_layers": 2, "n_heads": 4}' \\
        --settings '{"max_steps": 1000, "seed": 1}' \\
        --state results/state/pretrained/news --output_dir results/pretrained/news

(settings and architecture as in the config, where what is left out has a default)
writes model.safetensors, config.json, the tokenizer's files, loss.jsonl and
validation.json. Killed and called again, it goes on from its last checkpoint, also with
another engine or on other devices: these change the rounding of sums, nothing else.
"""

import argparse
import json
import shutil
from functools import partial
from pathlib import Path
from typing import Any

from babelmill.config import check_heads, complete
from babelmill.errors import UserError
from babelmill.files import read_json, sha256, whole_folder, write_json, write_text
from babelmill.models.families import family
from babelmill.models.weights import save_weights, weight_files
from babelmill.pretraining.inputs import check_inputs
from babelmill.script import run
from babelmill.tokenizers import load_tokenizer
from babelmill.training.checkpoints import Checkpoints, computed, json_lines
from babelmill.training.run import Run
from babelmill.training.start import parse, start


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shards", type=Path, nargs="+", required=True)
    parser.add_argument("--validation", type=Path, required=True)
    parser.add_argument("--manifest", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--architecture", type=json.loads, required=True)
    parser.add_argument(
        "--model_name_or_path", type=Path, help="folder of a model to train further"
    )
    args = parse(parser)
    seed = args.settings.pop("seed", 0)
    args.settings = {**complete("pretraining", args.settings), "seed": seed}
    models, tokenizer = family(args.architecture), load_tokenizer(args.tokenizer)
    architecture = complete(models.ARCHITECTURE, args.architecture)
    check_heads("architecture", architecture)
    config = models.full_config(architecture, tokenizer)
    files = check_inputs(
        config,
        tokenizer,
        [*args.shards, args.validation],
        read_json(args.manifest),
        args.manifest,
    )
    identity = [config, computed(args.settings), files]
    if args.model_name_or_path:
        files = weight_files(args.model_name_or_path)
        identity.append([sha256(path) for path in files])
    start(__file__, args, identity, partial(train, args, config))


def train(
    args: argparse.Namespace, config: Any, how: Run, checkpoints: Checkpoints
) -> None:
    """Be one process of the run; the first one writes what comes of it."""
    from babelmill.pretraining.trainer import pretrain

    model, records = pretrain(
        config,
        args.settings,
        args.shards,
        args.validation,
        checkpoints,
        how,
        args.model_name_or_path,
        remasking(args) if args.settings["dynamic_masking"] else None,
    )
    if how.processes.is_first:
        write(args, config, model, records)


def remasking(args: argparse.Namespace):
    """Masks that are drawn while training, as the shards' settings would have them."""
    from babelmill.pretraining.remasking import Remasking

    tokenizer = load_tokenizer(args.tokenizer)
    made = read_json(args.manifest)["settings"]
    if missing := {"masked_lm_prob", "whole_word_mask"} - set(made):
        raise UserError(
            f"{args.manifest}: its settings have no {' and no '.join(sorted(missing))},"
            " which dynamic_masking needs"
        )
    return Remasking(
        args.settings["seed"],
        tokenizer.special_ids,
        tokenizer.vocab_size,
        tokenizer.mask_id,
        made["masked_lm_prob"],
        word_starts=tokenizer.word_starts if made["whole_word_mask"] else None,
    )


def write(args: argparse.Namespace, config: Any, model, records) -> None:
    """Write the output folder."""
    from babelmill.pretraining.examples import count_tokens_by_language

    models = family(config)
    with whole_folder(args.output_dir) as partial:
        models.save(partial, config, model)
        if "lang2id" in config:
            tokenizer = load_tokenizer(args.tokenizer)
            counts = count_tokens_by_language(
                args.validation,
                len(tokenizer.lang2id),
                tokenizer.special_ids,
                tokenizer.vocab_size,
            )
            save_weights(partial / models.TOKEN_COUNTS, {"counts": counts})
        shutil.copytree(args.tokenizer, partial, dirs_exist_ok=True)
        write_text(partial / "loss.jsonl", json_lines(records))
        write_json(partial / "validation.json", records[-1]["validation"])


if __name__ == "__main__":
    run(main)
