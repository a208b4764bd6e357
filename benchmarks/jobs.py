"""Run the workflow's scripts as its jobs do, and see what each costs."""

import os
import subprocess
import sys
import tempfile
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
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        if status:
            said.seek(0)
            raise SystemExit(f"{script} failed: {' '.join(command)}\n{said.read()}")
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


def side_by_side(jobs: list[list[object]], workers: int) -> tuple[list[Cost], float]:
    """Costs of jobs, so many at a time, and the seconds until all were done."""
    start = time.perf_counter()
    with ThreadPoolExecutor(workers) as pool:
        costs = list(pool.map(lambda arguments: job(*arguments), jobs))
    return costs, time.perf_counter() - start
