"""How long fine-tuning goes on, and after which steps it is evaluated."""

import pytest

from babelmill.finetuning.duration import Duration

SETTINGS = {
    "num_train_epochs": 2,
    "max_steps": None,
    "warmup_proportion": 0.1,
    "warmup_steps": None,
    "evaluations_per_epoch": 1,
    "early_stopping_patience": None,
}


def duration(per_epoch=10, **changes):
    return Duration.of({**SETTINGS, **changes}, per_epoch)


@pytest.mark.parametrize(
    ("changes", "steps", "warmup_steps"),
    [
        ({}, 20, 2),
        ({"max_steps": 7}, 7, 0),
        ({"warmup_steps": 0}, 20, 0),
        ({"warmup_steps": 5, "warmup_proportion": 0.9}, 20, 5),
    ],
)
def test_steps_and_warm_up(changes, steps, warmup_steps):
    found = duration(**changes)
    assert (found.steps, found.warmup_steps) == (steps, warmup_steps)


@pytest.mark.parametrize(
    ("changes", "evaluated"),
    [
        ({}, [10, 20]),
        # Evenly spread, and at the end of every epoch.
        ({"evaluations_per_epoch": 3}, [4, 7, 10, 14, 17, 20]),
        # More than there are steps: each step once.
        ({"evaluations_per_epoch": 99, "num_train_epochs": 1}, [*range(1, 11)]),
        # After the last step, wherever it is, and not twice where an epoch ends.
        ({"max_steps": 13}, [10, 13]),
        ({"max_steps": 3}, [3]),
    ],
)
def test_evaluations(changes, evaluated):
    found = duration(**changes)
    steps = range(1, found.steps + 1)
    assert [step for step in steps if found.evaluates_after(step)] == evaluated


@pytest.mark.parametrize(
    ("patience", "scores", "stops"),
    [
        (None, [0.9, 0.1, 0.1, 0.1], False),
        (2, [], False),
        (2, [0.5, 0.4], False),
        (2, [0.5, 0.4, 0.5], True),
        (2, [0.5, 0.4, 0.6], False),
        (1, [0.5, 0.5], True),
    ],
)
def test_early_stopping(patience, scores, stops):
    assert duration(early_stopping_patience=patience).stops_after(scores) is stops
