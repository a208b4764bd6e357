"""Optimizers and learning-rate schedules."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

Schedule = Callable[[int], float]


def linear_schedule(
    learning_rate: float, warmup_steps: int, max_steps: int
) -> Schedule:
    """Linear warm-up from 0, then linear decay to 0 (Devlin et al. 2019, A.2).

    Step ``n`` (from 0) of ``max_steps`` gets ``lr * (n + 1) / (warmup + 1)`` during
    warm-up, so that no update is done at a rate of 0.
    """

    def rate(step: int) -> float:
        if step < warmup_steps:
            return learning_rate * (step + 1) / (warmup_steps + 1)
        return learning_rate * (max_steps - step) / max(max_steps - warmup_steps, 1)

    return rate


def polynomial_schedule(
    learning_rate: float, warmup_steps: int, max_steps: int
) -> Schedule:
    """Linear warm-up, then the square root of linear decay to 0 (degree 0.5).

    As NVIDIA's ``PolyWarmUpScheduler`` trains BERT with LAMB.
    """
    linear = linear_schedule(1.0, warmup_steps, max_steps)
    return lambda step: (
        learning_rate * (linear(step) if step < warmup_steps else linear(step) ** 0.5)
    )


def inverse_sqrt_schedule(
    learning_rate: float, warmup_steps: int, max_steps: int
) -> Schedule:
    """Linear warm-up, then ``lr * sqrt(warmup / n)`` (Vaswani et al. 2017, 5.3)."""
    del max_steps
    warmup = max(warmup_steps, 1)

    def rate(step: int) -> float:
        number = step + 1
        return learning_rate * min(number / warmup, (warmup / number) ** 0.5)

    return rate


def constant_schedule(
    learning_rate: float, warmup_steps: int, max_steps: int
) -> Schedule:
    """Linear warm-up, then the same rate."""
    del max_steps
    return lambda step: learning_rate * min(1.0, (step + 1) / (warmup_steps + 1))


SCHEDULES = {
    "linear": linear_schedule,
    "polynomial": polynomial_schedule,
    "inverse_sqrt": inverse_sqrt_schedule,
    "constant": constant_schedule,
}


def learning_rates(settings: Mapping[str, Any]):
    """The schedule that ``lr_scheduler_type`` names, as Paddle's optimizers take it.

    ``.step(n)`` before update ``n``, whatever number of micro-batches it has.
    """
    import paddle

    schedule = SCHEDULES[settings["lr_scheduler_type"]](
        settings["learning_rate"], settings["warmup_steps"], settings["max_steps"]
    )
    return paddle.optimizer.lr.LambdaDecay(1.0, schedule)


def is_decayed(name: str, ndim: int) -> bool:
    """Whether weight decay applies to a parameter: not to biases and norms."""
    return ndim > 1 and "norm" not in name


def make_optimizer(
    settings: Mapping[str, Any], parameters: Mapping[str, Any], rates, grad_clip=None
):
    """AdamW (Loshchilov & Hutter 2019) or LAMB (You et al. 2020, algorithm 2).

    Args:
        settings: ``optim`` (adamw or lamb; adamw when absent), ``adam_beta1``,
            ``adam_beta2``, ``adam_epsilon``, ``weight_decay``.
        parameters: by the model's names, in its order.
        rates: what ``learning_rates`` gives, or a number.
    """
    import paddle

    decayed = {p.name for name, p in parameters.items() if is_decayed(name, p.ndim)}
    common = {
        "learning_rate": rates,
        "beta1": settings["adam_beta1"],
        "beta2": settings["adam_beta2"],
        "epsilon": settings["adam_epsilon"],
        "parameters": list(parameters.values()),
        "grad_clip": grad_clip,
    }
    if settings.get("optim", "adamw") == "lamb":
        return paddle.optimizer.Lamb(
            lamb_weight_decay=settings["weight_decay"],
            exclude_from_weight_decay_fn=lambda p: p.name not in decayed,
            **common,
        )
    return paddle.optimizer.AdamW(
        weight_decay=settings["weight_decay"],
        apply_decay_param_fun=decayed.__contains__,
        **common,
    )


def renamed(keys: Iterable[str], names: Mapping[str, str]) -> dict[str, str]:
    """Names of an optimizer's moments and powers when parameters are called otherwise.

    Paddle numbers parameters (``linear_3.w_0``) as a process makes them, and names what
    belongs to one after it (``linear_3.w_0_moment1_0``).

    Args:
        names: of the parameters, old -> new.

    Returns:
        old -> new, without the keys that belong to no parameter.
    """
    owners = sorted(names, key=len, reverse=True)
    found = {}
    for key in keys:
        owner = next((name for name in owners if key.startswith(f"{name}_")), None)
        if owner is not None:
            found[key] = names[owner] + key.removeprefix(owner)
    return found


def optimizer_state(optimizer, names: Mapping[str, str]) -> dict[str, np.ndarray]:
    """Moments and powers of an optimizer in dynamic mode, by the model's names.

    Args:
        names: Paddle's name of each parameter -> the model's.
    """
    state = optimizer.state_dict()
    return {ours: state[own].numpy() for own, ours in renamed(state, names).items()}


def restore_optimizer(
    optimizer, names: Mapping[str, str], state: Mapping[str, np.ndarray]
) -> None:
    """Put back what ``optimizer_state`` gave."""
    import paddle

    restored = {}
    owners = {ours: own for own, ours in names.items()}
    for ours, own in renamed(state, owners).items():
        restored[own] = paddle.to_tensor(state[ours])
        restored[own].name = own
    optimizer.set_state_dict(restored)
