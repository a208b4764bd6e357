"""AdamW, learning-rate schedules and the seed of every step."""

from collections.abc import Callable
from typing import Any

from babelmill.errors import UserError
from babelmill.randomness import derived_seed

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
    "inverse_sqrt": inverse_sqrt_schedule,
    "constant": constant_schedule,
}


class Updates:
    """AdamW on the parameters of a model, one global step after the other.

    Weight decay leaves out biases and norms, and gradients are clipped by their global
    norm. ``begin`` seeds Paddle from (seed, step, rank) alone, which is what makes a
    resumed run equal to one that was never stopped.
    """

    def __init__(self, model, settings: dict[str, Any], seed: int, rank: int = 0):
        import paddle

        decayed = {
            parameter.name
            for name, parameter in model.named_parameters()
            if parameter.ndim > 1 and "norm" not in name
        }
        self._seed, self._rank = seed, rank
        self._paddle_seed = paddle.seed
        self._rate = SCHEDULES[settings["lr_scheduler_type"]](
            settings["learning_rate"], settings["warmup_steps"], settings["max_steps"]
        )
        self._model = model
        self._optimizer = paddle.optimizer.AdamW(
            learning_rate=settings["learning_rate"],
            beta1=settings["adam_beta1"],
            beta2=settings["adam_beta2"],
            epsilon=settings["adam_epsilon"],
            parameters=[p for p in model.parameters() if not p.stop_gradient],
            weight_decay=settings["weight_decay"],
            apply_decay_param_fun=decayed.__contains__,
            grad_clip=paddle.nn.ClipGradByGlobalNorm(settings["max_grad_norm"]),
        )

    def begin(self, step: int) -> None:
        """Seed the step's dropout and set its learning rate."""
        self._paddle_seed(derived_seed(self._seed, "step", step, self._rank))
        self._optimizer.set_lr(self._rate(step))

    def apply(self, loss, step: int) -> float:
        """Descend the gradient of ``loss``; returns its value.

        Raises:
            UserError: the loss is not a number any more.
        """
        value = float(loss)
        if value != value or value in (float("inf"), float("-inf")):
            raise UserError(
                f"the loss is {value} at step {step}: lower learning_rate or"
                " max_grad_norm, or lengthen the warm-up"
            )
        loss.backward()
        self._optimizer.step()
        self._optimizer.clear_grad()
        return value

    def state(self) -> dict[str, Any]:
        """The optimizer's moments and powers as arrays, by the model's names."""
        names = {p.name: name for name, p in self._model.named_parameters()}
        state = {}
        for key, value in self._optimizer.state_dict().items():
            owner = next((n for n in names if key.startswith(f"{n}_")), None)
            if owner is not None:
                state[names[owner] + key.removeprefix(owner)] = value.numpy()
        return state

    def restore(self, state: dict[str, Any]) -> None:
        """Put back what ``state`` gave."""
        import paddle

        names = {name: p.name for name, p in self._model.named_parameters()}
        by_length = sorted(names, key=len, reverse=True)
        restored = {}
        for key, value in state.items():
            owner = next(n for n in by_length if key.startswith(f"{n}_"))
            name = names[owner] + key.removeprefix(owner)
            restored[name] = paddle.to_tensor(value)
            restored[name].name = name
        self._optimizer.set_state_dict(restored)
