"""Weights on disk: safetensors in Paddle's layout, or Hugging Face's on the way in."""

import errno
import os
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from babelmill.errors import UserError
from babelmill.files import read_json, whole_file
from babelmill.models.pickles import read_pickled_arrays

WEIGHTS = "model.safetensors"
_INDEX = "model.safetensors.index.json"
_PICKLE = "model_state.pdparams"
# In a checkpoint, beside the optimizer's.
_CHECKPOINT = "weights.safetensors"
_PADDLE = "pd"
# What PaddleNLP says of its own.
_PADDLES = (_PADDLE, "np")

_HALVES = ("float16", "bfloat16")

Tensors = dict[str, np.ndarray]


def save_weights(path: str | os.PathLike[str], tensors: Tensors) -> None:
    """Write named float arrays; equal arrays give equal bytes.

    Raises:
        OSError: the disk is full or does not want them.
    """
    arrays = {name: np.ascontiguousarray(value) for name, value in tensors.items()}
    with whole_file(path) as partial:
        partial.touch()
        mode = partial.stat().st_mode
        try:
            save_file(arrays, str(partial), metadata={"format": _PADDLE})
        except SafetensorError as error:
            raise OSError(errno.EIO, str(error), str(path)) from error
        # It writes a file that nobody else may read, whatever the umask.
        partial.chmod(mode)


def read_weights(path: str | os.PathLike[str]) -> tuple[Tensors, bool]:
    """Read the tensors of a safetensors file, and whether Paddle's layout is theirs.

    Raises:
        UserError: the file is torn or not safetensors.
    """
    try:
        with safe_open(path, framework="np") as source:
            tensors = {name: source.get_tensor(name) for name in source.keys()}  # noqa: SIM118
            layout = (source.metadata() or {}).get("format")
    except (SafetensorError, FileNotFoundError) as error:
        raise UserError(f"{path}: not readable as safetensors: {error}") from error
    return tensors, layout in _PADDLES


def weight_files(folder: Path) -> list[Path]:
    """The files of a model's weights: safetensors, whole or sharded, or PaddleNLP's.

    A checkpoint's are weights as well.

    Raises:
        UserError: the folder has none of them.
    """
    for name in (WEIGHTS, _CHECKPOINT):
        if (folder / name).is_file():
            return [folder / name]
    if (folder / _INDEX).is_file():
        shards = read_json(folder / _INDEX)["weight_map"].values()
        return [folder / name for name in sorted(set(shards))]
    if (folder / _PICKLE).is_file():
        return [folder / _PICKLE]
    raise UserError(
        f"{folder}: no weights: it needs {WEIGHTS} or {_PICKLE}; save other formats as"
        " safetensors with the library that wrote them"
    )


def read_folder(folder: Path) -> tuple[Tensors, bool]:
    """Read all weights of a model as float32, and whether they are in Paddle's layout.

    Raises:
        UserError: there are none, or they cannot be read.
    """
    tensors: Tensors = {}
    for path in weight_files(folder):
        if path.name == _PICKLE:
            part, is_paddle = read_pickled_arrays(path), True
        else:
            part, is_paddle = read_weights(path)
        tensors |= part
    halves = {
        name: value.astype(np.float32)
        for name, value in tensors.items()
        if value.dtype.name in _HALVES
    }
    return tensors | halves, is_paddle


def model_tensors(model) -> Tensors:
    """The persistable state of a Paddle layer as arrays, tied tensors once."""
    return {name: value.numpy() for name, value in _parameters(model).items()}


def _parameters(model) -> dict:
    first: dict[int, str] = {}
    state = model.state_dict()
    for name, value in state.items():
        first.setdefault(id(value), name)
    return {name: state[name] for name in first.values()}


def load_tensors(
    model,
    tensors: Tensors,
    source: Path,
    prefix: str = "",
    may_lack: tuple[str, ...] = (),
    may_hold: tuple[str, ...] = (),
) -> list[str]:
    """Copy tensors into a layer, each by its name.

    Args:
        source: what they are from, for messages.
        prefix: fill only what starts with it, such as an encoder's ``"xlm."``.
        may_lack: prefixes of tensors that may be missing and then stay as they are.
        may_hold: prefixes of tensors of other tasks, which may be left over.

    Returns:
        the names that were missing.

    Raises:
        UserError: tensors are missing, left over or of another shape, by name.
    """
    wanted = {n: v for n, v in _parameters(model).items() if n.startswith(prefix)}
    absent = set(wanted) - set(tensors)
    missing = {name for name in absent if not name.startswith(may_lack)}
    left_over = set(tensors) - set(wanted)
    left_over = {name for name in left_over if not name.startswith(may_hold)}
    if missing or left_over:
        raise UserError(
            f"{source}: not the weights of this model:"
            f" missing {_few(missing)}, left over {_few(left_over)}"
        )
    for name in wanted.keys() - absent:
        if tuple(wanted[name].shape) != tensors[name].shape:
            raise UserError(
                f"{source}: {name} has shape {tensors[name].shape}, the model wants"
                f" {tuple(wanted[name].shape)}"
            )
        wanted[name].set_value(tensors[name])
    return sorted(absent)


def _few(names: set[str]) -> str:
    listed = sorted(names)
    more = f" and {len(listed) - 5} more" if len(listed) > 5 else ""
    return (", ".join(listed[:5]) or "none") + more
