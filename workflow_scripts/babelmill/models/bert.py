"""BERT by PaddleNLP's classes, and what ERNIE shares with it."""

from typing import Any

from babelmill.errors import UserError
from babelmill.models.folders import (  # noqa: F401
    freeze_embeddings,
    load,
    load_config,
    load_pretrained_encoder,
    load_pretraining_weights,
    save,
)
from babelmill.models.inputs import NEVER
from babelmill.models.naming import NAMING
from babelmill.models.paddlenlp_classes import configuration_module, model_module
from babelmill.tokenizers import Tokenizer

PREFIX, HEADS, _ = NAMING["bert"]
# Of the config's schema.
ARCHITECTURE = "bert_architecture"

# Encoder inputs: fields of a batch -> arguments of PaddleNLP's forward.
INPUTS = {
    "input_ids": "input_ids",
    "segment_ids": "token_type_ids",
    "input_mask": "attention_mask",
}

# The architecture, in Hugging Face's names and with its defaults (PaddleNLP's
# type_vocab_size would be 16).
_ARCHITECTURE = {
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "initializer_range": 0.02,
    "layer_norm_eps": 1e-12,
}
# Of published ERNIEs.
_TASK_EMBEDDINGS = ("use_task_id", "task_type_vocab_size", "task_id")
_ACTIVATIONS = ("gelu", "relu", "silu")
_CLASSES = {"bert": "Bert", "ernie": "Ernie"}
_TASK_CLASSES = {
    "sequence_classification": "ForSequenceClassification",
    "token_classification": "ForTokenClassification",
    "question_answering": "ForQuestionAnswering",
    "multiple_choice": "ForMultipleChoice",
}


def full_config(architecture: dict[str, Any], tokenizer: Tokenizer) -> dict[str, Any]:
    """A BERT config in Hugging Face's names: the architecture, the tokenizer's ids."""
    width = architecture.get("hidden_size", _ARCHITECTURE["hidden_size"])
    return {
        "model_type": "bert",
        **_ARCHITECTURE,
        "intermediate_size": 4 * width,
        **architecture,
        "vocab_size": tokenizer.vocab_size,
        "pad_token_id": tokenizer.pad_id,
    }


def input_fields(config: dict[str, Any]) -> list[str]:
    """The fields of a batch that the encoder uses."""
    del config
    return list(INPUTS)


def _build(config: dict[str, Any], head: str, **more: Any):
    """A freshly initialized model: weights N(0, initializer_range), biases 0."""
    import paddle

    config = {**_ARCHITECTURE, **config, **more}
    if config["hidden_act"] not in _ACTIVATIONS:
        raise UserError(
            f"hidden_act {config['hidden_act']}: PaddleNLP's BERT has none but"
            f" {', '.join(_ACTIVATIONS)}"
        )
    family = config["model_type"]
    keys = (*_ARCHITECTURE, *_TASK_EMBEDDINGS, "vocab_size", "pad_token_id", *more)
    kept = {key: config[key] for key in keys if key in config}
    classes, name = model_module(family), _CLASSES[family]
    settings = getattr(configuration_module(family), f"{name}Config")(**kept)
    model = getattr(classes, f"{name}{head}")(settings)
    # PaddleNLP's ERNIE takes no layer_norm_eps.
    for layer in model.sublayers():
        if isinstance(layer, paddle.nn.LayerNorm):
            layer._epsilon = config["layer_norm_eps"]
    return model


def pretraining_model(config: dict[str, Any]):
    """The encoder with heads for masked words and sentence pairs, fresh."""
    return _build(config, "ForPretraining")


def classification_model(
    config: dict[str, Any],
    num_classes: int,
    dropout: float,
    kind: str = "sequence_classification",
):
    """The encoder with a linear layer on the pooled first token, or on every token."""
    return _build(
        config,
        _TASK_CLASSES[kind],
        num_labels=num_classes,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
    )


def pretraining_scores(model, batch: dict[str, Any], causal: bool = False):
    """Scores of the vocabulary at the masked positions alone, and of sentence pairs.

    Args:
        batch: tensors of the fields in ``INPUTS``, and ``flat_positions``
            (predictions,) int64, positions in the flattened (rows, length).
        causal: not for BERT.

    Returns:
        (predictions, vocabulary) and (rows, 2) float32; class 1 of a pair: its second
        part is random.
    """
    if causal:
        raise UserError("only an XLM can be trained left to right: objective clm")
    return model(**_arguments(batch), masked_positions=batch["flat_positions"])


def encode(encoder, batch: dict[str, Any]):
    """Hidden states (rows, length, hidden_size) of a BertModel."""
    return encoder(**_arguments(batch))[0]


def classify(model, batch: dict[str, Any]):
    """Logits of a classification model.

    Returns:
        (rows, num_classes), or for each token (rows, length, num_classes); with
        ``multiple_choice`` each choice is a row, and it has one class.
    """
    import paddle

    if hasattr(model, "num_choices"):
        # Its own forward cannot be traced with an open length.
        pooled = getattr(model, model.base_model_prefix)(**_arguments(batch))[1]
        return model.classifier(model.dropout(pooled))
    logits = model(**_arguments(batch))
    if isinstance(logits, tuple):
        # Starts and ends of answers, none of them in padding.
        padding = 1 - batch["input_mask"].unsqueeze(-1)
        return paddle.stack(logits, axis=-1) - NEVER * padding
    return logits


def _arguments(batch: dict[str, Any]) -> dict[str, Any]:
    import paddle

    # PaddleNLP's ERNIE cannot count positions in a static program.
    ones = paddle.ones_like(batch["input_ids"])
    positions = paddle.cumsum(ones, axis=1) - ones
    inputs = {name: batch[field] for field, name in INPUTS.items()}
    return {**inputs, "position_ids": positions}
