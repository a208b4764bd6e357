"""Layers of an encoder, from its embeddings up: frozen, or trained at lower rates."""

import re

from babelmill.errors import UserError

# "bert.encoder.layers.3.norm1.weight", "xlm.attentions.3.q_lin.weight".
_LAYER = re.compile(r"\.(\d+)\.")


def _depths(model) -> dict[str, int]:
    """By parameter: 0 for embeddings, 1 for the lowest layer, the most for the head."""
    prefix = f"{model.base_model_prefix}."
    depths, above = {}, []
    for name, _ in model.named_parameters():
        if layer := _LAYER.search(name):
            depths[name] = int(layer[1]) + 1
        elif name.startswith(prefix) and "pooler" not in name:
            depths[name] = 0
        else:
            above.append(name)
    return depths | dict.fromkeys(above, max(depths.values()) + 1)


def freeze_layers(model, count: int) -> None:
    """Keep the lowest layers of the encoder as they are.

    Raises:
        UserError: it has fewer.
    """
    depths = _depths(model)
    layers = max(depths.values()) - 1
    if count > layers:
        raise UserError(f"freeze_layers is {count}, but the encoder has {layers}")
    for name, parameter in model.named_parameters():
        if 1 <= depths[name] <= count:
            parameter.stop_gradient = True


def decay_learning_rates(model, decay: float) -> None:
    """Multiply the learning rate by ``decay`` with every layer downwards.

    The head keeps the whole rate, the highest layer gets ``decay`` of it, and so on to
    the embeddings (Clark et al. 2020, appendix B).
    """
    depths = _depths(model)
    head = max(depths.values())
    for name, parameter in model.named_parameters():
        rate = decay ** (head - depths[name])
        parameter.optimize_attr["learning_rate"] = rate
