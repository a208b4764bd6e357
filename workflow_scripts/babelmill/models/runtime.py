"""What must be decided before Paddle is imported: threads and the CPU's kernels."""

import os
from pathlib import Path

from babelmill.errors import UserError


def prepare(gpus: int, threads: int) -> None:
    """Set the environment that Paddle reads at import, then take the device.

    Neither changes what is computed beyond rounding. Call it once, first.

    Args:
        gpus: GPUs of this process, 0 for the CPU or 1.
        threads: CPU threads of one process.
    """
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(threads)
    if _is_amd():
        # The MKL that Paddle's wheels carry takes its slowest kernels on AMD unless it
        # is told that AVX2 is there: matrix products run at half their speed.
        os.environ.setdefault("MKL_DEBUG_CPU_TYPE", "5")
    os.environ.setdefault("GLOG_minloglevel", "2")
    import warnings

    # About a compiler cache, which we never use, and how Paddle imports setuptools.
    for message in ("No ccache found", "Setuptools is replacing distutils"):
        warnings.filterwarnings("ignore", message=message)
    import paddle

    if gpus > 1:
        raise UserError("one process trains on one GPU so far: set gpu to 0 or 1")
    if gpus and paddle.device.cuda.device_count() < gpus:
        raise UserError(
            f"{gpus} GPU asked for, {paddle.device.cuda.device_count()} present:"
            " is the GPU build of Paddle installed (envs/gpu.yaml)?"
        )
    paddle.set_device("gpu" if gpus else "cpu")


def _is_amd() -> bool:
    try:
        return "AuthenticAMD" in Path("/proc/cpuinfo").read_text()
    except OSError:
        return False
