"""How a run is done: engine, processes, what is written for watching."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from babelmill.training.processes import Processes


@dataclass(frozen=True)
class Run:
    """How a run is done, not what comes of it but for the rounding of sums.

    Attributes:
        engine: dynamic or static.
        to_static: whether the dynamic engine compiles its forward pass.
        gradient_merge_steps: parts that each process cuts its share of a global batch
            into, so that it fits into memory.
        processes: this one and how many there are.
        log_dir: folder of curves for VisualDL.
        profiler_options: as ``Profiler`` wants.
    """

    engine: str = "dynamic"
    to_static: bool = False
    gradient_merge_steps: int = 1
    processes: Processes = field(default_factory=Processes)
    log_dir: Path | None = None
    profiler_options: str | None = None

    def engine_options(self) -> dict[str, Any]:
        """What ``make_engine`` is told besides the engine's name."""
        options = {"to_static": True} if self.to_static else {}
        return {"world": self.processes.world, **options}

    def part_size(self, batch_size: int) -> int:
        """The most rows that a process computes at once of a global batch."""
        return -(-batch_size // (self.processes.world * self.gradient_merge_steps))
