"""A scheduler's warning: save at the next step and end; the job is tried again."""

import os
import signal
import sys
from types import TracebackType
from typing import NoReturn

# SLURM sends SIGTERM before it kills, or with --signal what one asks for.
WARNINGS = (signal.SIGTERM, signal.SIGUSR1)


class Interruption:
    """Whether this process was warned; a context in which a warning does not kill.

        with Interruption() as interruption:
            while step < steps:
                ...
                if interruption.requested:
                    checkpoints.save(...)
                    interruption.stop(step)

    The handler sets a flag and does nothing else. Processes are warned at different
    moments: several that train together must agree (sum the flags with the loss, say)
    before any of them leaves.
    """

    def __init__(self) -> None:
        self.requested = False

    def __enter__(self) -> "Interruption":
        self._handlers = {number: signal.getsignal(number) for number in WARNINGS}
        for number in WARNINGS:
            signal.signal(number, self._warn)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def _warn(self, number: int, frame: object) -> None:
        self.requested = True

    @staticmethod
    def stop(step: int) -> NoReturn:
        """End with the exit code EX_TEMPFAIL (75): nothing failed, call again."""
        print(f"warned to stop: saved at step {step}", file=sys.stderr, flush=True)
        raise SystemExit(os.EX_TEMPFAIL)
