"""Curves for VisualDL, where someone wants to watch a run."""

from pathlib import Path


class Curves:
    """Scalars by name and step, below a folder; nothing without one."""

    def __init__(self, folder: Path | None):
        self._writer = None
        if folder is not None:
            # Half a second: only for those who watch.
            from visualdl import LogWriter

            self._writer = LogWriter(str(folder))

    def add(self, step: int, **values: float) -> None:
        """Add points to the curves that ``values`` names."""
        if self._writer is not None:
            for name, value in values.items():
                self._writer.add_scalar(tag=name, value=value, step=step)

    def close(self) -> None:
        """Write what is still in memory."""
        if self._writer is not None:
            self._writer.close()
