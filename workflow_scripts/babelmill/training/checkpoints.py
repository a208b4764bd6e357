"""Checkpoints of a training run: whole or skipped, tied to what is trained on what."""

import contextlib
import fcntl
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

from babelmill.errors import UserError
from babelmill.files import fingerprint, read_json, sha256, whole_folder, write_json
from babelmill.models.weights import read_weights, save_weights

_KEPT = 2


class Checkpoints:
    """The checkpoints of one run, in a folder named by the hash of its settings.

    Snakemake deletes a rule's outputs before it tries again, so the folder is none of
    them. Another run (other settings or data) has another folder.
    """

    def __init__(self, state: Path, identity: Any):
        self._folder = state / fingerprint(identity)[:16]
        self._folder.mkdir(parents=True, exist_ok=True)
        # Held until the process ends, however it does.
        self._lock = (self._folder / "lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(
                f"{self._folder}: another process trains this: wait for it or stop it"
            ) from None
        for torn in self._folder.glob(".*.partial"):
            shutil.rmtree(torn, ignore_errors=True)

    def save(
        self, step: int, arrays: dict[str, dict[str, np.ndarray]], values: Any
    ) -> None:
        """Keep named groups of arrays and a JSON value; the last two saves stay."""
        with whole_folder(self._folder / f"step{step:09d}") as partial:
            for group, tensors in arrays.items():
                save_weights(partial / f"{group}.safetensors", tensors)
            sums = {path.name: sha256(path) for path in partial.iterdir()}
            write_json(partial / "checkpoint.json", {"values": values, "sha256": sums})
        for old in self._steps()[:-_KEPT]:
            shutil.rmtree(old)

    def load(self) -> tuple[dict[str, dict[str, np.ndarray]], Any] | None:
        """The newest whole checkpoint, or None; torn ones are named and skipped."""
        for folder in reversed(self._steps()):
            try:
                return self._read(folder)
            except (UserError, OSError, KeyError, TypeError) as error:
                print(f"{folder}: torn checkpoint skipped: {error}", file=sys.stderr)
        return None

    def _read(self, folder: Path) -> tuple[dict[str, dict[str, np.ndarray]], Any]:
        content = read_json(folder / "checkpoint.json")
        for name, expected in content["sha256"].items():
            if sha256(folder / name) != expected:
                raise UserError(f"{name} has another checksum than when it was saved")
        arrays = {
            Path(name).stem: read_weights(folder / name)[0]
            for name in content["sha256"]
        }
        return arrays, content["values"]

    def close(self) -> None:
        """Let another process have the run."""
        self._lock.close()

    def _steps(self) -> list[Path]:
        return sorted(self._folder.glob("step?????????"))

    def remove(self) -> None:
        """Forget the run: its result is written."""
        shutil.rmtree(self._folder, ignore_errors=True)
        with contextlib.suppress(OSError):
            self._folder.parent.rmdir()


def json_lines(records: list[dict[str, Any]]) -> str:
    """Records as JSON lines."""
    return "".join(json.dumps(record, sort_keys=True) + "\n" for record in records)
