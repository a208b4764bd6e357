"""Sequences per CPU-second from text to HDF5, against PaddleNLP's script.

    python benchmarks/shards.py --text news.txt web.txt --vocab_file vocab.txt \\
        --peer create_pretraining_data.py

Sentence pairs of 128 tokens, dupe_factor 5, from texts in the format that both read (a
sentence a line, blank lines between documents). Ours is what the workflow does, as jobs
of their own, with one worker and with two: preparing and tokenizing each text, and one
job for each of 2 shards and 5 dupes. The peer is PaddleNLP's create_pretraining_data.py
(slm/model_zoo/bert/static), called as its README does. Start-up is charged to both.
"""

import argparse
import shutil
import tempfile
from pathlib import Path

import h5py
from jobs import job, side_by_side

SHARDS, DUPES, LENGTH = 2, 5, 128


def rows(folder: Path) -> int:
    """Sequences in the shards of a folder."""
    counts = []
    for path in folder.glob("*training*"):
        with h5py.File(path) as shard:
            counts.append(len(shard["input_ids"]))
    return sum(counts)


def ours(
    texts: list[Path], vocab: Path, folder: Path, workers: int
) -> tuple[float, float]:
    """CPU-seconds and seconds of the workflow's jobs."""
    tokenizer = folder / "tokenizer"
    job("install_tokenizer.py", "--type", "bert", "--vocab_file", vocab,
        "--output_dir", tokenizer)  # fmt: skip
    corpora = [folder / f"{n}.txt" for n in range(len(texts))]
    documents = [corpus.with_suffix(".h5") for corpus in corpora]
    stages = [
        [["prepare_corpus.py", "--input", text, "--output", corpus]
         for text, corpus in zip(texts, corpora, strict=True)],
        [["tokenize_corpus.py", "--input", corpus, "--lang", "en", "--tokenizer",
          tokenizer, "--output", output]
         for corpus, output in zip(corpora, documents, strict=True)],
        [["make_shards.py", "--tokenizer", tokenizer, "--monolingual",
          *(f"en={path}" for path in documents), "--objectives", "mlm_nsp=1",
          "--shards", SHARDS, "--shard", shard, "--dupe", dupe, "--max_seq_length",
          LENGTH, "--validation_fraction", 0, "--output",
          folder / f"{shard}-of-{SHARDS}.dupe{dupe}_training.hdf5"]
         for shard in range(SHARDS) for dupe in range(DUPES)],
    ]  # fmt: skip
    cpu = seconds = 0.0
    for stage in stages:
        costs, wall = side_by_side(stage, workers)
        cpu += sum(cost.cpu_seconds for cost in costs)
        seconds += wall
    return cpu, seconds


def theirs(
    peer: Path, texts: list[Path], vocab: Path, folder: Path
) -> tuple[float, float]:
    """CPU-seconds and seconds of the peer."""
    # Its vocabulary comes from bert_model alone, which may be a folder.
    model = folder / "model"
    model.mkdir()
    shutil.copyfile(vocab, model / "vocab.txt")
    text = folder / "all.txt"
    text.write_text("\n".join(path.read_text("utf-8") for path in texts), "utf-8")
    (cost,), seconds = side_by_side(
        [[peer.resolve(), "--input_file", text, "--bert_model", model, "--output_file",
          folder / "peer_training.hdf5", "--max_seq_length", LENGTH, "--dupe_factor",
          DUPES]], 1)  # fmt: skip
    return cost.cpu_seconds, seconds


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--text", type=Path, nargs="+", required=True)
    parser.add_argument("--vocab_file", type=Path, required=True)
    parser.add_argument("--peer", type=Path, help="create_pretraining_data.py")
    args = parser.parse_args()

    runs = {
        f"babelmill, {n} worker{'s' * (n > 1)}": lambda f, n=n: ours(
            args.text, args.vocab_file, f, n
        )
        for n in (1, 2)
    }
    if args.peer:
        runs["paddlenlp"] = lambda f: theirs(args.peer, args.text, args.vocab_file, f)
    print(
        "program               sequences   CPU s      s  sequences/CPU s  sequences/s"
    )
    speeds = {}
    for name, run in runs.items():
        with tempfile.TemporaryDirectory() as folder:
            cpu, seconds = run(Path(folder))
            count = rows(Path(folder))
        speeds[name] = count / cpu, count / seconds
        print(
            f"{name:20} {count:10,} {cpu:7.1f} {seconds:6.1f}"
            f" {count / cpu:16,.0f} {count / seconds:12,.0f}",
            flush=True,
        )
    (one, one_wall), (_, two_wall), *peer = speeds.values()
    print(f"two workers against one: {two_wall / one_wall:.2f} times as fast")
    if peer:
        print(f"against paddlenlp: {one / peer[0][0]:.1f} times a CPU-second")


if __name__ == "__main__":
    main()
