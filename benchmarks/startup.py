"""Seconds that pretrain.py needs for a single step, from the call to the last file.

    python benchmarks/startup.py [--rounds 3]

The BERT and the rows of benchmarks/pretraining.py. Imports, the engine, the step, its
validation, the checkpoint and the output are all in it: an upper bound of the time to
the first step. The best of all rounds counts.
"""

import argparse
import json
import tempfile
import time
from itertools import product
from pathlib import Path

from jobs import job
from pretraining import CONFIG, SETTINGS, make_rows

WANTED = 10  # Seconds.
SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
ARCHITECTURE = {
    name: value
    for name, value in CONFIG.items()
    if name not in ("vocab_size", "pad_token_id")
}
STEP = {
    **SETTINGS,
    **{"max_steps": 1, "warmup_steps": 0, "global_batch_size": 32},
    **{"save_steps": 1, "logging_steps": 1, "eval_steps": 1, "dynamic_masking": False},
}


def call(folder: Path) -> list[object]:
    """Make what pretrain.py wants; its command."""
    words = (f"w{number}" for number in range(CONFIG["vocab_size"] - len(SPECIALS)))
    (folder / "vocab.txt").write_text("\n".join((*SPECIALS, *words)) + "\n", "utf-8")
    job("install_tokenizer.py", "--type", "bert", "--vocab_file", folder / "vocab.txt",
        "--output_dir", folder / "tokenizer")  # fmt: skip
    make_rows(folder / "0_training.hdf5")
    make_rows(folder / "validation.hdf5", 64)
    job("write_manifest.py", "--shards", folder / "0_training.hdf5",
        folder / "validation.hdf5", "--tokenizer", folder / "tokenizer",
        "--output", folder / "manifest.json")  # fmt: skip
    return [
        *("pretrain.py", "--shards", folder / "0_training.hdf5"),
        *("--validation", folder / "validation.hdf5"),
        *("--manifest", folder / "manifest.json"),
        *(
            "--tokenizer",
            folder / "tokenizer",
            "--architecture",
            json.dumps(ARCHITECTURE),
        ),
        *("--settings", json.dumps(STEP)),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        command = call(Path(name))
        for engine, devices in product(("dynamic", "static"), (1, 2)):
            seconds = []
            for number in range(args.rounds):
                out = Path(name, f"{engine}{devices}.{number}")
                start = time.perf_counter()
                job(
                    *(*command, "--engine", engine),
                    *("--devices", devices, "--threads", devices),
                    *("--state", out / "state", "--output_dir", out / "model"),
                )
                seconds.append(time.perf_counter() - start)
            processes = f"{devices} process{'es' * (devices > 1)}"
            print(
                f"{engine:8} {processes:12} {min(seconds):5.1f} s (wanted: {WANTED})",
                flush=True,
            )


if __name__ == "__main__":
    main()
