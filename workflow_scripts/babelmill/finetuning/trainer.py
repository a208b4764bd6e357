"""The fine-tuning loop: train, evaluate on dev, keep the best, resume."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from babelmill.finetuning.batches import Labeled, TrainingBatches
from babelmill.finetuning.duration import Duration
from babelmill.finetuning.evaluation import History, evaluate, to_tensors
from babelmill.finetuning.layers import decay_learning_rates, freeze_layers
from babelmill.finetuning.sparsity import Sparsity
from babelmill.heads import Encoded, Head
from babelmill.models.families import family
from babelmill.models.folders import load_config
from babelmill.models.weights import load_tensors, model_tensors
from babelmill.progress import bar
from babelmill.randomness import derived_seed
from babelmill.training.checkpoints import Checkpoints
from babelmill.training.optimization import Updates


def finetune(
    encoder: Path,
    settings: dict[str, Any],
    head: Head,
    train: Sequence[Labeled],
    dev: Mapping[str, Encoded],
    pad_id: int,
    checkpoints: Checkpoints,
):
    """Train on ``train``; select by the head's mean metric over ``dev``.

    Args:
        encoder: folder of a pretrained model.
        settings: ``finetuning`` of the config's schema, and ``seed``.
        dev: by language.

    Returns:
        the model with the weights of its best step, its config, and the records of
        every evaluation.
    """
    import paddle

    config = load_config(encoder)
    models = family(config)
    model = _fresh_model(models, config, encoder, settings, head)
    sparsity = Sparsity(model) if settings["sparsity"] else None
    if sparsity:
        sparsity.apply()
    batches = TrainingBatches(train, settings["batch_size"], pad_id, settings["seed"])
    duration = Duration.of(settings, batches.per_epoch)
    lengths = {"max_steps": duration.steps, "warmup_steps": duration.warmup_steps}
    updates = Updates(model, {**settings, **lengths}, settings["seed"])
    step, history = 0, History()
    if saved := checkpoints.load():
        arrays, values = saved
        load_tensors(model, arrays["weights"], Path("checkpoint"))
        updates.restore(arrays["optimizer"])
        step, history = values["step"], History.restored(arrays, values)
        print(f"resuming at step {step}")
    shown = bar("fine-tuning", "steps", total=duration.steps, initial=step)
    model.train()
    for batch, targets in batches.from_step(step, duration.steps):
        if duration.stops_after(history.scores):
            break
        updates.begin(step)
        logits = models.classify(model, to_tensors(batch))
        loss = head.loss(logits, paddle.to_tensor(targets)) / head.count(targets)
        history.losses.append(updates.apply(loss, step))
        if sparsity:
            sparsity.apply()
        step += 1
        shown.update()
        if duration.evaluates_after(step):
            scores = {
                lang: evaluate(models, model, encoded, head, pad_id)
                for lang, encoded in dev.items()
            }
            history.add(step, scores, model)
            shown.set_postfix_str(f"dev {scores}")
        if step % settings["save_steps"] == 0 or step == duration.steps:
            arrays = {"weights": model_tensors(model), "optimizer": updates.state()}
            checkpoints.save(
                step, arrays | history.arrays(), {"step": step, **history.values()}
            )
    shown.close()
    load_tensors(model, history.best, Path("best step"))
    return model, config, history.records


def _fresh_model(
    models: ModuleType,
    config: dict[str, Any],
    encoder: Path,
    settings: Mapping[str, Any],
    head: Head,
):
    """The pretrained encoder below a new head, and what of it is not to be trained."""
    import paddle

    # Also the seed of the new head's weights.
    paddle.seed(derived_seed(settings["seed"], "head"))
    model = models.classification_model(
        config, head.outputs, settings["dropout"], head.kind
    )
    models.load_pretrained_encoder(model, encoder)
    if settings["center_languages"] and "lang_ids" in models.input_fields(config):
        models.center_languages(model, encoder)
    if settings["freeze_embeddings"]:
        models.freeze_embeddings(model)
    freeze_layers(model, settings["freeze_layers"])
    decay_learning_rates(model, settings["layerwise_lr_decay"])
    return model
