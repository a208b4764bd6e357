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


class Sparsity:
    """The masks of an encoder's linear layers; pooler and classifier stay dense."""

    def __init__(self, model):
        """Choose what stays by the weights that the model has now."""
        import paddle

        encoder = getattr(model, model.base_model_prefix)
        self._masked = []
        for name, layer in encoder.named_sublayers():
            if not isinstance(layer, paddle.nn.Linear) or "pooler" in name:
                continue
            weight = layer.weight
            if weight.shape[0] % 4:
                raise UserError(
                    f"sparsity 2:4: {name} has {weight.shape[0]} inputs, not a"
                    " multiple of four"
                )
            mask = mask_2_of_4(weight.numpy()).astype(np.float32)
            self._masked.append((weight, paddle.to_tensor(mask)))

    def apply(self) -> None:
        """Set to zero what the masks leave out."""
        import paddle

        with paddle.no_grad():
            for weight, mask in self._masked:
                weight.multiply_(mask)
