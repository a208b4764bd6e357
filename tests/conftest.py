"""Fixtures that every test may use."""

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import yaml
from snakemake.utils import update_config, validate

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def test_data() -> Callable[..., Path]:
    """Path of a file or folder of the outside data, or a skip that says why.

    The data may not be redistributed, so it is not in this repository. It lies in the
    folder that the environment variable BABELMILL_TEST_DATA names: ``data/`` holds
    official releases, ``golden/`` the outputs of independent implementations.
    """

    def find(*parts: str) -> Path:
        root = os.environ.get("BABELMILL_TEST_DATA")
        if not root:
            pytest.skip("BABELMILL_TEST_DATA is not set: no outside data")
        path = Path(root, *parts)
        if not path.exists():
            pytest.skip(f"BABELMILL_TEST_DATA has no {'/'.join(parts)}")
        return path

    return find


@pytest.fixture
def paddlenlp() -> ModuleType:
    """All of PaddleNLP, also after tests that imported its bare packages."""
    for name in [name for name in sys.modules if name.split(".")[0] == "paddlenlp"]:
        del sys.modules[name]
    return importlib.import_module("paddlenlp")


def load_config(overlay: str | None = None) -> dict[str, Any]:
    """The default config, an overlay of configs/ over it, and the schema's defaults."""
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    if overlay:
        path = ROOT / "configs" / f"{overlay}.yaml"
        update_config(config, yaml.safe_load(path.read_text()))
    validate(config, str(ROOT / "schemas" / "config.schema.yaml"))
    return config


def environment_with_python() -> dict[str, str]:
    """The environment in which ``python`` is the one that runs the tests."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path}


class Workflow:
    """The real Snakefile, run in a folder of its own."""

    def __init__(self, folder: Path):
        self.folder = folder

    def run(
        self,
        *arguments: str,
        configs: tuple[str | Path, ...] = ("smoke",),
        code: int = 0,
    ) -> str:
        """Call snakemake; returns what it printed, after checking its exit code."""
        overlays = [
            str(c) if isinstance(c, Path) else str(ROOT / "configs" / f"{c}.yaml")
            for c in configs
        ]
        command = [sys.executable, "-m", "snakemake", "--cores", "2"]
        command += ["--snakefile", str(ROOT / "Snakefile")]
        command += ["--directory", str(self.folder), *arguments]
        if overlays:
            command += ["--configfile", *overlays]
        done = subprocess.run(
            command,
            env=environment_with_python(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout[-5000:]
        return done.stdout


@pytest.fixture
def project(tmp_path: Path) -> Workflow:
    """A folder for the workflow, without results."""
    return Workflow(tmp_path)


@pytest.fixture(scope="session")
def smoke_run(tmp_path_factory: pytest.TempPathFactory) -> Workflow:
    """The smoke config run to its end, once; do not change its results."""
    run = Workflow(tmp_path_factory.mktemp("smoke"))
    run.run()
    return run


@pytest.fixture(scope="session")
def two_processes(tmp_path_factory: pytest.TempPathFactory) -> Callable:
    """What the two processes of ``one_of_two.py`` wrote: numbers, and weights."""
    folder = tmp_path_factory.mktemp("two")
    ports = [f"127.0.0.1:{20000 + os.getpid() % 20000 + i}" for i in range(3)]
    processes = []
    for rank in range(2):
        environment = {
            **environment_with_python(),
            "PADDLE_TRAINERS_NUM": "2",
            "PADDLE_TRAINER_ID": str(rank),
            "PADDLE_TRAINER_ENDPOINTS": ",".join(ports[:2]),
            "PADDLE_CURRENT_ENDPOINT": ports[rank],
            "PADDLE_MASTER": ports[2],
        }
        command = [sys.executable, str(ROOT / "tests" / "one_of_two.py"), str(folder)]
        with (folder / f"log.{rank}").open("w") as log:
            processes.append(
                subprocess.Popen(command, env=environment, stdout=log, stderr=log)
            )
    for rank, process in enumerate(processes):
        assert process.wait() == 0, (folder / f"log.{rank}").read_text()[-3000:]

    def read(name, rank=0):
        losses = json.loads((folder / f"{name}.{rank}.json").read_text())
        with np.load(folder / f"{name}.{rank}.npz") as arrays:
            return losses, {key: arrays[key] for key in arrays.files}

    return read
