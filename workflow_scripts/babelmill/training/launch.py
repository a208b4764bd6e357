"""Several processes of one script, through ``paddle.distributed.launch``.

What Paddle's launcher does that must not reach a user, and what is done about it:

- it writes its whole environment into its log folder: it is given an allow-list, and a
  log folder outside the working folder that is gone when the run was good;
- its exit code is that of the process with the lowest number that did not end well,
  be it one that was killed because another failed: each process writes down how it
  ended (``worker.py``), and the first that failed speaks for all;
- on SIGTERM it kills what has not ended after 30 seconds: a warning goes to the
  processes themselves, which save and leave in their own time.
"""

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from babelmill.errors import UserError
from babelmill.script import BAD_INPUT, ERROR
from babelmill.training.interruption import WARNINGS
from babelmill.training.slurm import Machine, machine

# What the processes need to run. No PADDLE_*: the launcher sets what they need, and
# reads what another launcher left. No proxies, no SLURM_*: some hold credentials.
_NAMES = frozenset(
    (
        *("PATH", "HOME", "USER", "LANG", "LANGUAGE", "TZ", "TMPDIR"),
        *("LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHASHSEED"),
    )
)
_PREFIXES = (
    *("LC_", "OMP_", "KMP_", "MKL_", "OPENBLAS_"),
    *("CUDA_", "CUDNN_", "CUBLAS_", "NVIDIA_", "NCCL_", "GLOO_", "FLAGS_", "GLOG_"),
)
_WORKER = Path(__file__).with_name("worker.py")
_SECONDS_BETWEEN_LOOKS = 0.1
_LINES_SHOWN = 30
_PR_SET_PDEATHSIG = 1


def scrubbed(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that training needs, and no other: those may be secrets."""
    return {
        name: value
        for name, value in environ.items()
        if name in _NAMES or name.startswith(_PREFIXES)
    }


def is_worker() -> bool:
    """Whether this process is one of those that a launcher started."""
    return "PADDLE_TRAINER_ID" in os.environ


def launch(script: str, arguments: list[str], processes: int, gpus: list[str]) -> None:
    """Run ``processes`` of a script on this machine, and see them all end well.

    In a SLURM step of several machines every machine calls this, and the processes of
    all of them train together. What the first process prints is printed.

    Args:
        gpus: names for ``CUDA_VISIBLE_DEVICES``, one a process; none for the CPU.

    Raises:
        UserError: the one that a process ended with.
        SystemExit: with EX_TEMPFAIL, 75, where the processes were warned and saved;
            with another code where one failed, after the end of its log.
    """
    logs = Path(tempfile.mkdtemp(prefix="babelmill-launch-"))
    environ = scrubbed(os.environ)
    environ.pop("CUDA_VISIBLE_DEVICES", None)
    if gpus:
        environ["CUDA_VISIBLE_DEVICES"] = ",".join(gpus)
    options = launcher_options(processes, logs, machine(os.environ))
    command = [sys.executable, "-m", "paddle.distributed.launch", *options]
    # After "--": the launcher would take --train for short of one of its own options.
    command += ["--", str(_WORKER), str(logs), script, *arguments]
    with (logs / "launcher.log").open("wb") as out:
        launcher = subprocess.Popen(
            command, env=environ, stdout=out, stderr=out, preexec_fn=_end_with_parent
        )
    try:
        with _warnings() as warned:
            _follow(launcher, logs / "workerlog.0", processes, warned)
    finally:
        launcher.terminate()
        launcher.wait()
    _judge(processes, logs, launcher.returncode, bool(warned))
    shutil.rmtree(logs)


def launcher_options(processes: int, logs: Path, place: Machine | None) -> list[str]:
    """The options of ``paddle.distributed.launch`` before the script."""
    options = ["--nproc_per_node", str(processes), "--log_dir", str(logs)]
    options += ["--enable_gpu_log", "False"]
    if place:
        options += ["--master", place.master, "--nnodes", str(place.count)]
        options += ["--rank", str(place.rank)]
    return options


def _end_with_parent() -> None:
    """Ask the kernel for a SIGTERM when the parent is gone, even by SIGKILL."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


@contextlib.contextmanager
def _warnings() -> Iterator[list[int]]:
    """The warnings that this process gets, in a list that grows."""
    got: list[int] = []
    handlers = {number: signal.getsignal(number) for number in WARNINGS}
    for number in WARNINGS:
        signal.signal(number, lambda number, _: got.append(number))
    try:
        yield got
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _follow(
    launcher: subprocess.Popen, log: Path, processes: int, warned: list[int]
) -> None:
    """Print what the first process prints and pass warnings on, until the end."""
    passed, source = 0, None
    with contextlib.ExitStack() as stack:
        running = True
        while running:
            running = launcher.poll() is None
            if source is None and log.exists():
                source = stack.enter_context(log.open("rb"))
            _copy_new(source)
            workers = _children(launcher.pid)
            # Not before all of them are there: none may miss it.
            if len(warned) > passed and len(workers) >= processes:
                for worker in workers:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(worker, warned[passed])
                passed += 1
            time.sleep(_SECONDS_BETWEEN_LOOKS if running else 0)


def _copy_new(source: BinaryIO | None) -> None:
    if source and (new := source.read()):
        sys.stdout.write(new.decode(errors="replace"))
        sys.stdout.flush()


def _children(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [*map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]
    return []


def _judge(processes: int, logs: Path, code: int, warned: bool) -> None:
    """Return where every process ended well; else raise what the first one said."""
    ends = sorted(logs.glob("exit.*"), key=lambda path: path.stat().st_mtime_ns)
    codes = {path: int(path.read_text()) for path in ends}
    failed = next((path for path in ends if codes[path]), None)
    if failed is None and len(ends) == processes:
        if code:
            print(
                f"the launcher ended with code {code} after all processes had ended"
                f" well; its log is in {logs}",
                file=sys.stderr,
            )
        return
    if codes.get(failed) == os.EX_TEMPFAIL or (failed is None and warned):
        shutil.rmtree(logs)
        raise SystemExit(os.EX_TEMPFAIL)
    log = logs / (f"workerlog{failed.suffix}" if failed else "launcher.log")
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    said = [line for line in lines if line.startswith(ERROR)]
    if codes.get(failed) == BAD_INPUT and said:
        shutil.rmtree(logs)
        raise UserError(said[-1].removeprefix(ERROR))
    print(*lines[-_LINES_SHOWN:], sep="\n", file=sys.stderr)
    print(f"a process failed; the logs of all are in {logs}", file=sys.stderr)
    raise SystemExit(codes.get(failed) or (code if code > 0 else 1))
