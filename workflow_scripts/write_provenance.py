"""Say where the numbers of a table come from.

    python workflow_scripts/write_provenance.py --scores results/scores.csv \\
        --tables results/xnli_table.csv --manifests results/shards/*/manifest.json \\
        --config '{...}' --code . --output results/provenance.json

writes checksums of the tables, the scores, every shard, the files of published encoders
and every source file of the workflow, the whole config, and the versions of the
libraries that decide results.
"""

import argparse
import contextlib
import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from platform import python_version

from babelmill.files import fingerprint, read_json, sha256, write_json
from babelmill.script import run

LIBRARIES = (
    "paddlepaddle",
    "paddlepaddle-gpu",
    "paddlenlp",
    "numpy",
    "h5py",
    "tokenizers",
    "sacremoses",
    "pythainlp",
    "jieba",
    "scikit-learn",
    "snakemake",
)
SOURCES = ("Snakefile", "rules/*.smk", "workflow_scripts/**/*.py", "schemas/*.yaml")


def installed(names: tuple[str, ...]) -> dict[str, str]:
    """The versions of those packages that are installed."""
    versions = {}
    for name in names:
        with contextlib.suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scores", type=Path, required=True)
    parser.add_argument("--tables", type=Path, nargs="+", required=True)
    parser.add_argument("--manifests", type=Path, nargs="*", default=[])
    parser.add_argument("--encoders", type=Path, nargs="*", default=[])
    parser.add_argument("--config", type=json.loads, required=True)
    parser.add_argument("--code", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args()

    files = sorted(path for pattern in SOURCES for path in args.code.glob(pattern))
    code = {str(path.relative_to(args.code)): sha256(path) for path in files}
    write_json(
        args.output,
        {
            "tables": {str(path): sha256(path) for path in args.tables},
            "scores_sha256": sha256(args.scores),
            "config": args.config,
            "config_fingerprint": fingerprint(args.config),
            "code": code,
            "code_fingerprint": fingerprint(code),
            "encoders": {str(path): sha256(path) for path in args.encoders},
            "shards": {str(path): read_json(path)["files"] for path in args.manifests},
            "python": python_version(),
            "libraries": installed(LIBRARIES),
        },
    )


if __name__ == "__main__":
    run(main)
