"""The processes of one run: which one this is, and what they tell each other."""

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from babelmill.errors import UserError
from babelmill.training.interruption import WARNINGS

_PR_SET_PDEATHSIG = 1
_SECONDS_BETWEEN_LOOKS = 0.05
_SECONDS_TO_END = 10
_SECONDS_TO_WAIT = 3600
# Bytes of the log of a process that failed.
_SHOWN = 4000


@dataclass(frozen=True)
class Processes:
    """This process's number and how many there are, as the launcher says."""

    rank: int = 0
    world: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this is the one that writes, validates aloud and shows progress."""
        return self.rank == 0

    def any(self, flag: bool) -> bool:
        """Whether the flag of any process is set; all must ask at the same time."""
        if self.world == 1:
            return flag
        import paddle

        number = paddle.to_tensor([int(flag)])
        paddle.distributed.all_reduce(number)
        return bool(number)

    def wait_for_first(self, what: str) -> None:
        """Let the others wait until the first one has done ``what`` and comes here.

        Such as writing a checkpoint: gloo breaks off a sum that one process is 30
        seconds late for, and has no option for more; the store waits.
        """
        if self.world == 1:
            return
        from paddle.base import core

        store = core.create_or_get_global_tcp_store()
        if self.is_first:
            store.set(what, "done")
        else:
            store.wait(what)
        # The store ends with the first process: none leaves before all have heard it.
        self.any(False)


def check_devices(device: str, devices: int) -> None:
    """Refuse more devices than there are, before anything starts.

    Raises:
        UserError: with how many there are.
    """
    if device == "cpu":
        there = len(os.sched_getaffinity(0))
        what = "processor cores"
    else:
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        there = len(visible.split(",")) if visible else _count_gpus()
        what = "GPUs"
    if not 1 <= devices <= there:
        raise UserError(f"{devices} devices are asked for, there are {there} {what}")


def _count_gpus() -> int:
    try:
        listed = subprocess.run(
            ["nvidia-smi", "--list-gpus"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return 0
    return len(listed.stdout.splitlines())


def is_started() -> bool:
    """Whether this process is one of several that were started together."""
    return "PADDLE_TRAINER_ID" in os.environ


def join(device: str) -> Processes:
    """Meet the other processes of the launcher, if any; in dynamic mode, once."""
    world = int(os.environ.get("PADDLE_TRAINERS_NUM", 1))
    if world == 1:
        return Processes()
    if device == "cpu":
        os.environ.setdefault("PADDLE_DISTRI_BACKEND", "gloo")
    os.environ.setdefault("FLAGS_stop_check_timeout", str(_SECONDS_TO_WAIT))
    import paddle

    paddle.distributed.init_parallel_env()
    return Processes(int(os.environ["PADDLE_TRAINER_ID"]), world)


def run_processes(command: list[str], devices: int, device: str) -> int:
    """Run one process of ``command`` a device of this machine, until all have ended.

    They end with this process, however it ends, and a warning (SIGTERM, SIGUSR1) is
    passed on. The first speaks for all; what another one died of is shown as well.

    Returns:
        the exit code of the first that failed, 0 where none did.
    """
    ports = _free_ports(devices + 1)
    endpoints = [f"127.0.0.1:{port}" for port in ports]
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, str(rank)) for rank in range(devices)]
        workers = []
        for rank in range(devices):
            environment = {
                **os.environ,
                "PADDLE_TRAINERS_NUM": str(devices),
                "PADDLE_TRAINER_ID": str(rank),
                "PADDLE_TRAINER_ENDPOINTS": ",".join(endpoints[1:]),
                "PADDLE_CURRENT_ENDPOINT": endpoints[rank + 1],
                "PADDLE_MASTER": endpoints[0],
            }
            if device == "gpu":
                visible = os.environ.get("CUDA_VISIBLE_DEVICES")
                given = visible.split(",") if visible else map(str, range(devices))
                environment["CUDA_VISIBLE_DEVICES"] = list(given)[rank]
                environment["FLAGS_selected_gpus"] = "0"
            with paths[rank].open("wb") as log:
                out = None if rank == 0 else log
                workers.append(
                    subprocess.Popen(
                        command,
                        env=environment,
                        stdout=out,
                        stderr=out,
                        preexec_fn=_die_with_parent,
                    )
                )
        for number in WARNINGS:
            signal.signal(number, lambda n, _: [w.send_signal(n) for w in workers])
        failed = _wait(workers)
        if failed is None:
            return 0
        if failed > 0:
            sys.stderr.buffer.write(paths[failed].read_bytes()[-_SHOWN:])
        return workers[failed].returncode


def _wait(workers: list[subprocess.Popen]) -> int | None:
    """Wait for all; after the first failure the others have seconds to end."""
    failed, since = None, 0.0
    while any(worker.poll() is None for worker in workers):
        time.sleep(_SECONDS_BETWEEN_LOOKS)
        if failed is None:
            failed, since = _first_failure(workers), time.monotonic()
        elif time.monotonic() - since > _SECONDS_TO_END:
            for worker in workers:
                worker.kill()
    return failed if failed is not None else _first_failure(workers)


def _first_failure(workers: list[subprocess.Popen]) -> int | None:
    return next((rank for rank, w in enumerate(workers) if w.returncode), None)


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
