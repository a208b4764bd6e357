"""Show what is in shards, for people's eyes, and say what is wrong with them.

    python workflow_scripts/describe_shards.py results/shards/news \\
        --tokenizer results/tokenizers/news-bpe --rows 3

prints rows, tokens and shares of each shard of a folder (foreign ones too), a few
decoded rows, and every fault; the exit code is 2 where there is one.
"""

import argparse
from pathlib import Path

import h5py
import numpy as np

from babelmill.errors import UserError
from babelmill.script import run
from babelmill.shards.check import faults
from babelmill.shards.layout import count_tokens
from babelmill.tokenizers import Tokenizer, load_tokenizer


def describe(path: Path) -> str:
    """One line of numbers."""
    with h5py.File(path, "r") as shard:
        rows, length = shard["input_ids"].shape
        tokens = count_tokens(shard)
        masked = int((shard["masked_lm_positions"][:] > 0).sum())
        random_next = float(np.mean(shard["next_sentence_labels"][:] > 0))
    return (
        f"{path.name}: {rows:,} rows of {length}, {tokens:,} tokens"
        f" ({tokens / rows / length:.0%} full), {masked / tokens:.1%} masked,"
        f" {random_next:.0%} random next"
    )


def show(path: Path, tokenizer: Tokenizer, count: int) -> None:
    """Print the first rows, masked tokens as ``[shown->right]``."""
    with h5py.File(path, "r") as shard:
        rows = {name: shard[name][:count] for name in shard}
    for row in range(min(count, len(rows["input_ids"]))):
        ids = rows["input_ids"][row][rows["input_mask"][row] > 0]
        tokens = tokenizer.tokens(ids)
        positions, labels = rows["masked_lm_positions"][row], rows["masked_lm_ids"][row]
        for position, label in zip(positions.tolist(), labels.tolist(), strict=True):
            if position:
                (right,) = tokenizer.tokens([label])
                tokens[position] = f"[{tokens[position]}->{right}]"
        print(f"  {row}: {' '.join(tokens)}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tokenizer", type=Path)
    parser.add_argument("--rows", type=int, default=2, help="decoded rows a shard")
    args = parser.parse_args()

    if not args.folder.is_dir():
        raise UserError(f"{args.folder}: no such folder")
    tokenizer = load_tokenizer(args.tokenizer) if args.tokenizer else None
    shards = sorted([*args.folder.glob("*.hdf5"), *args.folder.glob("*.h5")])
    if not shards:
        raise UserError(f"{args.folder}: no shard (*.hdf5) in this folder")
    bad = 0
    for path in shards:
        found = faults(path, tokenizer.vocab_size if tokenizer else None)
        print(f"{path.name}: faulty" if found else describe(path))
        for fault in found:
            print(f"  fault: {fault}")
        if tokenizer and not found:
            show(path, tokenizer, args.rows)
        bad += bool(found)
    if bad:
        raise UserError(f"{args.folder}: {bad} of {len(shards)} shards have faults")


if __name__ == "__main__":
    run(main)
