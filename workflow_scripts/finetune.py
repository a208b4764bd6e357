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
from functools import partial
from itertools import chain
from pathlib import Path

from babelmill.files import sha256, whole_folder, write_json, write_text
from babelmill.heads import HEADS, Encoded
from babelmill.kinds import KINDS, reading, reported
from babelmill.models.folders import (
    CONFIG,
    check_fit,
    copy_files,
    load_config,
    save,
)
from babelmill.models.weights import weight_files
from babelmill.script import named, run
from babelmill.tokenizers import Tokenizer, load_tokenizer
from babelmill.training.checkpoints import Checkpoints, computed, json_lines
from babelmill.training.run import Run
from babelmill.training.start import parse, start


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
    args = parse(parser)
    reported(args.kind, args.metric)

    tokenizer = load_tokenizer(args.encoder)
    length = args.settings["max_seq_length"]
    check_fit(load_config(args.encoder), tokenizer, length, args.encoder)
    files = [sha256(path) for _, path in [*args.train, *args.dev]]
    langs = [lang for lang, _ in [*args.train, *args.dev]]
    files += [sha256(path) for path in weight_files(args.encoder)]
    settings = computed(args.settings)
    identity = [
        *(settings, args.kind, args.labels, args.metric, langs, files),
        *(tokenizer.fingerprint, sha256(args.encoder / CONFIG)),
    ]
    start(__file__, args, identity, partial(train, args, tokenizer))


def train(
    args: argparse.Namespace, tokenizer: Tokenizer, how: Run, checkpoints: Checkpoints
) -> None:
    """Be one process of the run; the first one writes what comes of it."""
    from babelmill.finetuning.batches import Labeled
    from babelmill.finetuning.trainer import finetune

    kind, settings = HEADS[args.kind], args.settings
    read = (kind.read(path, args.labels) for _, path in args.train)
    labels = args.labels or kind.labels_of(chain.from_iterable(read))
    head = kind(labels, args.metric)

    def encoded(lang: str, path: str) -> Encoded:
        return head.encode(kind.read(path, labels), tokenizer, lang, settings)

    def labeled(lang: str, path: str) -> Labeled:
        part = encoded(lang, path)
        return Labeled(part.inputs, head.targets(part), head.targets_of_tokens)

    model, config, records = finetune(
        args.encoder,
        settings,
        head,
        Labeled.joined([labeled(lang, path) for lang, path in args.train]),
        {lang: encoded(lang, path) for lang, path in args.dev},
        tokenizer.pad_id,
        checkpoints,
        how,
    )
    if how.processes.is_first:
        with whole_folder(args.output_dir) as folder:
            copy_files(args.encoder, folder)
            save(folder, {**config, "num_labels": head.outputs}, model)
            write_json(folder / "labels.json", labels)
            read_of = {name: settings[name] for name in reading(args.kind)}
            write_json(folder / "inference.json", {"kind": args.kind, **read_of})
            write_text(folder / "metrics.jsonl", json_lines(records))


if __name__ == "__main__":
    run(main)
