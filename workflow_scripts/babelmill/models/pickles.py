"""PaddlePaddle's ``.pdparams``: pickles, which may run anything when they are read.

Only what ``paddle.save`` writes for a state dict is admitted: arrays and plain
containers.
"""

import collections
import pickle
from pathlib import Path

import numpy as np

from babelmill.errors import UserError

# Beside the weights: from names in the model to names in the program.
_NAME_TABLE = "StructuredToParameterName@@"
_ADMITTED = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("collections", "OrderedDict"): collections.OrderedDict,
    ("builtins", "tuple"): tuple,
}
_RECONSTRUCT = np.zeros(0).__reduce__()[0]


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str):
        # numpy.core became numpy._core in NumPy 2.
        if name == "_reconstruct" and module.endswith("core.multiarray"):
            return _RECONSTRUCT
        if (module, name) == ("_codecs", "encode"):
            return _latin1
        try:
            return _ADMITTED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"it names {module}.{name}") from None


def _latin1(text: str, encoding: str) -> bytes:
    """What older pickle protocols turn bytes into text with."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"it names the encoding {encoding}")
    return text.encode("latin1")


def read_pickled_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read the arrays of a ``.pdparams`` file by name.

    Raises:
        UserError: the file is torn, or holds anything but arrays.
    """
    try:
        with path.open("rb") as source:
            content = _Unpickler(source).load()
        if not isinstance(content, dict):
            raise pickle.UnpicklingError("it holds no state dict")
        content.pop(_NAME_TABLE, None)
        arrays = {name: _array(value) for name, value in content.items()}
    # A torn pickle fails in any way.
    except Exception as error:
        raise UserError(
            f"{path}: refused: more than a state dict of arrays, or torn: {error}"
        ) from error
    return arrays


def _array(value) -> np.ndarray:
    # paddle.save writes a tensor as (its name, its values).
    if isinstance(value, tuple) and len(value) == 2:
        value = value[1]
    if not isinstance(value, np.ndarray):
        raise pickle.UnpicklingError(f"it holds a {type(value).__name__}")
    # bfloat16 would be uint16 here: bits, not numbers.
    if value.dtype.kind not in "fib":
        raise pickle.UnpicklingError(f"it holds an array of {value.dtype}")
    return value
