"""Make one HDF5 shard of pretraining examples from tokenized documents.

    python workflow_scripts/make_shards.py --tokenizer results/tokenizers/news-bpe \\
        --monolingual en=en.h5 sw=sw.h5 --parallel en=p/en.h5 sw=p/sw.h5 \\
        --objectives mlm=1 tlm=1 --shards 4 --shard 0 --dupe 0 \\
        --output results/shards/news/0-of-4.dupe0_training.hdf5

writes shard 0 of 4 with the masks of dupe 0. --validation instead of --shard and --dupe
writes the held-out examples.
"""

import argparse
from pathlib import Path

from babelmill.errors import UserError
from babelmill.progress import progress
from babelmill.script import named, run
from babelmill.shards.build import (
    MONOLINGUAL,
    PAIRS,
    ShardSettings,
    Text,
    training_rows,
    translation_texts,
    validation_rows,
)
from babelmill.shards.documents import TokenizedDocuments
from babelmill.shards.layout import write_shard
from babelmill.tokenizers import Tokenizer, load_tokenizer

_SHORTEST = 8


def open_documents(path: str, tokenizer: Tokenizer) -> TokenizedDocuments:
    """Open tokenized documents, made with this tokenizer and no other."""
    documents = TokenizedDocuments(path)
    if documents.attributes["tokenizer_fingerprint"] != tokenizer.fingerprint:
        raise UserError(f"{path}: made with another tokenizer: tokenize the text again")
    return documents


def weighted(text: str) -> tuple[str, float]:
    """An objective and its weight, from ``NAME=WEIGHT``."""
    name, weight = named(text)
    names = *MONOLINGUAL, PAIRS
    if name not in names or not float(weight) > 0:
        raise argparse.ArgumentTypeError(
            f"{text!r}: expected one of {' '.join(names)} and a weight above 0"
        )
    return name, float(weight)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--monolingual", type=named, nargs="*", default=[])
    parser.add_argument(
        "--parallel", type=named, nargs="+", action="append", default=[]
    )
    parser.add_argument("--pivot", help="TLM pairs with this language only")
    parser.add_argument("--objectives", type=weighted, nargs="+", required=True)
    parser.add_argument("--shards", type=int, required=True)
    parser.add_argument("--shard", type=int)
    parser.add_argument("--dupe", type=int)
    parser.add_argument("--validation", action="store_true")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--max_seq_length", type=int, default=128)
    parser.add_argument("--max_predictions_per_seq", type=int, default=20)
    parser.add_argument("--masked_lm_prob", type=float, default=0.15)
    parser.add_argument("--lg_sampling_factor", type=float, default=0.7)
    parser.add_argument("--word_sampling_alpha", type=float, default=0.0)
    parser.add_argument(
        "--whole_word_mask", action=argparse.BooleanOptionalAction, default=False
    )
    parser.add_argument("--short_seq_prob", type=float, default=0.1)
    parser.add_argument("--validation_fraction", type=float, default=0.01)
    parser.add_argument("--validation_rows", type=int, default=200)
    parser.add_argument("--random_seed", type=int, default=12345)
    args = parser.parse_args()
    if args.max_seq_length < _SHORTEST:
        parser.error(f"--max_seq_length must be {_SHORTEST} or more")
    if not args.validation:
        if args.shard is None or args.dupe is None:
            parser.error("give --shard and --dupe, or --validation")
        if not 0 <= args.shard < args.shards:
            parser.error(f"--shard must be in 0 .. {args.shards - 1}")

    tokenizer = load_tokenizer(args.tokenizer)
    objectives = dict(args.objectives)
    texts = []
    for lang, path in args.monolingual:
        side = open_documents(path, tokenizer)
        texts += [Text(name, lang, (side,), (lang,)) for name in MONOLINGUAL]
    for sides in args.parallel:
        parallel = {lang: open_documents(path, tokenizer) for lang, path in sides}
        texts += translation_texts(parallel, args.pivot)
    texts = [text for text in texts if text.objective in objectives]
    settings = ShardSettings(
        objectives=objectives,
        **{
            name: getattr(args, name)
            for name in ShardSettings.__dataclass_fields__
            if name != "objectives"
        },
    )
    if args.validation:
        blocks, what = validation_rows(texts, tokenizer, settings), "validation"
    else:
        blocks = training_rows(texts, tokenizer, settings, args.shard, args.dupe)
        what = f"shard {args.shard} dupe {args.dupe}"
    rows = write_shard(args.output, progress(blocks, what, "blocks"))
    if not rows:
        args.output.unlink(missing_ok=True)
        remedy = "a larger validation_fraction" if args.validation else "fewer shards"
        raise UserError(f"{what}: no documents fall into it: use {remedy} or more text")
    print(f"{args.output}: {rows} rows")


if __name__ == "__main__":
    run(main)
