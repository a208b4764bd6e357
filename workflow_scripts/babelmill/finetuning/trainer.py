"""The fine-tuning loop: train, evaluate on dev, keep the best, resume."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from babelmill.metrics import score
from babelmill.models.families import family
from babelmill.models.folders import load_config
from babelmill.models.inputs import Batch, Inputs, collate, sorted_batches
from babelmill.models.weights import load_tensors, model_tensors
from babelmill.progress import bar
from babelmill.randomness import derived_seed, stream
from babelmill.training.checkpoints import Checkpoints
from babelmill.training.optimization import Updates

_BATCHES_PER_WINDOW = 50
_EVALUATION_BATCH = 64


@dataclass(frozen=True)
class Labeled:
    """The inputs of one language with their label numbers, (examples,) int64."""

    inputs: Inputs
    labels: np.ndarray


def finetune(
    encoder: Path,
    settings: dict[str, Any],
    labels: list[str],
    metric: str,
    train: list[Labeled],
    dev: dict[str, Labeled],
    pad_id: int,
    checkpoints: Checkpoints,
):
    """Train a classifier on ``train``; select by the mean ``metric`` over ``dev``.

    Args:
        encoder: folder of a pretrained model.
        settings: ``seed, num_train_epochs, batch_size, warmup_proportion, dropout,
            evaluations_per_epoch, save_steps, center_languages, freeze_embeddings``
            and what ``Updates`` wants.

    Returns:
        the model with the weights of its best step, its config, and the records of
        every evaluation.
    """
    import paddle

    seed = settings["seed"]
    config = load_config(encoder)
    models = family(config)
    # Also the seed of the new head's weights.
    paddle.seed(derived_seed(seed, "head"))
    model = models.classification_model(config, len(labels), settings["dropout"])
    models.load_pretrained_encoder(model, encoder)
    if settings["center_languages"] and "lang_ids" in models.input_fields(config):
        models.center_languages(model, encoder)
    if settings["freeze_embeddings"]:
        models.freeze_embeddings(model)
    batches = TrainingBatches(train, settings["batch_size"], pad_id, seed)
    steps = batches.per_epoch * settings["num_train_epochs"]
    warmup = int(steps * settings["warmup_proportion"])
    updates = Updates(
        model, {**settings, "max_steps": steps, "warmup_steps": warmup}, seed
    )
    every = max(1, batches.per_epoch // settings["evaluations_per_epoch"])
    step, records, window, best = 0, [], [], None
    if saved := checkpoints.load():
        arrays, values = saved
        load_tensors(model, arrays["weights"], Path("checkpoint"))
        updates.restore(arrays["optimizer"])
        best = arrays.get("best")
        step, records, window = (values[k] for k in ("step", "records", "window"))
        print(f"resuming at step {step}")
    shown = bar("fine-tuning", "steps", total=steps, initial=step)
    model.train()
    for batch, targets in batches.from_step(step, steps):
        updates.begin(step)
        logits = models.classify(model, to_tensors(batch))
        loss = paddle.nn.functional.cross_entropy(logits, paddle.to_tensor(targets))
        window.append(updates.apply(loss, step))
        step += 1
        shown.update()
        if step % every == 0 or step == steps:
            scores = {
                lang: evaluate(models, model, examples, metric, pad_id)
                for lang, examples in dev.items()
            }
            record = {
                "step": step,
                "loss": round(float(np.mean(window)), 6),
                "dev": scores,
                "dev_mean": float(np.mean(list(scores.values()))),
            }
            window = []
            if all(record["dev_mean"] > r["dev_mean"] for r in records):
                best = model_tensors(model)
            records.append(record)
            shown.set_postfix_str(f"loss {record['loss']:.3f}, {metric} {scores}")
        if step % settings["save_steps"] == 0 or step == steps:
            arrays = {"weights": model_tensors(model), "optimizer": updates.state()}
            if best is not None:
                arrays["best"] = best
            values = {"step": step, "records": records, "window": window}
            checkpoints.save(step, arrays, values)
    shown.close()
    load_tensors(model, best, Path("best step"))
    return model, config, records


class TrainingBatches:
    """Every example once an epoch, in batches of like length, shuffled by the seed."""

    def __init__(self, train: list[Labeled], batch_size: int, pad_id: int, seed: int):
        self._ids = [ids for part in train for ids in part.inputs.input_ids]
        self._segments = [s for part in train for s in part.inputs.segment_ids]
        self._langs = np.concatenate(
            [np.full(len(part.labels), part.inputs.lang_id) for part in train]
        )
        self._labels = np.concatenate([part.labels for part in train])
        self._lengths = np.fromiter(map(len, self._ids), np.int64, len(self._ids))
        self._batch_size, self._pad_id, self._seed = batch_size, pad_id, seed
        self.per_epoch = -(-len(self._ids) // batch_size)

    def from_step(self, step: int, steps: int) -> Iterator[tuple[Batch, np.ndarray]]:
        """Yield the batches of steps ``step`` to ``steps`` with their labels."""
        while step < steps:
            epoch, at = divmod(step, self.per_epoch)
            for rows in self._epoch(epoch)[at : at + steps - step]:
                batch = collate(
                    [self._ids[i] for i in rows],
                    [self._segments[i] for i in rows],
                    self._langs[rows],
                    self._pad_id,
                )
                yield batch, self._labels[rows]
                step += 1

    def _epoch(self, epoch: int) -> list[np.ndarray]:
        rng = stream(self._seed, "fine-tuning epoch", epoch)
        order = rng.permutation(len(self._ids))
        window = self._batch_size * _BATCHES_PER_WINDOW
        batches = []
        for start in range(0, len(order), window):
            part = order[start : start + window]
            part = part[np.argsort(self._lengths[part], kind="stable")]
            batches += [
                part[i : i + self._batch_size]
                for i in range(0, len(part), self._batch_size)
            ]
        return [batches[i] for i in rng.permutation(len(batches))]


def to_tensors(batch: Batch) -> dict[str, Any]:
    """A batch of arrays as Paddle tensors."""
    import paddle

    return {name: paddle.to_tensor(value) for name, value in batch.items()}


def evaluate(
    models: ModuleType, model, examples: Labeled, metric: str, pad_id: int
) -> float:
    """The metric of a model of a family on the examples of one language."""
    import paddle

    predictions = np.zeros(len(examples.labels), np.int64)
    model.eval()
    with paddle.no_grad():
        for rows, batch in sorted_batches(examples.inputs, _EVALUATION_BATCH, pad_id):
            logits = models.classify(model, to_tensors(batch))
            predictions[rows] = logits.argmax(-1).numpy()
    model.train()
    return float(score(metric, examples.labels, predictions))
