"""What must be decided before Paddle is imported: threads and the CPU's kernels."""

import os
from pathlib import Path


def prepare(device: str, threads: int) -> None:
    """Set the environment that Paddle reads at import, then choose the device.

    Neither changes what is computed beyond rounding. Call it once, first.

    Args:
        device: ``"cpu"``, ``"gpu"`` or ``"gpu:0"``.
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

    # About a compiler cache, which we never use.
    warnings.filterwarnings("ignore", message="No ccache found")
    import paddle

    paddle.set_device(device)


def _is_amd() -> bool:
    try:
        return "AuthenticAMD" in Path("/proc/cpuinfo").read_text()
    except OSError:
        return False
