"""Schedules and updates."""

import math

import numpy as np
import pytest

from babelmill.training.engines import Part, make_engine
from babelmill.training.optimization import (
    SCHEDULES,
    constant_schedule,
    inverse_sqrt_schedule,
    linear_schedule,
)
from babelmill.training.steps import Steps


def test_schedules_by_hand():
    linear = linear_schedule(1.0, 4, 14)
    assert [linear(step) for step in (0, 3, 4, 9, 13)] == pytest.approx(
        [0.2, 0.8, 1.0, 0.5, 0.1]
    )
    root = inverse_sqrt_schedule(1.0, 4, 0)
    assert [root(step) for step in (0, 3, 15, 63)] == pytest.approx(
        [0.25, 1.0, 0.5, 0.25]
    )
    constant = constant_schedule(2.0, 1, 0)
    assert [constant(step) for step in (0, 1, 99)] == pytest.approx([1.0, 2.0, 2.0])


SETTINGS = {
    "seed": 1,
    "learning_rate": 0.1,
    "lr_scheduler_type": "constant",
    "warmup_steps": 0,
    "max_steps": 10,
    "weight_decay": 0.5,
    "adam_beta1": 0.9,
    "adam_beta2": 0.999,
    "adam_epsilon": 1.0,
    "max_grad_norm": 1.0,
}


@pytest.mark.parametrize("schedule", sorted(SCHEDULES))
@pytest.mark.parametrize("engine", ["dynamic", "static"])
def test_first_update_is_adamw_with_clipping_and_decay_off_biases(engine, schedule):
    import paddle

    def loss(layer, batch, causal):
        total = 100 * layer(batch["input_ids"]).sum()
        return paddle.stack([total, paddle.zeros_like(total)])

    layer = paddle.nn.Linear(2, 1)
    layer.weight.set_value(np.asarray([[1.0], [2.0]], np.float32))
    layer.bias.set_value(np.asarray([3.0], np.float32))
    settings = {**SETTINGS, "lr_scheduler_type": schedule}
    made = make_engine(engine, layer, loss, settings)
    part = Part({"input_ids": np.asarray([[3.0, 4.0]], np.float32)})
    Steps(made, settings).take([part], 0)
    # Gradients (300, 400, 100) have norm 509.9: clipped to (0.588, 0.784, 0.196).
    # Adam's first step is lr * g / (|g| + eps); decay multiplies by 1 - 0.1 * 0.5.
    norm = math.sqrt(300**2 + 400**2 + 100**2)
    g = np.asarray([300, 400, 100]) / norm
    step = 0.1 * g / (g + 1.0)
    weight, bias = (made.state()["weights"][name] for name in ("weight", "bias"))
    assert weight.ravel() == pytest.approx([0.95 - step[0], 1.9 - step[1]], rel=1e-4)
    assert bias == pytest.approx([3.0 - step[2]], rel=1e-4)
