"""List the shards of a model with rows, tokens and checksums.

    python workflow_scripts/write_manifest.py --shards results/shards/news/*.hdf5 \\
        --settings '{"max_seq_length": 64}' --tokenizer results/tokenizers/news-bpe \\
        --output results/shards/news/manifest.json
"""

import argparse
import json
from pathlib import Path

from babelmill.files import sha256, write_json
from babelmill.progress import progress
from babelmill.script import run
from babelmill.shards.layout import count_tokens, open_shard
from babelmill.tokenizers import load_tokenizer
from babelmill.tokenizers.folder import read_config


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shards", type=Path, nargs="+", required=True)
    parser.add_argument("--settings", type=json.loads, default={})
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args()

    files = {}
    for path in progress(sorted(args.shards), "checksums", "shards"):
        with open_shard(path) as shard:
            rows, tokens = len(shard["input_ids"]), count_tokens(shard)
        files[path.name] = {"rows": rows, "tokens": tokens, "sha256": sha256(path)}
    manifest = {
        "files": files,
        "settings": args.settings,
        "tokenizer": {
            **read_config(args.tokenizer),
            "fingerprint": load_tokenizer(args.tokenizer).fingerprint,
        },
    }
    write_json(args.output, manifest)


if __name__ == "__main__":
    run(main)
