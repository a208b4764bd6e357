"""The processes of one run: which one this is, and what they tell each other."""

import os
from dataclasses import dataclass


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
        if self.world == 1:
            return flag
        import paddle

        number = paddle.to_tensor([int(flag)])
        paddle.distributed.all_reduce(number)
        return bool(number)


def join(device: str) -> Processes:
    """Meet the other processes of the launcher, if any; in dynamic mode, once."""
    world = int(os.environ.get("PADDLE_TRAINERS_NUM", 1))
    if world == 1:
        return Processes()
    if device == "cpu":
        os.environ.setdefault("PADDLE_DISTRI_BACKEND", "gloo")
    import paddle

    paddle.distributed.init_parallel_env()
    return Processes(int(os.environ["PADDLE_TRAINER_ID"]), world)
