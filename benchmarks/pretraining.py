"""Tokens a second of pretraining, against PaddleNLP's dynamic loop and each other.

    python benchmarks/pretraining.py [--steps 30] [--rounds 3]

One BERT (2 layers of 128, a vocabulary of 8,000) on the same rows of 128 with a mean of
half of that in real tokens, one thread a process. PaddleNLP's loop is rebuilt from its
parts: whole-file h5py, numpy batches padded to 128, num_workers 0, the vocabulary at
masked positions only, AdamW, dygraph. Tokens are real ones: padding does not count.
Rounds take turns, and the best of each counts.
"""

import argparse
import contextlib
import io
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "workflow_scripts"))

import h5py
import numpy as np

from babelmill.models import runtime
from babelmill.models.families import family
from babelmill.pretraining.examples import ShardRows, global_batches
from babelmill.pretraining.objectives import objective, parts
from babelmill.shards.layout import write_shard
from babelmill.training.engines import make_engine
from babelmill.training.launch import launch
from babelmill.training.optimization import make_optimizer
from babelmill.training.processes import join
from babelmill.training.read_ahead import read_ahead
from babelmill.training.steps import Steps

BATCH, LENGTH, MASKED = 32, 128, 20
CONFIG = {
    **{"model_type": "bert", "hidden_size": 128, "num_hidden_layers": 2},
    **{"num_attention_heads": 2, "intermediate_size": 512, "vocab_size": 8000},
    **{"max_position_embeddings": LENGTH, "pad_token_id": 0},
}
SETTINGS = {
    **{"seed": 1, "learning_rate": 1e-4, "lr_scheduler_type": "linear"},
    **{"warmup_steps": 10, "max_steps": 10000, "weight_decay": 0.01},
    **{"adam_beta1": 0.9, "adam_beta2": 0.999, "adam_epsilon": 1e-8},
    "max_grad_norm": 1.0,
}


def make_rows(path: Path, count: int = 2048) -> None:
    """Random rows; short ones as short_seq_prob and ends of documents make them."""
    rng = np.random.default_rng(1)
    lengths = rng.integers(8, LENGTH + 1, count)
    real = np.arange(LENGTH) < lengths[:, None]
    positions = np.zeros((len(real), MASKED), int)
    for row, length in enumerate(lengths):
        count = min(MASKED, max(1, round(0.15 * length)))
        positions[row, :count] = np.sort(rng.permutation(length - 2)[:count] + 1)
    rows = {
        "input_ids": np.where(real, rng.integers(5, 8000, real.shape), 0),
        "input_mask": real,
        "segment_ids": np.zeros(real.shape),
        "masked_lm_positions": positions,
        "masked_lm_ids": np.where(positions, rng.integers(5, 8000, positions.shape), 0),
        "next_sentence_labels": rng.integers(0, 2, len(real)),
    }
    write_shard(path, [rows])


def model():
    import paddle

    paddle.seed(1)
    return family(CONFIG).pretraining_model(CONFIG)


def ours(path: Path, engine: str, steps: int, rank: int = 0, world: int = 1) -> float:
    """Tokens a second of an engine of ours."""
    updates = Steps(
        make_engine(engine, model(), objective(family(CONFIG)), SETTINGS, world=world),
        SETTINGS,
        rank,
    )
    shares = global_batches(ShardRows([path]), BATCH, 1, 0, rank, world)
    fields = family(CONFIG).input_fields(CONFIG)
    source = read_ahead(((parts(s, fields), s.tokens) for s in shares), 4)
    tokens = 0
    for step in range(steps + 3):
        if step == 3:
            tokens, start = 0, time.perf_counter()
        given, count = next(source)
        updates.take(given, step)
        tokens += count
    speed = tokens / (time.perf_counter() - start)
    source.close()
    return speed


def theirs(path: Path, steps: int) -> float:
    """Tokens a second of PaddleNLP's loop."""
    import paddle
    import paddle.nn.functional as F

    layer = model()
    layer.train()
    parameters = dict(layer.named_parameters())
    optimizer = make_optimizer(
        SETTINGS, parameters, 1e-4, paddle.nn.ClipGradByGlobalNorm(1.0)
    )
    with h5py.File(path) as shard:
        rows = {name: shard[name][:] for name in shard}
    order = np.random.default_rng(1).permutation(len(rows["input_ids"]))
    tokens = 0
    for step in range(steps + 3):
        if step == 3:
            tokens, start = 0, time.perf_counter()
        at = step * BATCH % len(order)
        batch = {name: values[order[at : at + BATCH]] for name, values in rows.items()}
        row, slot = np.nonzero(batch["masked_lm_positions"])
        flat = row * LENGTH + batch["masked_lm_positions"][row, slot]
        labels = batch["masked_lm_ids"][row, slot].astype("int64")
        mask = (1.0 - batch["input_mask"].astype("float32"))[:, None, None] * -1e4
        words, pairs = layer(
            input_ids=paddle.to_tensor(batch["input_ids"].astype("int64")),
            token_type_ids=paddle.to_tensor(batch["segment_ids"].astype("int64")),
            attention_mask=paddle.to_tensor(mask),
            masked_positions=paddle.to_tensor(flat),
        )
        loss = F.cross_entropy(words, paddle.to_tensor(labels), reduction="none")
        next_labels = paddle.to_tensor(batch["next_sentence_labels"].astype("int64"))
        loss = (loss / len(labels)).sum() + F.cross_entropy(pairs, next_labels)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        tokens += int(batch["input_mask"].sum())
    return tokens / (time.perf_counter() - start)


def in_processes(path: Path, world: int, engine: str, steps: int) -> float:
    """Tokens a second of one or two processes, each on a core of its own."""
    arguments = ["--worker", str(path), "--engine", engine, "--steps", str(steps)]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        launch(__file__, arguments, world, [])
    return float(printed.getvalue().splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    args = parser.parse_args()
    runtime.prepare(0, threads=1)
    if args.worker:
        these = join("cpu")
        print(ours(args.worker, args.engine, args.steps, these.rank, these.world))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "bench_training.hdf5")
        make_rows(path)
        cases = {
            "PaddleNLP's loop": lambda: theirs(path, args.steps),
            "dynamic": lambda: ours(path, "dynamic", args.steps),
            "static": lambda: ours(path, "static", args.steps),
            "1 process": lambda: in_processes(path, 1, "dynamic", args.steps),
            "2 processes": lambda: in_processes(path, 2, "dynamic", args.steps),
        }
        best = dict.fromkeys(cases, 0.0)
        for _ in range(args.rounds):
            for name, run in cases.items():
                best[name] = max(best[name], run())
    for name, speed in best.items():
        print(f"{name:18} {speed:8.0f} tokens/s")
    for name, other, wanted in (
        ("dynamic", "PaddleNLP's loop", 1.2),
        ("static", "dynamic", 1.0),
        ("2 processes", "1 process", 1.8),
    ):
        ratio = best[name] / best[other]
        print(f"{name} / {other}: {ratio:.2f} (wanted: {wanted})")


if __name__ == "__main__":
    main()
