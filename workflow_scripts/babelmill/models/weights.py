"""Weights on disk: safetensors in Paddle's layout, or Hugging Face's on the way in."""

import os
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from babelmill.errors import UserError
from babelmill.files import whole_file

WEIGHTS = "model.safetensors"
_PADDLE = "pd"


def save_weights(path: str | os.PathLike[str], tensors: dict[str, np.ndarray]) -> None:
    """Write named float arrays; equal arrays give equal bytes."""
    arrays = {name: np.ascontiguousarray(value) for name, value in tensors.items()}
    with whole_file(path) as partial:
        save_file(arrays, str(partial), metadata={"format": _PADDLE})


def read_weights(path: str | os.PathLike[str]) -> tuple[dict[str, np.ndarray], bool]:
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
    return tensors, layout == _PADDLE


def model_tensors(model) -> dict[str, np.ndarray]:
    """The persistable state of a Paddle layer as arrays."""
    return {name: value.numpy() for name, value in model.state_dict().items()}


def load_tensors(
    model,
    tensors: dict[str, np.ndarray],
    source: Path,
    prefix: str = "",
    heads: tuple[str, ...] = (),
) -> None:
    """Copy tensors into a layer, each by its name.

    Args:
        source: the file they are from, for messages.
        prefix: fill only what starts with it, such as an encoder's ``"xlm."``.
        heads: prefixes of tensors of other tasks, which may be left over.

    Raises:
        UserError: tensors are missing, left over or of another shape, by name.
    """
    wanted = {n: v for n, v in model.state_dict().items() if n.startswith(prefix)}
    missing = set(wanted) - set(tensors)
    left_over = set(tensors) - set(wanted)
    left_over = {name for name in left_over if not name.startswith(heads)}
    if missing or left_over:
        raise UserError(
            f"{source}: not the weights of this model:"
            f" missing {_few(missing)}, left over {_few(left_over)}"
        )
    for name, parameter in wanted.items():
        if tuple(parameter.shape) != tensors[name].shape:
            raise UserError(
                f"{source}: {name} has shape {tensors[name].shape}, the model wants"
                f" {tuple(parameter.shape)}"
            )
        parameter.set_value(tensors[name])


def _few(names: set[str]) -> str:
    listed = sorted(names)
    more = f" and {len(listed) - 5} more" if len(listed) > 5 else ""
    return (", ".join(listed[:5]) or "none") + more
