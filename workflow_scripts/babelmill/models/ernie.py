"""ERNIE: BERT's encoder in PaddleNLP's classes of that name."""

from typing import Any

from babelmill.models import bert
from babelmill.models.bert import (  # noqa: F401
    ARCHITECTURE,
    INPUTS,
    classification_model,
    classify,
    encode,
    freeze_embeddings,
    input_fields,
    load,
    load_config,
    load_pretrained_encoder,
    load_pretraining_weights,
    pretraining_model,
    pretraining_scores,
    save,
)
from babelmill.models.naming import NAMING
from babelmill.tokenizers import Tokenizer

PREFIX, HEADS, _ = NAMING["ernie"]


def full_config(architecture: dict[str, Any], tokenizer: Tokenizer) -> dict[str, Any]:
    """An ERNIE config: BERT's with another name."""
    return bert.full_config({**architecture, "model_type": "ernie"}, tokenizer)
