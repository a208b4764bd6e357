"""Run the workflow's scripts as its jobs do, and see what each costs."""

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

SCRIPTS = Path(__file__).parents[1] / "workflow_scripts"


@dataclass(frozen=True)
class Cost:
    """CPU-seconds and peak memory (bytes) of a process, start-up included."""

    cpu_seconds: float
    peak_bytes: int


def job(script: str | Path, *arguments: object) -> Cost:
    """Run a script to its end, silently; it and its children are charged."""
    command = [sys.executable, str(SCRIPTS / script), *map(str, arguments)]
    silent = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)]
    process = os.posix_spawn(command[0], command, os.environ, file_actions=silent)
    _, status, used = os.wait4(process, 0)
    if status:
        raise SystemExit(f"{script} failed: {' '.join(command)}")
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


def side_by_side(jobs: list[list[object]], workers: int) -> tuple[list[Cost], float]:
    """Costs of jobs, so many at a time, and the seconds until all were done."""
    start = time.perf_counter()
    with ThreadPoolExecutor(workers) as pool:
        costs = list(pool.map(lambda arguments: job(*arguments), jobs))
    return costs, time.perf_counter() - start
