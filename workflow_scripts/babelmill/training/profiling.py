"""Paddle's profiler over some steps, in PaddleNLP's notation."""

import re
import sys
from pathlib import Path

from babelmill.errors import UserError

_FORM = "batch_range=[10, 20]; profile_path=folder"


class Profiler:
    """Profiles steps, counted from the start of this process, as options say.

    ``batch_range=[10, 20]; profile_path=folder`` are those from step 10 to before step
    20; the folder gets a trace for chrome://tracing. Without options nothing is done.

    Raises:
        UserError: the options are in another form, or the folder cannot be made.
    """

    def __init__(self, options: str | None):
        self._profiler = None
        if not options:
            return
        self._first, last, folder = _parsed(options)
        self._steps = 0
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"profile_path: {folder}: {error.strerror}") from error
        import paddle.profiler as profiler

        self._profiler = profiler.Profiler(
            scheduler=(self._first, last),
            on_trace_ready=profiler.export_chrome_tracing(str(folder)),
        )
        self._profiler.start()

    def step(self) -> None:
        """A step is done."""
        if self._profiler is not None:
            self._profiler.step()
            self._steps += 1

    def close(self) -> None:
        """Write what was recorded."""
        if self._profiler is None:
            return
        self._profiler.stop()
        if self._steps <= self._first:
            print(
                f"nothing was profiled: {self._steps} steps were done, batch_range"
                f" begins at {self._first}",
                file=sys.stderr,
            )


def _parsed(options: str) -> tuple[int, int, Path]:
    found = dict(
        map(str.strip, option.partition("=")[::2]) for option in options.split(";")
    )
    found.pop("", None)
    bounds = re.fullmatch(r"\[(\d+),\s*(\d+)\]", found.pop("batch_range", ""))
    folder = found.pop("profile_path", "profile")
    if found or not folder or not bounds or int(bounds[1]) >= int(bounds[2]):
        raise UserError(f"profiler_options: {options!r} is not of the form {_FORM!r}")
    return int(bounds[1]), int(bounds[2]), Path(folder)
