"""PaddleNLP's model classes without the import of all of PaddleNLP.

``import paddlenlp`` runs package files that pull in task flows, data sets and trainers
(4 of 6 seconds). Bare modules stand in for the three packages whose ``__init__`` does
that; the model modules below them then load as they are.
"""

import importlib
import importlib.util
import sys
import types
from importlib.machinery import ModuleSpec
from pathlib import Path

_BARE = ("paddlenlp", "paddlenlp.transformers", "paddlenlp.data")


def _bare_module(name: str, folder: Path) -> types.ModuleType:
    module = types.ModuleType(name)
    module.__path__ = [str(folder)]
    module.__package__ = name
    module.__spec__ = ModuleSpec(name, None, is_package=True)
    module.__spec__.submodule_search_locations = module.__path__
    sys.modules[name] = module
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], child, module)
    return module


def _install_bare_modules() -> None:
    import paddle

    spec = importlib.util.find_spec("paddlenlp")
    root = Path(spec.submodule_search_locations[0])
    for name in _BARE:
        _bare_module(name, root.joinpath(*name.split(".")[1:]))
    sys.modules["paddlenlp"].__version__ = "bare"
    transformers = sys.modules["paddlenlp.transformers"]
    # What the model modules import from the package itself.
    for module, names in (
        ("model_utils", ("PretrainedModel", "register_base_model")),
        ("tokenizer_utils", ("PretrainedTokenizer", "BPETokenizer", "AddedToken")),
    ):
        loaded = importlib.import_module(f"paddlenlp.transformers.{module}")
        for name in names:
            setattr(transformers, name, getattr(loaded, name))
    # Paddle's handler turns a scheduler's SIGTERM into a crash report.
    paddle.disable_signal_handler()


def model_module(family: str) -> types.ModuleType:
    """The module ``paddlenlp.transformers.{family}.modeling``, e.g. of ``xlm``."""
    if "paddlenlp" not in sys.modules:
        _install_bare_modules()
    return importlib.import_module(f"paddlenlp.transformers.{family}.modeling")


def configuration_module(family: str) -> types.ModuleType:
    """The module ``paddlenlp.transformers.{family}.configuration``."""
    if "paddlenlp" not in sys.modules:
        _install_bare_modules()
    return importlib.import_module(f"paddlenlp.transformers.{family}.configuration")
