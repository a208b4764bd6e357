"""The training loop: steps, validation, checkpoints, resuming."""

import math
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from babelmill.errors import UserError
from babelmill.models.families import family
from babelmill.pretraining.examples import ShardRows, global_batches
from babelmill.pretraining.objectives import objective, parts
from babelmill.pretraining.remasking import Remasking
from babelmill.pretraining.validation import summary, validate
from babelmill.progress import bar
from babelmill.training.checkpoints import Checkpoints
from babelmill.training.curves import Curves
from babelmill.training.engines import Part, make_engine
from babelmill.training.interruption import Interruption
from babelmill.training.meter import Meter
from babelmill.training.profiling import Profiler
from babelmill.training.read_ahead import read_ahead
from babelmill.training.run import Run
from babelmill.training.steps import StepResult, Steps
from babelmill.training.watch import LossWatch

Records = list[dict[str, Any]]

_BATCHES_AHEAD = 4


def pretrain(
    config: dict[str, Any],
    settings: dict[str, Any],
    shards: list[Path],
    validation: Path,
    checkpoints: Checkpoints,
    run: Run | None = None,
    first_weights: Path | None = None,
    remask: Remasking | None = None,
):
    """Train from random or given weights, or go on from the newest checkpoint.

    Args:
        config: of the model, as its family's ``full_config`` gives it.
        settings: ``seed, max_steps, global_batch_size, logging_steps, save_steps,
            eval_steps``, and what ``make_optimizer`` and ``precision`` want.
        first_weights: folder of a model to go on from, with new optimizer and schedule.
        remask: masks every step's rows anew; the shards' own masks stay without it.

    Returns:
        the model and its records: a line a logged step, a line a validation.

    Raises:
        SystemExit: the run was warned to stop, and has saved its state.
        UserError: the loss explodes or is no number.
    """
    trainer = _Trainer(config, settings, validation, checkpoints, run or Run(), remask)
    trainer.start(first_weights)
    # Not before: importing PaddleNLP's models takes Paddle's signal handlers away, and
    # Python's with them. Before the first step there is nothing to save.
    with closing(trainer), trainer.interruption:
        trainer.train(ShardRows(shards, config["vocab_size"]))
    return trainer.engine.layer(), trainer.records


class _Trainer:
    def __init__(
        self,
        config: dict[str, Any],
        settings: dict[str, Any],
        validation: Path,
        checkpoints: Checkpoints,
        run: Run,
        remask: Remasking | None,
    ):
        self._config, self._settings, self._run = config, settings, run
        self._remask = remask
        self._validation, self._checkpoints = validation, checkpoints
        self._family = family(config)
        self.step = 0
        self.records: Records = []
        self._window: list[list[float]] = []
        self._watch = LossWatch(_guessing(config))
        self.interruption = Interruption()
        first = run.processes.is_first
        self._curves = Curves(run.log_dir if first else None)
        self._profiler = Profiler(run.profiler_options if first else None)

    def start(self, first_weights: Path | None) -> None:
        """Make the engine, and fill it from the newest checkpoint if there is one."""
        import paddle

        saved = self._checkpoints.load()

        paddle.seed(self._settings["seed"])
        layer = self._family.pretraining_model(self._config)
        if first_weights and not saved:
            self._family.load_pretraining_weights(layer, first_weights)
        self.engine = make_engine(
            self._run.engine,
            layer,
            objective(self._family),
            self._settings,
            **self._run.engine_options(),
        )
        self._steps = Steps(self.engine, self._settings, self._run.processes.rank)
        if saved:
            arrays, values = saved
            self.engine.restore(arrays)
            self.step, self.records = values["step"], values["records"]
            self._window = values["window"]
            self._watch = LossWatch(**values["watch"])
            self._steps.scale.restore(values["loss_scale"])
            print(f"resuming at step {self.step}", flush=True)

    def train(self, rows: ShardRows) -> None:
        """Do the steps that are left."""
        steps, processes = self._settings["max_steps"], self._run.processes
        meter, stop = Meter(), False
        source = read_ahead(self._input(rows), _BATCHES_AHEAD)
        shown = bar(
            "pretraining",
            "steps",
            total=steps,
            initial=self.step,
            hidden=not processes.is_first,
        )
        with closing(source), shown:
            while self.step < steps and not stop:
                with meter.reading():
                    given, tokens = next(source)
                result = self._update(given)
                self.step += 1
                meter.add(tokens)
                shown.update()
                self._profiler.step()
                stop = processes.any(self.interruption.requested)
                self._after_step(result, meter, shown, stop)
        if self.step < steps:
            self.interruption.stop(self.step)

    def _update(self, given: list[Part]) -> StepResult:
        try:
            result = self._steps.take(given, self.step)
            self._watch.add(result.loss, self.step)
        except UserError as error:
            raise UserError(f"{error}{self._way_on()}") from error
        return result

    def _way_on(self) -> str:
        kept = self._checkpoints.newest()
        if kept is None:
            return ""
        return f"; to go on from {kept} with other settings, call it model_name_or_path"

    def _input(self, rows: ShardRows) -> Iterator[tuple[list[Part], int]]:
        processes, size = self._run.processes, self._settings["global_batch_size"]
        fields = self._family.input_fields(self._config)
        shares = global_batches(
            rows,
            size,
            self._settings["seed"],
            self.step,
            processes.rank,
            processes.world,
            self._run.part_size(size),
            self._remask,
        )
        for share in shares:
            yield parts(share, fields), share.tokens

    def _after_step(self, result: StepResult, meter, shown, stop: bool) -> None:
        """Log, validate and save, each at its interval and at the end."""
        self._window.append(result.losses)
        settings, last = self._settings, self.step == self._settings["max_steps"]
        if last or self.step % settings["logging_steps"] == 0:
            self._log(result, meter, shown)
        if last or self.step % settings["eval_steps"] == 0:
            self._validate(shown)
        due = self.step % settings["save_steps"] == 0
        if last or stop or (due and self._watch.is_calm):
            self._save()

    def _log(self, result: StepResult, meter, shown) -> None:
        words, pairs = np.mean(self._window, axis=0).tolist()
        self._window = []
        record = {"step": self.step, "loss": round(words + pairs, 6)}
        if pairs:
            record |= {"mlm_loss": round(words, 6), "nsp_loss": round(pairs, 6)}
        record["gradient_norm"] = round(result.gradient_norm, 6)
        self.records.append(record)
        shown.set_postfix_str(f"loss {record['loss']:.3f}, {meter.summary()}")
        curves = {name: value for name, value in record.items() if name != "step"}
        self._curves.add(self.step, **curves, tokens_per_second=meter.speed())
        meter.restart()

    def _validate(self, shown) -> None:
        processes = self._run.processes
        scores = validate(
            self._family,
            self._config,
            self.engine.layer(),
            self._validation,
            processes,
        )
        self.records.append({"step": self.step, "validation": scores})
        if processes.is_first:
            with shown.external_write_mode():
                print(f"step {self.step}: validation {summary(scores)}", flush=True)
        self._curves.add(
            self.step,
            **{f"validation/{name}": score["loss"] for name, score in scores.items()},
        )

    def _save(self) -> None:
        processes = self._run.processes
        if processes.is_first:
            values = {
                "step": self.step,
                "records": self.records,
                "window": self._window,
                "watch": self._watch.state(),
                "loss_scale": self._steps.scale.state(),
            }
            self._checkpoints.save(self.step, self.engine.state(), values)
        processes.wait_for_first(f"saved step {self.step}")

    def close(self) -> None:
        """Write what curves and profiler still hold."""
        self._curves.close()
        self._profiler.close()


def _guessing(config: dict[str, Any]) -> float:
    """Nats a target of a model that knows nothing: of words, and of pairs if any."""
    pairs = 1 if "lang2id" in config else 2
    return math.log(config["vocab_size"] * pairs)
