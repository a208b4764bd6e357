"""The processes of one run: which one this is, and what they tell each other."""

import os
import signal
from dataclasses import dataclass

import numpy as np

from babelmill.training.interruption import WARNINGS

_SECONDS_TO_WAIT = 3600


@dataclass(frozen=True)
class Processes:
    """This process's number and how many there are, as the launcher says."""

    rank: int = 0
    world: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this is the one that writes, validates aloud and shows progress."""
        return self.rank == 0

    def any(self, flag: bool) -> bool:
        """Whether the flag of any process is set; all must ask at the same time."""
        return bool(self.summed(np.array([int(flag)])))

    def summed(self, values: np.ndarray) -> np.ndarray:
        """The sum of the arrays of all processes; all must ask at the same time."""
        if self.world == 1:
            return values
        import paddle

        everywhere = paddle.to_tensor(values)
        paddle.distributed.all_reduce(everywhere)
        return everywhere.numpy()

    def wait_for_first(self, what: str) -> None:
        """Let the others wait until the first one has done ``what`` and comes here.

        Such as writing a checkpoint: gloo breaks off a sum that one process is 30
        seconds late for, and has no option for more; the store waits.
        """
        if self.world == 1:
            return
        from paddle.base import core

        store = core.create_or_get_global_tcp_store()
        # A signal in the middle of the store's reading is an error there.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, WARNINGS)
        try:
            if not self.is_first:
                store.wait(what)
                store.set(f"{what}, heard by {self.rank}", "yes")
                return
            store.set(what, "done")
            # The store ends with the first process: it leaves when all have heard it.
            for rank in range(1, self.world):
                store.wait(f"{what}, heard by {rank}")
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def join(device: str) -> Processes:
    """Meet the other processes of the launcher, if any; in dynamic mode, once."""
    world = int(os.environ.get("PADDLE_TRAINERS_NUM", 1))
    if world == 1:
        return Processes()
    if device == "cpu":
        os.environ.setdefault("PADDLE_DISTRI_BACKEND", "gloo")
    os.environ.setdefault("FLAGS_stop_check_timeout", str(_SECONDS_TO_WAIT))
    import paddle

    paddle.distributed.init_parallel_env()
    return Processes(int(os.environ["PADDLE_TRAINER_ID"]), world)
