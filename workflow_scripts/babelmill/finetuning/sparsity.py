"""2:4 sparsity: of four weights in a row, two are zero and stay so."""

import numpy as np

from babelmill.errors import UserError


def mask_2_of_4(weight: np.ndarray) -> np.ndarray:
    """Which weights stay: of four inputs in a row, the two largest for each output.

    Sparse tensor cores want the zeros along the axis that a product sums over (Mishra
    et al. 2021, section 3); of equal magnitudes the first stay.

    Args:
        weight: (in, out), ``in`` a multiple of four.

    Returns:
        bool of the same shape.
    """
    groups = np.abs(weight.T).reshape(-1, 4)
    order = np.argsort(-groups, axis=1, kind="stable")
    kept = np.zeros(groups.shape, bool)
    np.put_along_axis(kept, order[:, :2], True, axis=1)
    return kept.reshape(weight.T.shape).T


def prune(model) -> dict[str, np.ndarray]:
    """Set to zero what the masks of an encoder's linear layers leave out.

    Pooler and classifier stay dense.

    Returns:
        the masks of the parameters that are trained, float32 of their shapes, for an
        engine to keep them so.

    Raises:
        UserError: a layer's inputs are no multiple of four.
    """
    import paddle

    encoder, masks = getattr(model, model.base_model_prefix), {}
    for name, layer in encoder.named_sublayers():
        if not isinstance(layer, paddle.nn.Linear) or "pooler" in name:
            continue
        weight = layer.weight.numpy()
        if len(weight) % 4:
            raise UserError(
                f"sparsity 2:4: {name} has {len(weight)} inputs, not a multiple of four"
            )
        mask = mask_2_of_4(weight).astype(np.float32)
        layer.weight.set_value(weight * mask)
        if not layer.weight.stop_gradient:
            masks[f"{model.base_model_prefix}.{name}.weight"] = mask
    return masks
