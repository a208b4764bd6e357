"""The families of encoders, each a module with the same functions.

| name | what |
|---|---|
| ``full_config(architecture, tokenizer)`` | the config.json of a new model |
| ``pretraining_model(config)`` | a model with its pretraining heads, fresh |
| ``pretraining_scores(model, batch, causal)`` | of words, and of pairs or None |
| ``classification_model(config, num_classes, dropout, kind)`` | with a classifier |
| ``classify(model, batch)`` | its logits |
| ``encode(encoder, batch)`` | hidden states |
| ``INPUTS``, ``input_fields(config)`` | fields of a batch that the encoder takes |
| ``PREFIX``, ``HEADS`` | of tensors |
| ``ARCHITECTURE`` | its part of the config's schema |
| ``save``, ``load``, ``load_pretrained_encoder``, ... | as in ``models.folders`` |
"""

from types import ModuleType
from typing import Any

from babelmill.errors import UserError
from babelmill.models import bert, ernie, xlm

_FAMILIES = {"xlm": xlm, "bert": bert, "ernie": ernie}


def family(config: dict[str, Any]) -> ModuleType:
    """The module of a config's or an architecture's ``model_type``, XLM without one.

    Raises:
        UserError: the type is none of ours.
    """
    type = config.get("model_type", "xlm")
    if type not in _FAMILIES:
        raise UserError(
            f"model_type {type} is none of {', '.join(_FAMILIES)}, which are built in"
        )
    return _FAMILIES[type]
