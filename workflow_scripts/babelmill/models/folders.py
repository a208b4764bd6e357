"""Model folders: weights and config, of ours, PaddleNLP's or Hugging Face's.

The functions are the same for every family: a model of PaddleNLP knows the prefix of
its encoder, and ``naming`` knows the rest.
"""

import shutil
from pathlib import Path
from typing import Any

import numpy as np

from babelmill.errors import UserError
from babelmill.files import read_json, write_json
from babelmill.models.naming import NAMING, Naming
from babelmill.models.weights import (
    WEIGHTS,
    Tensors,
    load_tensors,
    model_tensors,
    read_folder,
    save_weights,
    weight_files,
)
from babelmill.tokenizers import Tokenizer

CONFIG = "config.json"

# BERTs whose positions are counted from after the padding's id: what stands before is
# never used.
_ROBERTAS = ("roberta", "xlm-roberta")
# Weights in other formats that published folders carry as well.
_OTHER_WEIGHTS = (".bin", ".h5", ".msgpack", ".onnx", ".ot", ".pdparams")


def save(folder: Path, config: dict[str, Any], model) -> None:
    """Write ``config.json`` and ``model.safetensors``."""
    write_json(folder / CONFIG, config)
    save_weights(folder / WEIGHTS, model_tensors(model))


def load_config(folder: Path) -> dict[str, Any]:
    """The config that ``save`` wrote, or a published one; RoBERTas become BERTs.

    Raises:
        UserError: there is none, or it is not JSON.
    """
    config = _published_config(folder)
    if "n_words" in config:
        # So published XLMs call it.
        config["vocab_size"] = config.pop("n_words")
    if unused := _unused_positions(config):
        config["model_type"] = "bert"
        config["max_position_embeddings"] -= unused
    return config


def _published_config(folder: Path) -> dict[str, Any]:
    if not (folder / CONFIG).is_file():
        raise UserError(f"{folder}: not a model folder: it has no {CONFIG}")
    return read_json(folder / CONFIG)


def _unused_positions(config: dict[str, Any]) -> int:
    roberta = config.get("model_type") in _ROBERTAS
    return config["pad_token_id"] + 1 if roberta else 0


def check_fit(
    config: dict[str, Any], tokenizer: Tokenizer, max_seq_length: int, folder: Path
) -> None:
    """Refuse inputs that an encoder has no embeddings for.

    Raises:
        UserError: the tokenizer has more ids than the encoder, or the inputs would be
            longer than its position embeddings.
    """
    words, longest = config["vocab_size"], config.get("max_position_embeddings", 512)
    if tokenizer.vocab_size > words:
        raise UserError(
            f"{folder}: the tokenizer has {tokenizer.vocab_size} ids, the encoder"
            f" {words} word embeddings: they do not belong together"
        )
    if max_seq_length > longest:
        raise UserError(
            f"max_seq_length ({max_seq_length}) is longer than the"
            f" max_position_embeddings ({longest}) of {folder}"
        )


def copy_files(source: Path, folder: Path) -> None:
    """Copy what a model folder holds beside its weights, such as its tokenizer."""
    weights = weight_files(source)
    for path in source.iterdir():
        is_weights = path in weights or path.suffix in _OTHER_WEIGHTS
        if path.is_file() and not is_weights:
            shutil.copy(path, folder)


def load(model, folder: Path) -> None:
    """Fill a whole model, head included."""
    load_tensors(model, tensors(model, folder), folder, may_hold=naming(model).heads)


def load_pretrained_encoder(model, folder: Path) -> None:
    """Fill a model's encoder from a pretrained folder; its head stays fresh."""
    names = naming(model)
    given = tensors(model, folder)
    heads = names.heads
    fresh = load_tensors(model, given, folder, names.prefix, heads, heads)
    _report(folder, fresh)


def load_pretraining_weights(model, folder: Path) -> None:
    """Fill a pretraining model to train it further; heads too where they are there."""
    heads = naming(model).heads
    fresh = load_tensors(model, tensors(model, folder), folder, "", heads, heads)
    _report(folder, fresh)


def _report(folder: Path, fresh: list[str]) -> None:
    if fresh:
        print(f"{folder} has no {', '.join(fresh)}: freshly initialized", flush=True)


def naming(model) -> Naming:
    """The names of a model's family."""
    return NAMING[model.base_model_prefix]


def tensors(model, folder: Path) -> Tensors:
    """The tensors of a folder in the names and the layout of a model."""
    arrays, is_paddle = read_folder(folder)
    if not is_paddle:
        arrays = _renamed(model, arrays)
    prefix, heads, _ = naming(model)
    if not any(name.startswith(prefix) for name in arrays):
        # A bare encoder's folder.
        arrays = {
            name if name.startswith(heads) else prefix + name: value
            for name, value in arrays.items()
        }
    # A checkpoint has none.
    config = _published_config(folder) if (folder / CONFIG).is_file() else {}
    if unused := _unused_positions(config):
        name = f"{prefix}embeddings.position_embeddings.weight"
        arrays[name] = arrays[name][unused:]
    return arrays if is_paddle else _transposed(model, arrays)


def _renamed(model, arrays: Tensors) -> Tensors:
    named = {naming(model).paddle_name(name): value for name, value in arrays.items()}
    named.pop("", None)
    return named


def _transposed(model, arrays: Tensors) -> Tensors:
    """The weights of linear layers as (in, out), where torch has (out, in)."""
    import paddle

    linear = {
        f"{name}.weight"
        for name, layer in model.named_sublayers()
        if isinstance(layer, paddle.nn.Linear)
    }
    return {
        name: np.ascontiguousarray(value.T) if name in linear else value
        for name, value in arrays.items()
    }


def freeze_embeddings(model) -> None:
    """Keep word, position, language and segment embeddings as they are."""
    for name, parameter in model.named_parameters():
        if "embeddings" in name and parameter.ndim > 1:
            parameter.stop_gradient = True
