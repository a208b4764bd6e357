"""Both engines compute the same, in one process and in two, and what is right."""

import json

import numpy as np
import pytest

from babelmill.errors import UserError
from babelmill.training.precision import LossScale, check_device, loss_scale
from babelmill.training.steps import Steps
from babelmill.training.watch import LossWatch
from one_of_two import CASES, FINE_TUNING_CASES
from pretraining_cases import SETTINGS, made, share, trained

# Dynamic mode multiplies by a reciprocal where PaddleNLP's XLM divides; a program
# divides. BERT's classes leave no such choice: there every bit is equal.
XLM_TOLERANCE = 2e-6


def difference(weights, others):
    assert set(weights) == set(others)
    return max(np.abs(weights[name] - others[name]).max() for name in weights)


def same_bits(a, b):
    return all(
        a[group].keys() == b[group].keys()
        and all((a[group][name] == value).all() for name, value in b[group].items())
        for group in ("weights", "optimizer")
    )


@pytest.mark.parametrize("optim", ["adamw", "lamb"])
@pytest.mark.parametrize("model_type", ["bert", "ernie"])
def test_engines_agree_in_every_bit(model_type, optim):
    options = {"settings": {**SETTINGS, "optim": optim}, "micro_batches": 2}
    dynamic = trained(model_type, "dynamic", 20, **options)
    static = trained(model_type, "static", 20, **options)
    assert dynamic[0] == static[0]
    assert same_bits(dynamic[1], static[1])
    assert all(pairs > 0 for _, pairs, _ in dynamic[0])
    # Dropout is on.
    without = trained(model_type, "dynamic", 20, **{**options, "dropout": 0.0})
    assert dynamic[0] != without[0]


def test_compiled_layers_agree_in_every_bit():
    dynamic = trained("bert", "dynamic", 6, micro_batches=2)
    compiled = trained("bert", "dynamic", 6, micro_batches=2, to_static=True)
    assert dynamic[0] == compiled[0]
    assert same_bits(dynamic[1], compiled[1])


def test_engines_agree_on_an_xlm_left_to_right_and_masked():
    dynamic = trained("xlm", "dynamic", 20, causal=True)
    static = trained("xlm", "static", 20, causal=True)
    assert np.abs(np.subtract(dynamic[0], static[0])).max() < XLM_TOLERANCE * 10
    assert difference(dynamic[1]["weights"], static[1]["weights"]) < XLM_TOLERANCE * 10


@pytest.mark.parametrize("engines", [("dynamic", "static"), ("static", "dynamic")])
def test_one_engine_goes_on_where_the_other_was(engines):
    first, second = engines
    straight = trained("bert", "dynamic", 12)
    _, state = trained("bert", first, 5)
    results, end = trained("bert", second, 12, first_step=5, state=state)
    assert results == straight[0][5:]
    assert same_bits(end, straight[1])


@pytest.mark.parametrize("name", sorted(CASES | FINE_TUNING_CASES))
def test_two_processes_have_the_same_weights(two_processes, name):
    (losses, weights), (others, other_weights) = (
        two_processes(name, r) for r in (0, 1)
    )
    assert losses == others
    assert difference(weights, other_weights) == 0


def test_engines_agree_in_every_bit_in_two_processes(two_processes):
    losses, weights = two_processes("bert dynamic")
    others, other_weights = two_processes("bert static")
    assert losses == others
    assert difference(weights, other_weights) == 0


def test_engines_agree_on_an_xlm_in_two_processes(two_processes):
    losses, weights = two_processes("xlm dynamic")
    others, other_weights = two_processes("xlm static")
    assert np.abs(np.subtract(losses, others)).max() < XLM_TOLERANCE * 10
    assert difference(weights, other_weights) < XLM_TOLERANCE * 10


def test_two_processes_are_one_that_accumulates(two_processes, monkeypatch):
    _, weights = two_processes("bert exact")
    whole = share

    def with_step_2_cut(step, rank, world, **options):
        # As the second process has nothing of step 2, one has half of it.
        given = whole(step, rank, world, **options)
        return given if step != 2 else whole_but_half(given)

    def whole_but_half(given):
        return type(given)(given.micro_batches[:1], *list(vars(given).values())[1:])

    monkeypatch.setattr("pretraining_cases.share", with_step_2_cut)
    _, state = trained("bert", "dynamic", 10, dropout=0.0, micro_batches=2)
    assert difference(weights, state["weights"]) < 1e-6


def test_accumulation_is_the_whole_batch():
    # Parts of unequal numbers of targets: a mean of means would differ.
    whole, state = trained("xlm", "dynamic", 10, dropout=0.0, causal=True)
    parts, others = trained(
        "xlm", "dynamic", 10, dropout=0.0, causal=True, micro_batches=4
    )
    assert np.abs(np.subtract(whole, parts)).max() < 1e-5
    assert difference(state["weights"], others["weights"]) < 2e-6


@pytest.mark.parametrize("name", ["dynamic", "static"])
def test_a_clipped_update_has_the_largest_norm(name):
    # With plain numbers: an engine's gradient, and what reaches the optimizer.
    from babelmill.training import gradients

    engine = made("bert", name, dropout=0.0)
    found = []
    engine.apply = lambda factor, step: found.append(factor)
    updates = Steps(engine, {**SETTINGS, "max_grad_norm": 0.01})
    from babelmill.pretraining.objectives import parts

    fields = ["input_ids", "segment_ids", "input_mask"]
    norm = updates.take(parts(share(0), fields), 0).gradient_norm
    assert norm > 0.01
    assert found[0] * norm == pytest.approx(0.01)
    assert gradients.LOSSES == 2


@pytest.mark.parametrize("name", ["dynamic", "static"])
def test_a_gradient_that_overflows_leaves_the_weights_and_halves_the_scale(name):
    from babelmill.pretraining.objectives import parts

    fields = ["input_ids", "segment_ids", "input_mask"]
    engine = made("bert", name, dropout=0.0)
    before = engine.state()
    updates = Steps(engine, SETTINGS)
    updates.scale = LossScale(1e39, dynamic=True)
    updates.take(parts(share(0), fields), 0)
    assert same_bits(engine.state(), before)
    assert updates.scale.value == 5e38
    updates.scale.value = 1024.0
    updates.take(parts(share(0), fields), 0)
    plain = made("bert", name, dropout=0.0)
    Steps(plain, SETTINGS).take(parts(share(0), fields), 0)
    # A power of two only moves exponents.
    assert same_bits(engine.state(), plain.state())


def test_a_loss_that_is_no_number_stops_before_the_update():
    from babelmill.pretraining.objectives import parts

    engine = made("bert", "static", dropout=0.0)
    weights = engine.state()["weights"]
    name = "cls.predictions.decoder_bias"
    poisoned = {**weights, name: np.full_like(weights[name], np.nan)}
    engine.restore({"weights": poisoned, "optimizer": {}})
    fields = ["input_ids", "segment_ids", "input_mask"]
    with pytest.raises(UserError, match=r"the loss is nan, .* at step 7"):
        Steps(engine, SETTINGS).take(parts(share(0), fields), 7)


def test_the_scale_doubles_after_a_thousand_good_steps():
    scale = LossScale(8.0, dynamic=True)
    for _ in range(1000):
        assert scale.value == 8.0
        scale.update(finite=True)
    assert scale.value == 16.0
    fixed = LossScale()
    fixed.update(finite=False)
    assert fixed.value == 1.0


@pytest.mark.parametrize(
    ("settings", "value"),
    [
        ({}, 1.0),
        ({"use_amp": True, "amp_dtype": "bfloat16", "scale_loss": 64.0}, 1.0),
        ({"use_amp": True, "amp_dtype": "float16", "scale_loss": 64.0}, 64.0),
        ({"use_pure_fp16": True}, 32768.0),
    ],
)
def test_only_float16_has_its_loss_scaled(settings, value):
    assert loss_scale(settings).value == value


@pytest.mark.parametrize("name", ["use_amp", "use_pure_fp16"])
def test_what_only_a_gpu_can_do_is_refused_on_the_cpu(name):
    check_device({name: True}, "gpu")
    check_device({name: False}, "cpu")
    with pytest.raises(UserError, match=f"{name} needs a GPU"):
        check_device({name: True}, "cpu")


def test_an_exploding_loss_stops_and_a_noisy_one_does_not():
    watch = LossWatch(guessing=9.0)
    for step in range(60):
        watch.add(9.0 - 8.5 * step / 60, step)
    watch = LossWatch(**json.loads(json.dumps(watch.state())))
    assert watch.is_calm
    watch.add(9.0, 60)
    assert not watch.is_calm
    for step in range(61, 90):
        watch.add(0.5, step)
    with pytest.raises(UserError, match=r"the loss explodes: .* step 1"):
        for step in range(100, 120):
            watch.add(9.0, step)


def test_a_loss_that_was_never_low_explodes_at_three_times_of_guessing():
    watch = LossWatch(guessing=7.0)
    for step in range(40):
        watch.add(20.9, step)
    with pytest.raises(UserError, match=r"the loss explodes: 21\.000"):
        for step in range(40, 60):
            watch.add(21.1, step)
