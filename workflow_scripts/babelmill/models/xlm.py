"""XLM: PaddleNLP's classes, built from our config, fed from our batches."""

from pathlib import Path
from typing import Any

import numpy as np

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
from babelmill.models.weights import read_weights
from babelmill.tokenizers import Tokenizer

TOKEN_COUNTS = "token_counts.safetensors"
PREFIX, HEADS, _ = NAMING["xlm"]
# Of the config's schema.
ARCHITECTURE = "xlm_architecture"

_TASK_CLASSES = {
    "sequence_classification": "XLMForSequenceClassification",
    "token_classification": "XLMForTokenClassification",
    "question_answering": "XLMForQuestionAnsweringSimple",
    "multiple_choice": "XLMForMultipleChoice",
}
_OF_TOKENS = ("XLMForTokenClassification", "XLMForQuestionAnsweringSimple")

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


def input_fields(config: dict[str, Any]) -> list[str]:
    """The fields of a batch that the encoder uses.

    PaddleNLP makes no language embeddings for one language.
    """
    if config.get("use_lang_emb", True) and config["n_langs"] > 1:
        return list(INPUTS)
    return [field for field in INPUTS if field != "lang_ids"]


def _paddlenlp_config(config: dict[str, Any], **more: Any):
    # PaddleNLP does not read the flag by which Hugging Face's XLM chooses.
    activation = "gelu" if config.get("gelu_activation", True) else "relu"
    settings = {"hidden_act": activation, **config, **more}
    return configuration_module("xlm").XLMConfig(**settings)


def pretraining_model(config: dict[str, Any]):
    """XLM with its language-model head, freshly initialized."""
    return model_module("xlm").XLMWithLMHeadModel(_paddlenlp_config(config))


def classification_model(
    config: dict[str, Any],
    num_classes: int,
    dropout: float,
    kind: str = "sequence_classification",
):
    """XLM with a linear layer on the first token (Lample & Conneau 2019, 5.1).

    On every token, where the kind of task is one of tokens.
    """
    config = {**config, "dropout": dropout, "attention_dropout": dropout}
    build = getattr(model_module("xlm"), _TASK_CLASSES[kind])
    return build(_paddlenlp_config(config, num_classes=num_classes))


def pretraining_scores(model, batch: dict[str, Any], causal: bool = False):
    """Scores of the vocabulary at the predicted positions alone.

    Args:
        batch: tensors of the fields in ``INPUTS``, and ``flat_positions``
            (predictions,) int64, positions in the flattened (rows, length).
        causal: whether a position sees only what stands before it, and itself.

    Returns:
        (predictions, vocabulary) float32, and None: XLM scores no pairs.
    """
    import paddle

    hidden = encode(model.xlm, batch, causal)
    rows = paddle.gather(
        hidden.reshape([-1, hidden.shape[-1]]), batch["flat_positions"]
    )
    # Not by pred_layer's own forward: it keeps the first embeddings in a closure.
    scores = paddle.matmul(rows, model.xlm.embeddings.weight, transpose_y=True)
    return scores + model.pred_layer.bias, None


def encode(
    encoder, batch: dict[str, Any], causal: bool = False, first_alone: bool = False
):
    """Hidden states (rows, length, emb_dim) of an XLMModel, 0 at padding.

    The layers are PaddleNLP's; its ``forward`` lets tokens see padding when it is
    causal (as Hugging Face's does), which is wrong where padding stands on the left.

    Args:
        first_alone: compute the last layer for the first token alone: (rows, 1,
            emb_dim). Its other outputs are all that a classifier does not read.
    """
    import paddle

    mask = batch["input_mask"]
    hidden = encoder.embeddings(batch["input_ids"])
    hidden = hidden + encoder.position_embeddings(batch["position_ids"])
    if encoder.use_lang_embeddings and encoder.n_langs > 1:
        hidden = hidden + encoder.lang_embeddings(batch["lang_ids"])
    hidden = encoder.dropout(encoder.layer_norm_emb(hidden))
    real = mask.unsqueeze(-1)
    hidden = hidden * real
    # A position sees what is real and, when causal, stands not after it.
    seen = paddle.tril(real * mask.unsqueeze(1)) if causal else mask
    for i in range(encoder.num_hidden_layers):
        asking, asked = hidden, None
        if first_alone and i == encoder.num_hidden_layers - 1:
            asking, asked, real = hidden[:, :1], hidden, real[:, :1]
        attended = encoder.attentions[i](asking, seen, kv=asked)[0]
        hidden = encoder.layer_norm1[i](asking + encoder.dropout(attended))
        hidden = encoder.layer_norm2[i](hidden + encoder.ffns[i](hidden)) * real
    return hidden


def classify(model, batch: dict[str, Any]):
    """Logits of a classification model.

    Returns:
        (rows, num_classes), or for each token (rows, length, num_classes); with
        ``multiple_choice`` each choice is a row, and it has one class.
    """
    name = type(model).__name__
    of_tokens = name in _OF_TOKENS
    hidden = encode(model.xlm, batch, first_alone=not of_tokens)
    if hasattr(model, "dropout"):
        hidden = model.dropout(hidden)
    logits = model.classifier(hidden if of_tokens else hidden[:, 0])
    if name == _TASK_CLASSES["question_answering"]:
        # No answer starts or ends in padding.
        logits = logits - NEVER * (1 - batch["input_mask"].unsqueeze(-1))
    return logits


def center_languages(model, folder: Path) -> None:
    """Let each language embedding cancel the mean word embedding of its language.

    Pretraining gives every language a direction of its own, by which its words are told
    from others when they are predicted. A classifier that has seen one language takes
    it for a feature; without it, translations lie closer together (Libovicky et al.
    2020, section 3, who subtract the mean of each language's representations).

    Args:
        folder: of the pretrained model, with the token counts of each language.

    Raises:
        UserError: there are no such counts.
    """
    if not (folder / TOKEN_COUNTS).is_file():
        raise UserError(
            f"{folder}: center_languages needs the {TOKEN_COUNTS} that pretraining here"
            " writes"
        )
    counts = read_weights(folder / TOKEN_COUNTS)[0]["counts"]
    words = model.xlm.embeddings.weight.numpy()
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    model.xlm.lang_embeddings.weight.set_value((-shares @ words).astype(words.dtype))
