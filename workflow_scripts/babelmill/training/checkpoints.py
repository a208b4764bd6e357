"""Checkpoints of a training run: whole or skipped, tied to what is trained on what.

A run's folder holds ``lock``, ``step000001000/`` and so on, and in the end, in the
place of these, ``finished/``: a second name of every file of the run's result.
"""

import contextlib
import fcntl
import json
import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from babelmill.errors import UserError
from babelmill.files import fingerprint, read_json, sha256, whole_folder, write_json
from babelmill.models.weights import read_weights, save_weights

# Settings that say how a run is watched and kept, not what it computes.
WATCHING = ("save_steps", "logging_steps", "eval_steps")

_KEPT = 2
# Of what trainers keep: another number where the same code cannot go on from it.
_FORMAT = 2
_FINISHED, _RECORD = "finished", "finished.json"


def computed(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings that a run's weights depend on: what belongs in its identity."""
    return {key: value for key, value in settings.items() if key not in WATCHING}


class Checkpoints:
    """The checkpoints of one run, in a folder named by the hash of its identity.

    Snakemake deletes a rule's outputs before it tries again, so the folder is none of
    them. Another run (other settings or data) has another folder.

    Args:
        state: the folder of all runs that write one output.
        identity: what the weights depend on, as a JSON value.
        writer: whether this process saves. Of several that train together one does,
            and the others only load; they must not save or load at the same time.

    Raises:
        UserError: another process has the run, or the folder cannot be written to.
    """

    def __init__(self, state: Path, identity: Any, writer: bool = True):
        self._state = state
        self._folder = state / fingerprint(identity)[:16]
        self._good: list[Path] = []
        if not writer:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            # Held until the process ends, however it does.
            self._lock = _lock(self._folder)
        except OSError as error:
            raise _unwritable(self._folder, error) from error
        for torn in self._folder.glob(".*.partial"):
            shutil.rmtree(torn, ignore_errors=True)

    def save(
        self, step: int, arrays: dict[str, dict[str, np.ndarray]], values: Any
    ) -> None:
        """Keep named groups of arrays and a JSON value; the last two good saves stay.

        Raises:
            UserError: the disk is full or the folder cannot be written to; what was
                saved before is still there.
        """
        folder = self._folder / f"step{step:09d}"
        try:
            with whole_folder(folder) as partial:
                for group, tensors in arrays.items():
                    save_weights(partial / f"{group}.safetensors", tensors)
                sums = {path.name: sha256(path) for path in partial.iterdir()}
                content = {"format": _FORMAT, "values": values, "sha256": sums}
                write_json(partial / "checkpoint.json", content)
        except OSError as error:
            raise _unwritable(self._folder, error) from error
        self._good = [*(good for good in self._good if good != folder), folder]
        self._good = self._good[-_KEPT:]
        if len(self._good) == _KEPT:
            for other in set(self._steps()) - set(self._good):
                shutil.rmtree(other, ignore_errors=True)

    def load(self) -> tuple[dict[str, dict[str, np.ndarray]], Any] | None:
        """The newest whole checkpoint, or None; torn ones are named and skipped.

        Raises:
            UserError: it is another version's.
        """
        for folder in reversed(self._steps()):
            try:
                content = self._read(folder)
            except (UserError, OSError, KeyError, TypeError) as error:
                print(f"{folder}: torn checkpoint skipped: {error}", file=sys.stderr)
            else:
                if content["format"] != _FORMAT:
                    raise _foreign(folder)
                self._good = [folder]
                return content["arrays"], content["values"]
        return None

    def newest(self) -> Path | None:
        """The folder of the newest checkpoint, if there is one."""
        return max(self._steps(), default=None)

    def _read(self, folder: Path) -> dict[str, Any]:
        content = read_json(folder / "checkpoint.json")
        for name, expected in content["sha256"].items():
            if sha256(folder / name) != expected:
                raise UserError(f"{name} has another checksum than when it was saved")
        content["arrays"] = {
            Path(name).stem: read_weights(folder / name)[0]
            for name in content["sha256"]
        }
        return {"format": 1, **content}

    def close(self) -> None:
        """Let another process have the run."""
        self._lock.close()

    def _steps(self) -> list[Path]:
        return sorted(self._folder.glob("step?????????"))

    def finish(self, output: Path, asked: Any) -> None:
        """Drop the checkpoints: the result is written to the folder ``output``.

        A second name of its files stays, which takes no room until ``output`` is
        deleted: Snakemake does so where it was stopped before the job ended.

        Args:
            asked: all that shapes the output, as a JSON value: settings and code.
        """
        with whole_folder(self._folder / _FINISHED) as partial:
            _copy(output, partial / "output")
            content = {"asked": fingerprint(asked), "sha256": _sums(output)}
            write_json(partial / _RECORD, content)
        for folder in self._steps():
            shutil.rmtree(folder, ignore_errors=True)
        # The output has room for one result: those of other settings are history.
        _forget(run for run in self._state.iterdir() if run != self._folder)

    def put_back(self, output: Path, asked: Any) -> bool:
        """Write the folder ``output`` as the finished run did, if asked the same."""
        finished = self._folder / _FINISHED
        try:
            content = read_json(finished / _RECORD)
            if content["asked"] != fingerprint(asked):
                return False
            if content["sha256"] != _sums(finished / "output"):
                return False
        except (OSError, UserError, KeyError):
            return False
        with whole_folder(output) as partial:
            _copy(finished / "output", partial)
        print(f"trained before: {output} is put back")
        return True


def forget_finished(state: Path) -> None:
    """Delete what is kept of finished runs below ``state``: their outputs are there."""
    _forget(record.parent.parent for record in state.rglob(f"{_FINISHED}/{_RECORD}"))


def _forget(runs: Iterable[Path]) -> None:
    for run in list(runs):
        if (run / _FINISHED / _RECORD).exists():
            # A run that goes on is locked, and left alone.
            with contextlib.suppress(UserError), _lock(run):
                shutil.rmtree(run, ignore_errors=True)


def _lock(run: Path) -> TextIO:
    """The open lock of a run's folder; it is held until it is closed.

    Raises:
        UserError: another process holds it.
    """
    lock = (run / "lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise UserError(
            f"{run}: another process trains this: wait for it or stop it"
        ) from None
    return lock


def _copy(source: Path, target: Path) -> None:
    """Give the files of a folder second names, or copy them to another disk."""
    shutil.copytree(source, target, dirs_exist_ok=True, copy_function=_link)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _sums(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): sha256(path)
        for path in folder.rglob("*")
        if path.is_file()
    }


def _unwritable(folder: Path, error: Exception) -> UserError:
    return UserError(
        f"{folder}: no checkpoint can be written: {error}; older ones are kept:"
        " free space or allow writing there, then start again"
    )


def _foreign(folder: Path) -> UserError:
    return UserError(
        f"{folder}: another version of this program saved it: finish with that version,"
        f" or move {folder.parent} away and start anew; model_name_or_path may name the"
        " checkpoint, for its weights"
    )


def json_lines(records: list[dict[str, Any]]) -> str:
    """Records as JSON lines."""
    return "".join(json.dumps(record, sort_keys=True) + "\n" for record in records)
