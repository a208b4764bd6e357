"""Paddle's profiler over some steps, in PaddleNLP's notation."""

import re
from pathlib import Path

from babelmill.errors import UserError


class Profiler:
    """Profiles the steps of ``batch_range=[10, 20]; profile_path=folder``.

    The folder gets a trace for chrome://tracing. Nothing is done without options.

    Raises:
        UserError: the options are in another form.
    """

    def __init__(self, options: str | None):
        self._profiler = None
        if not options:
            return
        found = dict(
            map(str.strip, option.partition("=")[::2]) for option in options.split(";")
        )
        bounds = re.fullmatch(r"\[(\d+),\s*(\d+)\]", found.get("batch_range", ""))
        if not bounds or int(bounds[1]) >= int(bounds[2]):
            raise UserError(
                f"profiler_options: {options!r} is not of the form"
                " 'batch_range=[10, 20]; profile_path=folder'"
            )
        import paddle.profiler as profiler

        folder = Path(found.get("profile_path", "profile"))
        self._profiler = profiler.Profiler(
            scheduler=(int(bounds[1]), int(bounds[2])),
            on_trace_ready=profiler.export_chrome_tracing(str(folder)),
        )
        self._profiler.start()

    def step(self) -> None:
        """A step is done."""
        if self._profiler is not None:
            self._profiler.step()

    def close(self) -> None:
        """Write what was recorded."""
        if self._profiler is not None:
            self._profiler.stop()
