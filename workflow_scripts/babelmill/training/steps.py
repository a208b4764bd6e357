"""One update after another: seeds, the loss scale, clipping, and what is no number."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from babelmill.errors import UserError
from babelmill.randomness import derived_seed
from babelmill.training.engines import Engine, Part
from babelmill.training.precision import loss_scale


@dataclass(frozen=True)
class StepResult:
    """What an update did.

    Attributes:
        losses: of the global batch (nats a target), by ``Objective``'s order.
        gradient_norm: before clipping; not finite where the update was left out.
    """

    losses: list[float]
    gradient_norm: float

    @property
    def loss(self) -> float:
        """What was minimized: the sum of the losses."""
        return sum(self.losses)


class Steps:
    """Updates of an engine: the gradient of a global batch, clipped by its norm.

    Every part's dropout is seeded from (seed, step, rank, part) alone, which makes the
    engines agree and a resumed run equal to one that was never stopped.
    """

    def __init__(self, engine: Engine, settings: Mapping[str, Any], rank: int = 0):
        self._engine, self._rank = engine, rank
        self._seed = settings["seed"]
        self._max_grad_norm = settings["max_grad_norm"]
        self.scale = loss_scale(settings)

    def take(self, parts: Sequence[Part], step: int) -> StepResult:
        """Do update number ``step`` from this process's parts of its global batch.

        Raises:
            UserError: the loss or its gradient is not a number any more.
        """
        import paddle

        scale = self.scale.value
        for number, part in enumerate(parts):
            paddle.seed(derived_seed(self._seed, "step", step, self._rank, number))
            self._engine.accumulate(part, scale)
        scaled_norm, losses = self._engine.reduce()
        result = StepResult(losses, scaled_norm / scale)
        finite = math.isfinite(scaled_norm)
        if not math.isfinite(result.loss) or not (finite or self.scale.dynamic):
            raise UserError(
                f"the loss is {result.loss}, the norm of its gradient"
                f" {result.gradient_norm} at step {step}: lower learning_rate or"
                " max_grad_norm, or lengthen the warm-up"
            )
        if finite:
            # The clipped gradient (Pascanu et al. 2013), without the loss's scale.
            clip = min(1.0, self._max_grad_norm / max(result.gradient_norm, 1e-12))
            self._engine.apply(clip / scale, step)
        else:
            self._engine.drop()
        self.scale.update(finite)
        return result
