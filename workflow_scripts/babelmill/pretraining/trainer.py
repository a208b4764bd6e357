"""The training loop: steps, validation, checkpoints, resuming."""

import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from babelmill.models import xlm
from babelmill.models.weights import load_tensors, model_tensors
from babelmill.pretraining import masked_lm
from babelmill.pretraining.examples import ShardRows, global_batches
from babelmill.progress import bar
from babelmill.training.checkpoints import Checkpoints
from babelmill.training.optimization import Updates

Records = list[dict[str, Any]]


def pretrain(
    config: dict[str, Any],
    settings: dict[str, Any],
    shards: list[Path],
    validation: Path,
    checkpoints: Checkpoints,
):
    """Train from random weights, or go on from the newest checkpoint.

    Args:
        config: of the model, as ``xlm.full_config`` gives it.
        settings: ``seed, max_steps, global_batch_size, logging_steps, save_steps,
            eval_steps`` and what ``Updates`` wants.

    Returns:
        the model and its records: a line a logged step, a line a validation.
    """
    import paddle

    seed = settings["seed"]
    paddle.seed(seed)
    model = xlm.pretraining_model(config)
    updates = Updates(model, settings, seed)
    step, records, window = 0, [], []
    if saved := checkpoints.load():
        arrays, values = saved
        load_tensors(model, arrays["weights"], Path("checkpoint"))
        updates.restore(arrays["optimizer"])
        step, records, window = (values[k] for k in ("step", "records", "window"))
        print(f"resuming at step {step}")
    model.train()
    rows = ShardRows(shards)
    source = global_batches(rows, settings["global_batch_size"], seed, step)
    steps = settings["max_steps"]
    shown = bar("pretraining", "steps", total=steps, initial=step)
    tokens, started = 0, time.perf_counter()
    while step < steps:
        share = next(source)
        (batch,) = share.micro_batches
        updates.begin(step)
        window.append(updates.apply(masked_lm.loss(model, batch), step))
        tokens += share.tokens
        step += 1
        shown.update()
        if step % settings["logging_steps"] == 0 or step == steps:
            speed = tokens / (time.perf_counter() - started)
            shown.set_postfix_str(f"loss {np.mean(window):.3f}, {speed:.0f} tokens/s")
            records.append({"step": step, "loss": round(float(np.mean(window)), 6)})
            window, tokens, started = [], 0, time.perf_counter()
        if step % settings["eval_steps"] == 0 or step == steps:
            scores = validate(model, validation, config["lang2id"])
            records.append({"step": step, "validation": scores})
            print(f"step {step}: validation {summary(scores)}", flush=True)
        if step % settings["save_steps"] == 0 or step == steps:
            arrays = {"weights": model_tensors(model), "optimizer": updates.state()}
            values = {"step": step, "records": records, "window": window}
            checkpoints.save(step, arrays, values)
    shown.close()
    return model, records


def validate(model, path: Path, lang2id: dict[str, int]) -> dict[str, Any]:
    """Loss (nats), perplexity and accuracy of the held-out rows, by language.

    A row of a translation pair counts for the language of each masked position; rows
    of one language (MLM) and of two (TLM) are kept apart, named ``en`` and ``en+``.
    """
    names = {number: lang for lang, number in lang2id.items()}
    sums: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(3))
    model.eval()
    with h5py.File(path, "r") as shard:
        for start in range(0, len(shard["input_ids"]), 64):
            rows = {name: shard[name][start : start + 64] for name in shard}
            # Positions restart only in rows of two languages.
            restarts = (np.diff(rows["position_ids"], axis=1) < 0) & (
                rows["input_mask"][:, 1:] > 0
            )
            for pairs, suffix in ((False, ""), (True, "+")):
                chosen = np.flatnonzero(restarts.any(1) == pairs)
                if not len(chosen):
                    continue
                part = {name: values[chosen] for name, values in rows.items()}
                losses, right, langs = masked_lm.losses_by_language(model, part)
                for lang in np.unique(langs):
                    here = langs == lang
                    sums[names[int(lang)] + suffix] += (
                        losses[here].sum(),
                        right[here].sum(),
                        here.sum(),
                    )
    model.train()
    return {
        name: {
            "loss": round(loss / count, 6),
            "perplexity": round(float(np.exp(loss / count)), 4),
            "accuracy": round(right / count, 6),
            "n": int(count),
        }
        for name, (loss, right, count) in sorted(sums.items())
    }


def summary(scores: dict[str, Any]) -> str:
    """One line of perplexities."""
    return ", ".join(
        f"{name} {score['perplexity']:.1f}" for name, score in scores.items()
    )
