"""Optimizers and schedules do what their papers say."""

import numpy as np
import pytest

from babelmill.training.optimization import (
    SCHEDULES,
    is_decayed,
    learning_rates,
    make_optimizer,
    optimizer_state,
    renamed,
    restore_optimizer,
)

SETTINGS = {
    "learning_rate": 0.1,
    "lr_scheduler_type": "polynomial",
    "warmup_steps": 2,
    "max_steps": 6,
    "weight_decay": 0.3,
    "adam_beta1": 0.8,
    "adam_beta2": 0.95,
    "adam_epsilon": 1e-3,
}


def rates(name, warmup, steps):
    schedule = SCHEDULES[name](2.0, warmup, steps)
    return [schedule(step) for step in range(steps)]


def test_polynomial_schedule_by_hand():
    assert rates("polynomial", 2, 6) == pytest.approx(
        [2 / 3, 4 / 3, 2.0, 2 * 0.75**0.5, 2 * 0.5**0.5, 2 * 0.25**0.5]
    )


@pytest.mark.parametrize("name", sorted(SCHEDULES))
@pytest.mark.parametrize("warmup", [0, 3])
def test_every_update_has_a_rate_and_warm_up_climbs_to_the_highest(name, warmup):
    found = rates(name, warmup, 9)
    assert all(0 < rate <= 2.0 for rate in found)
    assert found[:warmup] == sorted(set(found[:warmup]))
    assert found.index(max(found)) in (warmup, max(warmup - 1, 0))


@pytest.mark.parametrize(
    ("name", "ndim", "decayed"),
    [
        ("bert.encoder.layers.0.linear1.weight", 2, True),
        ("bert.embeddings.word_embeddings.weight", 2, True),
        ("bert.encoder.layers.0.linear1.bias", 1, False),
        ("bert.encoder.layers.0.norm1.weight", 1, False),
        ("cls.predictions.decoder_bias", 1, False),
        ("xlm.layer_norm1.0.weight", 1, False),
    ],
)
def test_decay_leaves_out_biases_and_norms(name, ndim, decayed):
    assert is_decayed(name, ndim) == decayed


def adamw(p, g, m, v, n, lr, decay):
    """Loshchilov & Hutter 2019, algorithm 2."""
    b1, b2, eps = 0.8, 0.95, 1e-3
    m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g**2
    update = (m / (1 - b1**n)) / (np.sqrt(v / (1 - b2**n)) + eps)
    return p - lr * update - lr * decay * p, m, v


def lamb(p, g, m, v, n, lr, decay):
    """You et al. 2020, algorithm 2, phi the identity.

    As NVIDIA's: what is not decayed is not scaled by its own norm either.
    """
    b1, b2, eps = 0.8, 0.95, 1e-3
    m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g**2
    update = (m / (1 - b1**n)) / (np.sqrt(v / (1 - b2**n)) + eps) + decay * p
    trust = np.linalg.norm(p) / np.linalg.norm(update) if decay else 1.0
    return p - lr * trust * update, m, v


@pytest.mark.parametrize("definition", [adamw, lamb])
def test_six_updates_agree_with_the_definition(definition):
    import paddle

    settings = {**SETTINGS, "optim": definition.__name__}
    layer = paddle.nn.Linear(3, 2)
    rng = np.random.default_rng(1)
    layer.bias.set_value(rng.normal(size=2).astype(np.float32))
    parameters = dict(layer.named_parameters())
    schedule = learning_rates(settings)
    optimizer = make_optimizer(settings, parameters, schedule)
    expected = {n: [p.numpy().astype(float), 0.0, 0.0] for n, p in parameters.items()}
    by_hand = SCHEDULES["polynomial"](0.1, 2, 6)
    for step in range(6):
        schedule.step(step)
        for name, parameter in parameters.items():
            g = rng.normal(size=parameter.shape)
            parameter.grad = paddle.to_tensor(g.astype(np.float32))
            decay = 0.3 if name == "weight" else 0.0
            expected[name] = definition(
                expected[name][0],
                g,
                *expected[name][1:],
                step + 1,
                by_hand(step),
                decay,
            )
        optimizer.step()
        optimizer.clear_grad()
    for name, parameter in parameters.items():
        assert parameter.numpy() == pytest.approx(expected[name][0], rel=2e-5)


def test_state_goes_by_the_models_names_into_another_optimizer():
    import paddle

    def made():
        layers = paddle.nn.Sequential(*(paddle.nn.Linear(2, 2) for _ in range(12)))
        parameters = dict(layers.named_parameters())
        names = {p.name: name for name, p in parameters.items()}
        return parameters, names, make_optimizer(SETTINGS, parameters, 0.1)

    parameters, names, optimizer = made()
    for number, parameter in enumerate(parameters.values()):
        parameter.grad = paddle.full_like(parameter, number + 1.0)
    optimizer.step()
    state = optimizer_state(optimizer, names)
    # The first moment is (1 - beta1) of the gradient.
    assert state["10.weight_moment1_0"] == pytest.approx(0.2 * 21)
    assert state["1.weight_moment1_0"] == pytest.approx(0.2 * 3)
    _, others, other = made()
    assert not set(others) & set(names)
    restore_optimizer(other, others, state)
    again = optimizer_state(other, others)
    assert again.keys() == state.keys()
    assert all((again[key] == value).all() for key, value in state.items())


def test_the_longest_owner_counts():
    names = {"linear_1": "a", "linear_1_b": "c"}
    assert renamed(["linear_1_moment", "linear_1_b_moment", "lr"], names) == {
        "linear_1_moment": "a_moment",
        "linear_1_b_moment": "c_moment",
    }
