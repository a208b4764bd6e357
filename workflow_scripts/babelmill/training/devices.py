"""Which devices a job takes on its machine: GPUs by lease, CPUs by count.

Snakemake counts GPUs but hands out no numbers, so two jobs on one machine would both
take GPU 0. A job leases its GPUs instead: it holds a file lock for each until its
process ends, however it does.
"""

import contextlib
import fcntl
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TextIO

from babelmill.errors import UserError

_NVIDIA_SMI = ("nvidia-smi", "--query-gpu=index,uuid", "--format=csv,noheader")


def visible_gpus(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The GPUs that this process may use, without importing Paddle.

    Where a scheduler or a user set ``CUDA_VISIBLE_DEVICES``, only those.

    Returns:
        the name of each in ``CUDA_VISIBLE_DEVICES``, and its UUID where the driver
        tells: numbers start anew in every container, UUIDs do not.
    """
    uuids = _installed_gpus()
    allowed = environ.get("CUDA_VISIBLE_DEVICES")
    if allowed is None:
        return uuids
    visible = {}
    for name in filter(None, map(str.strip, allowed.split(","))):
        # As CUDA does: -1, NoDevFiles and the like end the list.
        if not name.isdigit() and not name.startswith(("GPU-", "MIG-")):
            break
        visible[name] = uuids.get(name, name)
    return visible


def _installed_gpus() -> dict[str, str]:
    try:
        listed = subprocess.run(
            _NVIDIA_SMI, capture_output=True, text=True, check=True, timeout=60
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    pairs = [line.split(",") for line in listed.splitlines() if "," in line]
    return {index.strip(): uuid.strip() for index, uuid in pairs}


@contextlib.contextmanager
def lease_gpus(
    count: int, gpus: dict[str, str], folder: Path | None = None
) -> Iterator[list[str]]:
    """Hold ``count`` GPUs that no other job of this machine holds.

    Args:
        gpus: what ``visible_gpus`` gives.
        folder: where the locks are, shared by all jobs of the machine.

    Yields:
        their names for ``CUDA_VISIBLE_DEVICES``.

    Raises:
        UserError: fewer are visible, or fewer are free.
    """
    if count > len(gpus):
        names = ", ".join(gpus) or "none"
        raise UserError(
            f"{count} GPUs asked for, {len(gpus)} visible ({names}):"
            " ask for fewer, or look at CUDA_VISIBLE_DEVICES and nvidia-smi"
        )
    folder = folder or Path(tempfile.gettempdir(), "babelmill-gpus")
    with contextlib.ExitStack() as held:
        # One job chooses at a time: two must not take half of what each needs.
        with _open_lock(folder / "choosing") as choosing:
            fcntl.flock(choosing, fcntl.LOCK_EX)
            leased = []
            for name, uuid in gpus.items():
                if len(leased) < count and _try_lease(folder / uuid, held):
                    leased.append(name)
        if len(leased) < count:
            raise UserError(
                f"{count} GPUs asked for, {len(leased)} of {len(gpus)} free: other jobs"
                f" hold the locks in {folder}: wait for them, or run fewer at a time"
                " (--resources gpu=N)"
            )
        yield leased


def _try_lease(path: Path, held: contextlib.ExitStack) -> bool:
    lock = _open_lock(path)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        return False
    held.enter_context(lock)
    return True


def _open_lock(path: Path) -> TextIO:
    """Open a lock file that every user of the machine can open."""
    for missing, create, mode in (
        (path.parent, lambda: path.parent.mkdir(parents=True, exist_ok=True), 0o777),
        (path, lambda: path.touch(), 0o666),
    ):
        if not missing.exists():
            create()
            # The umask would keep other users out; one of two that race may be late.
            with contextlib.suppress(PermissionError):
                missing.chmod(mode)
    return path.open("r")


def check_cpus(processes: int) -> None:
    """Refuse more processes than this one may use cores.

    Raises:
        UserError: with both numbers.
    """
    cores = len(os.sched_getaffinity(0))
    if processes > cores:
        raise UserError(
            f"{processes} processes asked for on {cores} cores: ask for at most {cores}"
        )
