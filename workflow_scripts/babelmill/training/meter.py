"""How fast a run is, what it waits for, and how much memory it needs."""

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Meter:
    """Tokens a second, the share of time spent waiting for input, and memory."""

    def __init__(self):
        self.restart()

    def restart(self) -> None:
        """Count from now on."""
        self._tokens, self._waited, self._started = 0, 0.0, time.perf_counter()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A context that counts as waiting."""
        start = time.perf_counter()
        yield
        self._waited += time.perf_counter() - start

    def add(self, tokens: int) -> None:
        """Count the tokens of a step."""
        self._tokens += tokens

    def speed(self) -> float:
        """Tokens of all processes a second, padding left out."""
        return self._tokens / (time.perf_counter() - self._started)

    def summary(self) -> str:
        """All of it in a few words."""
        share = self._waited / (time.perf_counter() - self._started)
        return f"{self.speed():.0f} tokens/s, reader {share:.1%}, {_memory()}"


def _memory() -> str:
    """The most memory that this process has had: of its GPU, or of the machine."""
    import paddle

    if paddle.get_device() != "cpu":
        return f"{paddle.device.cuda.max_memory_allocated() >> 20} MB of GPU"
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MB"
