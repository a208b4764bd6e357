"""PaddleNLP's model classes without the import of all of PaddleNLP.

``import paddlenlp`` runs package files that pull in task flows, data sets, trainers and
every family's tokenizers (4 of 6 seconds). Bare modules stand in for the packages whose
``__init__`` does that; the model modules below them then load as they are.
"""

import importlib
import importlib.util
import sys
import types
from importlib.machinery import ModuleSpec
from pathlib import Path

_BARE = ("paddlenlp", "paddlenlp.transformers", "paddlenlp.data")


def _bare_module(name: str) -> None:
    root = Path(importlib.util.find_spec("paddlenlp").submodule_search_locations[0])
    module = types.ModuleType(name)
    module.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
    module.__package__ = name
    module.__spec__ = ModuleSpec(name, None, is_package=True)
    module.__spec__.submodule_search_locations = module.__path__
    sys.modules[name] = module
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], child, module)


def _install_bare_modules() -> None:
    import paddle

    for name in _BARE:
        _bare_module(name)
    sys.modules["paddlenlp"].__version__ = "bare"
    # What the model modules import from the package itself.
    model_utils = importlib.import_module("paddlenlp.transformers.model_utils")
    transformers = sys.modules["paddlenlp.transformers"]
    for name in ("PretrainedModel", "register_base_model"):
        setattr(transformers, name, getattr(model_utils, name))
    # Paddle's handler turns a scheduler's SIGTERM into a crash report.
    paddle.disable_signal_handler()


def model_module(family: str) -> types.ModuleType:
    """The module ``paddlenlp.transformers.{family}.modeling``, e.g. of ``xlm``."""
    return _module(family, "modeling")


def configuration_module(family: str) -> types.ModuleType:
    """The module ``paddlenlp.transformers.{family}.configuration``."""
    return _module(family, "configuration")


def _module(family: str, name: str) -> types.ModuleType:
    if "paddlenlp" not in sys.modules:
        _install_bare_modules()
    package = f"paddlenlp.transformers.{family}"
    if package not in sys.modules:
        _bare_module(package)
    return importlib.import_module(f"{package}.{name}")
