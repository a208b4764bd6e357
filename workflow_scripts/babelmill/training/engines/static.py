"""The static engine: programs that are built once and run every step.

Fleet's ``minimize`` does not support PIR, the only kind of program that Paddle 3.3
builds BERT in. So the work is three small programs of public parts, which share their
variables by name in one scope:

- forward and backward of a part, adding its gradients to one persistent vector;
- the sum of that vector over all processes, and its norm;
- the optimizer on the vector's pieces.
"""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from babelmill.models.weights import load_tensors, model_tensors
from babelmill.training import gradients
from babelmill.training.engines.base import Arrays, Objective, Part
from babelmill.training.optimization import learning_rates, make_optimizer, renamed
from babelmill.training.precision import autocast

_FLAT = "flat_gradient"


class StaticEngine:
    """Traces ``objective`` on a layer whose parameters are a program's variables.

    The layer itself is built in dynamic mode: not every family's classes could be built
    in a static program.
    """

    def __init__(
        self,
        layer,
        objective: Objective,
        settings: Mapping[str, Any],
        world: int = 1,
        masks: Arrays | None = None,
    ):
        import paddle

        # Has the first weights, and lends itself to tracing and validation.
        self._layer, self._objective, self._settings = layer, objective, settings
        layer.train()
        parameters = dict(layer.named_parameters())
        self._parameters, self._masks = parameters.values(), masks or {}
        self._names = {name: p.name for name, p in parameters.items()}
        trained = {n: p for n, p in parameters.items() if not p.stop_gradient}
        self._shapes = {n: p.shape for n, p in trained.items()}
        self._attributes = {n: p.optimize_attr for n, p in trained.items()}
        self._size = gradients.size(self._shapes.values())
        self._rates = learning_rates(settings)
        self._scope = paddle.static.Scope()
        self._forward: dict[tuple, Any] = {}
        with self._static():
            self._executor = paddle.static.Executor(self._place)
            self._build_reduce(world)
            self._build_apply()
        self._fill(model_tensors(self._layer))
        for name, mask in self._masks.items():
            self._set(f"mask of {name}", mask)
        self.drop()

    @contextlib.contextmanager
    def _static(self) -> Iterator[None]:
        import paddle

        paddle.enable_static()
        try:
            with paddle.static.scope_guard(self._scope):
                yield
        finally:
            paddle.disable_static()

    @property
    def _place(self):
        import paddle

        device = paddle.get_device()
        if device == "cpu":
            return paddle.CPUPlace()
        return paddle.CUDAPlace(int(device.partition(":")[2]))

    def _build_forward(self, part: Part):
        import paddle

        program = paddle.static.Program()
        with paddle.static.program_guard(program, paddle.static.Program()):
            feeds = {
                name: paddle.static.data(name, shape, str(part.arrays[name].dtype))
                for name, shape in part.open_shapes().items()
            }
            loss_scale = paddle.static.data("loss_scale", [], "float32")
            with (
                self._lent_layer() as (layer, variables),
                autocast(self._settings),
            ):
                losses = self._objective(layer, feeds, part.causal)
            trained = [variables[self._names[name]] for name in self._shapes]
            found = paddle.static.append_backward(
                losses.sum() * loss_scale, parameter_list=trained
            )
            by_name = {variable.name: gradient for variable, gradient in found}
            found = [
                paddle.zeros_like(v) if by_name.get(v.name) is None else by_name[v.name]
                for v in trained
            ]
            flat = self._flat()
            paddle.assign(flat + gradients.flattened(found, losses), flat)
        return program

    @contextlib.contextmanager
    def _lent_layer(self) -> Iterator[tuple[Any, dict[str, Any]]]:
        """The layer with variables of the present program as its parameters."""
        layers = self._layer.sublayers(include_self=True)
        own = [(layer, dict(layer._parameters)) for layer in layers]
        variables = {}
        for parameter in self._parameters:
            variable = _variable(parameter.shape, parameter.name)
            variable.stop_gradient = parameter.stop_gradient
            variables[parameter.name] = variable
        try:
            for layer, parameters in own:
                for name, parameter in parameters.items():
                    if parameter is not None:
                        layer._parameters[name] = variables[parameter.name]
            yield self._layer, variables
        finally:
            for layer, parameters in own:
                layer._parameters.update(parameters)

    def _build_reduce(self, world: int) -> None:
        import paddle

        self._reduce = paddle.static.Program()
        with paddle.static.program_guard(self._reduce, paddle.static.Program()):
            flat = self._flat()
            gradients.summed(flat, world)
            self._reduced = gradients.norm_and_losses(flat)

    def _build_apply(self) -> None:
        """Build the update, and give its optimizer's moments their first values."""
        import paddle

        self._apply, startup = paddle.static.Program(), paddle.static.Program()
        with (
            paddle.static.program_guard(self._apply, startup),
            paddle.utils.unique_name.guard(),
        ):
            factor = paddle.static.data("factor", [], "float32")
            parameters = {
                name: _variable(shape, self._names[name])
                for name, shape in self._shapes.items()
            }
            for name, parameter in parameters.items():
                parameter.optimize_attr = self._attributes[name]
            shapes = list(self._shapes.values())
            found = gradients.cut(self._flat(), shapes, factor)
            optimizer = make_optimizer(self._settings, parameters, self._rates)
            optimizer.apply_gradients(
                list(zip(parameters.values(), found, strict=True))
            )
            for name in self._masks:
                mask = _variable(self._shapes[name], f"mask of {name}")
                paddle.assign(parameters[name] * mask, parameters[name])
        self._executor.run(startup)
        owners = {self._names[name]: name for name in self._shapes}
        self._moments = renamed(self._apply.state_dict("all", self._scope), owners)

    def _flat(self):
        flat = _variable([self._size], _FLAT)
        flat.stop_gradient = True
        return flat

    def accumulate(self, part: Part, loss_scale: float) -> None:
        feed = {**part.arrays, "loss_scale": np.float32(loss_scale)}
        with self._static():
            if part.kind not in self._forward:
                self._forward[part.kind] = self._build_forward(part)
            self._executor.run(self._forward[part.kind], feed=feed)

    def reduce(self) -> tuple[float, list[float]]:
        with self._static():
            (found,) = self._executor.run(self._reduce, fetch_list=[self._reduced])
        norm, *losses = found.tolist()
        return norm, losses

    def apply(self, factor: float, step: int) -> None:
        self._rates.step(step)
        with self._static():
            self._executor.run(self._apply, feed={"factor": np.float32(factor)})
        self.drop()

    def drop(self) -> None:
        self._set(_FLAT, np.zeros(self._size, np.float32))

    def layer(self) -> Any:
        load_tensors(self._layer, self._weights(), Path("static program"))
        return self._layer

    def state(self) -> dict[str, Arrays]:
        optimizer = {ours: self._get(own) for own, ours in self._moments.items()}
        return {"weights": self._weights(), "optimizer": optimizer}

    def restore(self, state: dict[str, Arrays]) -> None:
        load_tensors(self._layer, state["weights"], Path("checkpoint"))
        self._fill(state["weights"])
        own = {ours: own for own, ours in self._moments.items()}
        for name, value in state["optimizer"].items():
            self._set(own[name], value)

    def _weights(self) -> Arrays:
        present = {name: self._get(own) for name, own in self._names.items()}
        return {**model_tensors(self._layer), **present}

    def _fill(self, weights: Arrays) -> None:
        for name, own in self._names.items():
            self._set(own, weights[name])

    def _get(self, name: str) -> np.ndarray:
        return np.array(self._scope.find_var(name).get_tensor())

    def _set(self, name: str, value: np.ndarray) -> None:
        self._scope.var(name).get_tensor().set(value, self._place)


def _variable(shape: list[int], name: str):
    """A variable of the scope, as a parameter of the present program."""
    import paddle

    zero = paddle.nn.initializer.Constant(0.0)
    return paddle.create_parameter(
        shape, "float32", name=name, default_initializer=zero
    )
