"""Where a process stands in a SLURM step of several machines."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from babelmill.errors import UserError

# Ports that neither services nor outgoing connections of Linux take.
_FIRST_PORT, _PORTS = 20000, 10000


@dataclass(frozen=True)
class Machine:
    """One of the machines that train together.

    Attributes:
        rank, count: the number of this one, and how many there are.
        master: host and port of the first, where all of them meet.
    """

    rank: int
    count: int
    master: str


def machine(environ: Mapping[str, str]) -> Machine | None:
    """The place of this machine in its SLURM step, or None where it stands alone.

    ``srun --ntasks-per-node=1`` starts a process on each machine; in a batch script, an
    allocation of many machines has this process on the first one only.

    Raises:
        UserError: more than one task was started on a machine.
    """
    hosts = expand_hosts(environ.get("SLURM_STEP_NODELIST", ""))
    if len(hosts) < 2:
        return None
    tasks = int(environ["SLURM_STEP_NUM_TASKS"])
    if tasks != len(hosts):
        raise UserError(
            f"SLURM started {tasks} tasks on {len(hosts)} machines: start one on each"
            " (srun --ntasks-per-node=1); it starts the processes of its machine"
        )
    # Two steps of one job may run side by side.
    step = int(environ["SLURM_JOB_ID"]) * 31 + int(environ["SLURM_STEP_ID"])
    port = _FIRST_PORT + step % _PORTS
    return Machine(int(environ["SLURM_NODEID"]), len(hosts), f"{hosts[0]}:{port}")


def expand_hosts(hosts: str) -> list[str]:
    """The names in a SLURM host list: ``gpu[1-2,07-08],login`` has five."""
    names = []
    # At commas that are not in brackets.
    for pattern in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", hosts):
        expanded = [""]
        for text, ranges in re.findall(r"([^\[]+)|\[([^\]]*)\]", pattern):
            parts = _numbers(ranges) if ranges else [text]
            expanded = [name + part for name in expanded for part in parts]
        names += expanded
    return names


def _numbers(ranges: str) -> list[str]:
    numbers = []
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        width = len(first)
        numbers += [f"{n:0{width}}" for n in range(int(first), int(last or first) + 1)]
    return numbers
