"""The fine-tuning loop: train, evaluate on dev, keep the best, resume."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

from babelmill.finetuning.batches import Labeled, TrainingBatches
from babelmill.finetuning.duration import Duration
from babelmill.finetuning.evaluation import History, evaluate
from babelmill.finetuning.layers import decay_learning_rates, freeze_layers
from babelmill.finetuning.objective import of_parts
from babelmill.finetuning.sparsity import prune
from babelmill.heads import Encoded, Head
from babelmill.models.families import family
from babelmill.models.folders import load_config
from babelmill.models.weights import load_tensors
from babelmill.progress import bar
from babelmill.randomness import derived_seed
from babelmill.training.checkpoints import Checkpoints
from babelmill.training.curves import Curves
from babelmill.training.engines import make_engine
from babelmill.training.interruption import Interruption
from babelmill.training.meter import Meter
from babelmill.training.profiling import Profiler
from babelmill.training.read_ahead import read_ahead
from babelmill.training.run import Run
from babelmill.training.steps import Steps

_BATCHES_AHEAD = 4


def finetune(
    encoder: Path,
    settings: dict[str, Any],
    head: Head,
    train: Labeled,
    dev: Mapping[str, Encoded],
    pad_id: int,
    checkpoints: Checkpoints,
    run: Run | None = None,
):
    """Train on ``train``; select by the head's mean metric over ``dev``.

    Args:
        encoder: folder of a pretrained model.
        settings: ``finetuning`` of the config's schema, and ``seed``.
        dev: by language.

    Returns:
        the model with the weights of its best step, its config, and the records of
        every evaluation.

    Raises:
        SystemExit: the run was warned to stop, and has saved its state.
        UserError: the loss is no number.
    """
    config = load_config(encoder)
    trainer = _Trainer(config, settings, head, dev, pad_id, checkpoints, run or Run())
    trainer.start(encoder, train)
    # Not before: importing PaddleNLP's models takes Paddle's signal handlers away, and
    # Python's with them. Before the first step there is nothing to save.
    with closing(trainer), trainer.interruption:
        trainer.train()
    return trainer.best(), config, trainer.history.records


class _Trainer:
    def __init__(
        self,
        config: dict[str, Any],
        settings: dict[str, Any],
        head: Head,
        dev: Mapping[str, Encoded],
        pad_id: int,
        checkpoints: Checkpoints,
        run: Run,
    ):
        self._config, self._settings, self._run = config, settings, run
        self._head, self._dev, self._pad_id = head, dev, pad_id
        self._checkpoints = checkpoints
        self._family = family(config)
        self._step, self.history = 0, History()
        self.interruption = Interruption()
        first = run.processes.is_first
        self._curves = Curves(run.log_dir if first else None)
        self._profiler = Profiler(run.profiler_options if first else None)

    def start(self, encoder: Path, train: Labeled) -> None:
        """Make the engine, and fill it from the newest checkpoint if there is one."""
        saved = self._checkpoints.load()
        settings, head = self._settings, self._head
        self._batches = TrainingBatches(
            train,
            head,
            self._family.input_fields(self._config),
            settings["batch_size"],
            self._pad_id,
            settings["seed"],
            self._run,
        )
        self._duration = Duration.of(settings, self._batches.per_epoch)
        lengths = {
            "max_steps": self._duration.steps,
            "warmup_steps": self._duration.warmup_steps,
        }
        model = _fresh_model(self._family, self._config, encoder, settings, head)
        self._engine = make_engine(
            self._run.engine,
            model,
            of_parts(head, self._family),
            {**settings, **lengths},
            masks=prune(model) if settings["sparsity"] else None,
            **self._run.engine_options(),
        )
        self._steps = Steps(self._engine, settings, self._run.processes.rank)
        if saved:
            arrays, values = saved
            self._engine.restore(arrays)
            self._step, self.history = values["step"], History.restored(arrays, values)
            self._steps.scale.restore(values["loss_scale"])
            print(f"resuming at step {self._step}", flush=True)

    def train(self) -> None:
        """Do the steps that are left, unless no evaluation gets better any more."""
        steps, processes = self._duration.steps, self._run.processes
        shown = bar("fine-tuning", "steps", total=steps, initial=self._step)
        shown.disable = not processes.is_first
        meter = Meter()
        batches = self._batches.from_step(self._step, steps)
        with closing(read_ahead(batches, _BATCHES_AHEAD)) as source:
            while self._step < steps and not self._is_enough():
                with meter.reading():
                    parts, tokens = next(source)
                result = self._steps.take(parts, self._step)
                self.history.losses.append(result.loss)
                self._step += 1
                meter.add(tokens)
                shown.update()
                self._profiler.step()
                if self._duration.evaluates_after(self._step):
                    self._evaluate(shown, meter)
                stop = processes.any(self.interruption.requested)
                last = self._step == steps
                if last or stop or self._step % self._settings["save_steps"] == 0:
                    self._save()
                if stop and not last:
                    self.interruption.stop(self._step)
        shown.close()

    def _is_enough(self) -> bool:
        return self._duration.stops_after(self.history.scores)

    def _evaluate(self, shown, meter: Meter) -> None:
        speed = meter.summary(), meter.speed()
        model = self._engine.layer()
        scores = {
            lang: evaluate(
                self._family,
                model,
                encoded,
                self._head,
                self._pad_id,
                self._run.processes,
            )
            for lang, encoded in self._dev.items()
        }
        record = self.history.add(self._step, scores, model)
        shown.set_postfix_str(f"dev {record['dev_mean']:.4f}, {speed[0]}")
        curves = {f"dev/{lang}": value for lang, value in scores.items()}
        self._curves.add(
            self._step, loss=record["loss"], tokens_per_second=speed[1], **curves
        )
        meter.restart()

    def _save(self) -> None:
        processes = self._run.processes
        if processes.is_first:
            values = {
                "step": self._step,
                "loss_scale": self._steps.scale.state(),
                **self.history.values(),
            }
            arrays = {**self._engine.state(), **self.history.arrays()}
            self._checkpoints.save(self._step, arrays, values)
        processes.wait_for_first(f"saved step {self._step}")

    def best(self):
        """The model with the weights of its best step."""
        model = self._engine.layer()
        load_tensors(model, self.history.best, Path("best step"))
        return model

    def close(self) -> None:
        """Write what curves and profiler still hold."""
        self._curves.close()
        self._profiler.close()


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
