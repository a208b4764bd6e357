"""The dynamic engine: layers run as they are written, or compiled by ``to_static``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from babelmill.models.weights import load_tensors, model_tensors
from babelmill.training import gradients
from babelmill.training.engines.base import Arrays, Objective, Part
from babelmill.training.optimization import (
    learning_rates,
    make_optimizer,
    optimizer_state,
    restore_optimizer,
)
from babelmill.training.precision import autocast


class DynamicEngine:
    """Sums the gradients of all processes in one piece, by hand.

    DataParallel takes means, which are wrong where processes have different numbers of
    targets, and hangs where one has no row of a short last batch.
    """

    def __init__(
        self,
        layer,
        objective: Objective,
        settings: Mapping[str, Any],
        world: int = 1,
        to_static: bool = False,
        masks: Arrays | None = None,
    ):
        import paddle

        self._settings = settings
        self._world = world
        self._layer = layer
        layer.train()
        self._parameters = {
            n: p for n, p in layer.named_parameters() if not p.stop_gradient
        }
        self._shapes = [p.shape for p in self._parameters.values()]
        self._rates = learning_rates(settings)
        self._optimizer = make_optimizer(settings, self._parameters, self._rates)
        self._names = {p.name: name for name, p in self._parameters.items()}
        self._masks = {n: paddle.to_tensor(mask) for n, mask in (masks or {}).items()}
        self._objective, self._to_static = objective, to_static
        self._compiled: dict[tuple, Any] = {}
        self._flat = None

    def accumulate(self, part: Part, loss_scale: float) -> None:
        import paddle

        batch = {name: paddle.to_tensor(value) for name, value in part.arrays.items()}
        with autocast(self._settings):
            losses = self._losses(part, batch)
        (losses.sum() * loss_scale).backward()
        # Not left to ``grad`` to add up: under to_static, a second backward replaces
        # the gradients of the first (Paddle 3.3.1).
        found = [
            paddle.zeros_like(p) if p.grad is None else p.grad
            for p in self._parameters.values()
        ]
        flat = gradients.flattened(found, losses.detach())
        self._optimizer.clear_grad(set_to_zero=False)
        self._flat = flat if self._flat is None else self._flat + flat

    def reduce(self) -> tuple[float, list[float]]:
        import paddle

        if self._flat is None:
            self._flat = paddle.zeros([gradients.size(self._shapes)])
        gradients.summed(self._flat, self._world)
        norm, *losses = gradients.norm_and_losses(self._flat).tolist()
        return norm, losses

    def apply(self, factor: float, step: int) -> None:
        import paddle

        factor = paddle.to_tensor(factor, "float32")
        found = gradients.cut(self._flat, self._shapes, factor)
        self.drop()
        for parameter, gradient in zip(self._parameters.values(), found, strict=True):
            parameter.grad = gradient
        self._rates.step(step)
        self._optimizer.step()
        self._optimizer.clear_grad(set_to_zero=False)
        with paddle.no_grad():
            for name, mask in self._masks.items():
                self._parameters[name].multiply_(mask)

    def drop(self) -> None:
        self._flat = None

    def layer(self) -> Any:
        return self._layer

    def state(self) -> dict[str, Arrays]:
        optimizer = optimizer_state(self._optimizer, self._names)
        return {"weights": model_tensors(self._layer), "optimizer": optimizer}

    def restore(self, state: dict[str, Arrays]) -> None:
        load_tensors(self._layer, state["weights"], Path("checkpoint"))
        restore_optimizer(self._optimizer, self._names, state["optimizer"])

    def _losses(self, part: Part, batch: dict[str, Any]):
        if not self._to_static:
            return self._objective(self._layer, batch, part.causal)
        if part.kind not in self._compiled:
            self._compiled[part.kind] = _compiled(self._layer, self._objective, part)
        return self._compiled[part.kind](batch)


def _compiled(layer, objective: Objective, part: Part):
    """An objective on a layer, compiled as a whole for parts of one kind."""
    import paddle

    class Forward(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.model = layer

        # Paddle miscounts the arguments unless the first is called self.
        def forward(self, batch):
            return objective(self.model, batch, part.causal)

    inputs = {
        name: paddle.static.InputSpec(shape, str(part.arrays[name].dtype), name)
        for name, shape in part.open_shapes().items()
    }
    return paddle.jit.to_static(Forward(), input_spec=[inputs], full_graph=True)
