"""XLM: PaddleNLP's classes, built from our config, fed from our batches."""

from pathlib import Path
from typing import Any

import numpy as np

from babelmill.files import read_json, write_json
from babelmill.models.paddlenlp_classes import configuration_module, model_module
from babelmill.models.weights import (
    WEIGHTS,
    load_tensors,
    model_tensors,
    read_weights,
    save_weights,
)
from babelmill.tokenizers import Tokenizer

CONFIG = "config.json"
TOKEN_COUNTS = "token_counts.safetensors"
PREFIX = "xlm."
HEADS = ("pred_layer.", "classifier.", "sequence_summary.")

# Encoder inputs: fields of a batch -> arguments of PaddleNLP's forward.
INPUTS = {
    "input_ids": "input_ids",
    "input_mask": "attention_mask",
    "position_ids": "position_ids",
    "lang_ids": "langs",
}


def full_config(architecture: dict[str, Any], tokenizer: Tokenizer) -> dict[str, Any]:
    """An XLM config in Hugging Face's names: the architecture and the tokenizer's ids.

    XLMConfig ignores ``hidden_size`` and its like: it wants ``emb_dim``, ``n_layers``
    and ``n_heads``.
    """
    return {
        "model_type": "xlm",
        "embed_init_std": architecture["emb_dim"] ** -0.5,
        **architecture,
        "vocab_size": tokenizer.vocab_size,
        "n_langs": len(tokenizer.lang2id),
        "lang2id": tokenizer.lang2id,
        "bos_index": tokenizer.bos_id,
        "eos_index": tokenizer.eos_id,
        "pad_index": tokenizer.pad_id,
        "pad_token_id": tokenizer.pad_id,
        "unk_index": tokenizer.unk_id,
        "mask_index": tokenizer.mask_id,
    }


def has_language_embeddings(config: dict[str, Any]) -> bool:
    """Whether the encoder has them: PaddleNLP makes none for one language."""
    return config.get("use_lang_emb", True) and config["n_langs"] > 1


def _paddlenlp_config(config: dict[str, Any], **more: Any):
    return configuration_module("xlm").XLMConfig(**{**config, **more})


def pretraining_model(config: dict[str, Any]):
    """XLM with its language-model head, freshly initialized."""
    return model_module("xlm").XLMWithLMHeadModel(_paddlenlp_config(config))


def classification_model(config: dict[str, Any], num_classes: int, dropout: float):
    """XLM with a linear layer on the first token (Lample & Conneau 2019, 5.1)."""
    module = model_module("xlm")
    config = {**config, "dropout": dropout, "attention_dropout": dropout}
    return module.XLMForSequenceClassification(
        _paddlenlp_config(config, num_classes=num_classes)
    )


def masked_lm_logits(model, batch: dict[str, Any]):
    """Scores of the vocabulary at the masked positions alone.

    Args:
        batch: tensors of the fields in ``INPUTS``, and ``flat_positions``
            (predictions,) int64, positions in the flattened (rows, length).

    Returns:
        (predictions, vocabulary) float32.
    """
    import paddle

    hidden = encode(model.xlm, batch)
    rows = paddle.gather(
        hidden.reshape([-1, hidden.shape[-1]]), batch["flat_positions"]
    )
    return model.pred_layer(rows)[0]


def encode(encoder, batch: dict[str, Any]):
    """Hidden states (rows, length, emb_dim) of an XLMModel."""
    return encoder(**{name: batch[field] for field, name in INPUTS.items()})[0]


def classify(model, batch: dict[str, Any]):
    """Logits (rows, num_classes) of a classification model."""
    return model(**{name: batch[field] for field, name in INPUTS.items()})


def save(folder: Path, config: dict[str, Any], model) -> None:
    """Write ``config.json`` and ``model.safetensors``."""
    write_json(folder / CONFIG, config)
    save_weights(folder / WEIGHTS, model_tensors(model))


def load_config(folder: Path) -> dict[str, Any]:
    """The config that ``save`` wrote, or a published one."""
    return read_json(folder / CONFIG)


def load_pretrained_encoder(model, folder: Path) -> None:
    """Fill a model's encoder from a pretrained folder of ours or Hugging Face's."""
    load_tensors(model, tensors(model, folder), folder / WEIGHTS, PREFIX, HEADS)


def center_languages(model, folder: Path) -> None:
    """Let each language embedding cancel the mean word embedding of its language.

    Pretraining gives every language a direction of its own, by which its words are told
    from others when they are predicted. A classifier that has seen one language takes
    it for a feature; without it, translations lie closer together (Libovicky et al.
    2020, section 3, who subtract the mean of each language's representations).

    Args:
        folder: of the pretrained model, with the token counts of each language.
    """
    counts = read_weights(folder / TOKEN_COUNTS)[0]["counts"]
    words = model.xlm.embeddings.weight.numpy()
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    model.xlm.lang_embeddings.weight.set_value((-shares @ words).astype(words.dtype))


def freeze_embeddings(model) -> None:
    """Keep word, position and language embeddings as they are."""
    for name, parameter in model.named_parameters():
        if "embeddings" in name:
            parameter.stop_gradient = True


def load(model, folder: Path) -> None:
    """Fill a whole model, head included."""
    load_tensors(model, tensors(model, folder), folder / WEIGHTS, heads=HEADS)


def tensors(model, folder: Path) -> dict[str, np.ndarray]:
    """The tensors of a folder in the names and the layout of a model."""
    arrays, is_paddle = read_weights(folder / WEIGHTS)
    return arrays if is_paddle else _from_hugging_face(model, arrays)


def _from_hugging_face(model, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Rename Hugging Face's tensors and transpose the weights of linear layers."""
    import paddle

    linear = {
        f"{name}.weight"
        for name, layer in model.named_sublayers()
        if isinstance(layer, paddle.nn.Linear)
    }
    renamed = {}
    for name, value in arrays.items():
        name = name.replace("transformer.", PREFIX, 1)
        name = name.replace("pred_layer.proj.bias", "pred_layer.bias")
        name = name.replace("sequence_summary.summary.", "classifier.")
        # Tied to the embeddings, or a buffer of torch's.
        if name in ("pred_layer.proj.weight", f"{PREFIX}position_ids"):
            continue
        renamed[name] = np.ascontiguousarray(value.T) if name in linear else value
    return renamed
