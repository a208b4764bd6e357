"""Fine-tune a pretrained encoder on a task, one seed.

    python workflow_scripts/finetune.py --encoder results/pretrained/news \\
        --train en=results/tasks/nli/train.en.tsv \\
        --dev en=results/tasks/nli/dev.en.tsv \\
        --labels entailment neutral contradiction --metric accuracy \\
        --settings '{"learning_rate": 5e-5, ...}' \\
        --state results/state/finetuned/news --output_dir results/finetuned/news/...

writes the weights of the best step on dev (model.safetensors), config.json,
labels.json, inference.json (the kind of task and what it reads of a text), the
tokenizer's files and metrics.jsonl. Without --labels a sequence classification is a
regression, and its labels are numbers; other kinds find their labels in the training
set.
"""

import argparse
import json
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from babelmill.files import sha256, whole_folder, write_json, write_text
from babelmill.finetuning.batches import Labeled
from babelmill.heads import HEADS
from babelmill.kinds import KINDS, reading, reported
from babelmill.models import runtime
from babelmill.models.folders import check_fit, copy_files, load_config, save
from babelmill.models.weights import weight_files
from babelmill.script import code, named, run
from babelmill.tokenizers import load_tokenizer
from babelmill.training.checkpoints import Checkpoints, computed, json_lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--encoder", type=Path, required=True)
    parser.add_argument("--train", type=named, nargs="+", required=True)
    parser.add_argument("--dev", type=named, nargs="+", required=True)
    parser.add_argument("--kind", choices=KINDS, default="sequence_classification")
    parser.add_argument("--labels", nargs="*", default=[], help="of the classes")
    parser.add_argument("--metric", required=True, help="that chooses the best step")
    parser.add_argument("--settings", type=json.loads, required=True)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--output_dir", type=Path, required=True)
    parser.add_argument("--gpus", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    reported(args.kind, args.metric)

    runtime.prepare(args.gpus, args.threads)
    from babelmill.finetuning.trainer import finetune

    read = HEADS[args.kind].read
    examples = [read(path, args.labels) for _, path in args.train]
    labels = args.labels or HEADS[args.kind].labels_of(list(chain(*examples)))
    head = HEADS[args.kind](labels, args.metric)
    tokenizer = load_tokenizer(args.encoder)
    length = args.settings["max_seq_length"]
    check_fit(load_config(args.encoder), tokenizer, length, args.encoder)

    def labeled(lang: str, examples: Sequence) -> Labeled:
        encoded = head.encode(examples, tokenizer, lang, args.settings)
        return Labeled(encoded.inputs, head.targets(encoded), head.targets_of_tokens)

    train = [
        labeled(lang, part)
        for (lang, _), part in zip(args.train, examples, strict=True)
    ]
    dev = {
        lang: head.encode(read(path, labels), tokenizer, lang, args.settings)
        for lang, path in args.dev
    }
    files = [sha256(path) for _, path in [*args.train, *args.dev]]
    langs = [lang for lang, _ in [*args.train, *args.dev]]
    files += [sha256(path) for path in weight_files(args.encoder)]
    settings = computed(args.settings)
    identity = [settings, args.kind, args.labels, args.metric, langs, files]
    checkpoints = Checkpoints(args.state, identity)
    asked = [args.settings, code()]
    if checkpoints.put_back(args.output_dir, asked):
        return
    model, config, records = finetune(
        args.encoder,
        args.settings,
        head,
        train,
        dev,
        tokenizer.pad_id,
        checkpoints,
    )
    with whole_folder(args.output_dir) as partial:
        copy_files(args.encoder, partial)
        save(partial, {**config, "num_labels": head.outputs}, model)
        write_json(partial / "labels.json", labels)
        read_of = {n: args.settings[n] for n in reading(args.kind)}
        write_json(partial / "inference.json", {"kind": args.kind, **read_of})
        write_text(partial / "metrics.jsonl", json_lines(records))
    checkpoints.finish(args.output_dir, asked)


if __name__ == "__main__":
    run(main)
