"""Schedules and updates."""

import math

import numpy as np
import pytest

from babelmill.errors import UserError
from babelmill.training.optimization import (
    SCHEDULES,
    Updates,
    constant_schedule,
    inverse_sqrt_schedule,
    linear_schedule,
)


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
    "learning_rate": 0.1,
    "lr_scheduler_type": "constant",
    "warmup_steps": 0,
    "max_steps": 10,
    "weight_decay": 0.5,
    "adam_beta1": 0.9,
    "adam_beta2": 0.999,
    "adam_epsilon": 1e-8,
    "max_grad_norm": 1.0,
}


@pytest.mark.parametrize("schedule", sorted(SCHEDULES))
def test_every_schedule_trains(schedule):
    paddle = pytest.importorskip("paddle")
    layer = paddle.nn.Linear(2, 1)
    updates = Updates(layer, {**SETTINGS, "lr_scheduler_type": schedule}, seed=1)
    before = layer.weight.numpy()
    updates.begin(0)
    updates.apply(layer(paddle.ones([1, 2])).sum(), 0)
    assert not np.allclose(before, layer.weight.numpy())


def test_first_update_is_adamw_with_clipping_and_decay_off_biases():
    paddle = pytest.importorskip("paddle")
    layer = paddle.nn.Linear(2, 1)
    layer.weight.set_value(np.asarray([[1.0], [2.0]], np.float32))
    layer.bias.set_value(np.asarray([3.0], np.float32))
    updates = Updates(layer, {**SETTINGS, "adam_epsilon": 1.0}, seed=1)
    updates.begin(0)
    updates.apply(100 * layer(paddle.to_tensor([[3.0, 4.0]])).sum(), 0)
    # Gradients (300, 400, 100) have norm 509.9: clipped to (0.588, 0.784, 0.196).
    # Adam's first step is lr * g / (|g| + eps); decay multiplies by 1 - 0.1 * 0.5.
    norm = math.sqrt(300**2 + 400**2 + 100**2)
    g = np.asarray([300, 400, 100]) / norm
    step = 0.1 * g / (g + 1.0)
    weight, bias = layer.weight.numpy().ravel(), layer.bias.numpy()
    assert weight == pytest.approx([0.95 - step[0], 1.9 - step[1]], rel=1e-4)
    assert bias == pytest.approx([3.0 - step[2]], rel=1e-4)


def test_a_loss_that_is_no_number_stops_the_run():
    paddle = pytest.importorskip("paddle")
    layer = paddle.nn.Linear(2, 1)
    updates = Updates(layer, SETTINGS, seed=1)
    with pytest.raises(UserError, match="the loss is nan at step 7"):
        updates.apply(layer(paddle.full([1, 2], float("nan"))).sum(), 7)
