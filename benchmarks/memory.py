"""Peak memory of every stage from text to shards, for texts of growing size.

    python benchmarks/memory.py --text en.txt --lang en --tokenizer folder \\
        --objective mlm_nsp --megabytes 10 100 1000

The text is repeated to the sizes asked for. What a job needs does not depend on the
size of the corpus.
"""

import argparse
import tempfile
from pathlib import Path

from jobs import Cost, job


def repeat(text: Path, size: int, output: Path) -> None:
    """Write ``text`` again and again, until ``size`` bytes are full."""
    content = text.read_bytes().rstrip(b"\n") + b"\n\n"
    with output.open("wb") as out:
        while out.tell() < size:
            out.write(content)


def stages(
    text: Path, lang: str, tokenizer: Path, objective: str, folder: Path
) -> dict[str, Cost]:
    """What each job on a text costs."""
    corpus, documents = folder / f"{lang}.txt", folder / f"{lang}.h5"
    return {
        "prepare_corpus": job("prepare_corpus.py", "--input", text, "--output", corpus),
        "tokenize_corpus": job(
            "tokenize_corpus.py", "--input", corpus, "--lang", lang, "--tokenizer",
            tokenizer, "--output", documents,
        ),
        "make_shards": job(
            "make_shards.py", "--tokenizer", tokenizer, "--monolingual",
            f"{lang}={documents}", "--objectives", f"{objective}=1", "--shards", 1,
            "--shard", 0, "--dupe", 0, "--output", folder / "0_training.hdf5",
        ),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--lang", default="en")
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--objective", default="mlm_nsp", help="mlm for an XLM")
    parser.add_argument("--megabytes", type=int, nargs="+", default=[10, 100])
    args = parser.parse_args()

    print("text MB  stage              peak MB   CPU s")
    for size in args.megabytes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            text = folder / "repeated.txt"
            repeat(args.text, size * 1_000_000, text)
            costs = stages(text, args.lang, args.tokenizer, args.objective, folder)
        for stage, cost in costs.items():
            megabytes = cost.peak_bytes / 1e6
            print(f"{size:7,}  {stage:16} {megabytes:9,.0f} {cost.cpu_seconds:7,.0f}")


if __name__ == "__main__":
    main()
