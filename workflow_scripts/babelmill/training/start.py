"""How a script that trains starts: common flags, devices, one process or several."""

import argparse
import json
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from babelmill.models import runtime
from babelmill.script import code, positive
from babelmill.training import precision, processes
from babelmill.training.checkpoints import Checkpoints
from babelmill.training.devices import check_cpus, lease_gpus, visible_gpus
from babelmill.training.launch import is_worker, launch
from babelmill.training.run import Run


def parse(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Read the command line of a script that trains, with the flags all of them have.

    Raises:
        UserError: the settings want what the device cannot do.
    """
    parser.add_argument("--settings", type=json.loads, required=True)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--output_dir", type=Path, required=True)
    speed = parser.add_argument_group("speed, none of which changes what is computed")
    speed.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    speed.add_argument("--devices", type=positive, default=1, help="one process each")
    speed.add_argument(
        "--gpus", type=int, default=0, help="as --device gpu --devices GPUS; 0: no GPU"
    )
    speed.add_argument("--threads", type=positive, default=1, help="of all processes")
    speed.add_argument("--engine", choices=("dynamic", "static"), default="dynamic")
    speed.add_argument("--to_static", action="store_true", help="of engine dynamic")
    speed.add_argument(
        "--gradient_merge_steps",
        type=positive,
        default=1,
        help="parts of a process's share of a batch, for less memory",
    )
    speed.add_argument("--log_dir", type=Path, help="of curves for VisualDL")
    speed.add_argument(
        "--profiler_options", help="batch_range=[10, 20]; profile_path=folder"
    )
    args = parser.parse_args()
    if args.gpus:
        args.device, args.devices = "gpu", args.gpus
    precision.check_device(args.settings, args.device)
    return args


def start(
    script: str,
    args: argparse.Namespace,
    identity: Any,
    train: Callable[[Run, Checkpoints], None],
) -> None:
    """Train in as many processes as are asked for, unless a finished run is kept.

    Args:
        script: the file that calls this: every process runs it again.
        identity: what the weights depend on, as ``Checkpoints`` wants it.
        train: is one process of the run; the first writes ``args.output_dir``. Before
            it is called, nothing may import Paddle.
    """
    asked = [args.settings, code()]
    if is_worker():
        _train(args, identity, asked, train)
        return
    with _leased(args) as gpus:
        if Checkpoints(args.state, identity, False).put_back(args.output_dir, asked):
            return
        if args.devices > 1:
            launch(script, sys.argv[1:], args.devices, gpus)
            return
        os.environ |= {"CUDA_VISIBLE_DEVICES": gpus[0]} if gpus else {}
        _train(args, identity, asked, train)


def _leased(args: argparse.Namespace) -> AbstractContextManager[list[str]]:
    """Hold the devices that were asked for: names of GPUs, none for the CPU."""
    if args.device == "gpu":
        return lease_gpus(args.devices, visible_gpus())
    check_cpus(args.devices)
    return nullcontext([])


def _train(
    args: argparse.Namespace,
    identity: Any,
    asked: Any,
    train: Callable[[Run, Checkpoints], None],
) -> None:
    runtime.prepare(int(args.device == "gpu"), max(1, args.threads // args.devices))
    these = processes.join(args.device)
    checkpoints = Checkpoints(args.state, identity, writer=these.is_first)
    run = Run(
        args.engine,
        args.to_static,
        args.gradient_merge_steps,
        these,
        args.log_dir,
        args.profiler_options,
    )
    train(run, checkpoints)
    if these.is_first:
        checkpoints.finish(args.output_dir, asked)
