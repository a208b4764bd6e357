"""The masked-language-model loss of a batch of shard rows."""

from typing import Any

import numpy as np

from babelmill.models import xlm
from babelmill.shards.layout import Rows


def to_tensors(rows: Rows) -> dict[str, Any]:
    """A batch for the model: cut to its longest row, masked positions flattened.

    Returns:
        tensors input_ids, lang_ids, position_ids (rows, length) int64, input_mask
        (rows, length) float32, flat_positions and labels (predictions,) int64.
    """
    import paddle

    length = int(rows["input_mask"].sum(1, dtype=np.int64).max())
    batch = {
        name: paddle.to_tensor(rows[name][:, :length].astype(np.int64))
        for name in ("input_ids", "lang_ids", "position_ids")
    }
    mask = rows["input_mask"][:, :length].astype(np.float32)
    batch["input_mask"] = paddle.to_tensor(mask)
    # Position 0 is a special token and never masked: it is padding here.
    row, slot = np.nonzero(rows["masked_lm_positions"])
    positions = row * length + rows["masked_lm_positions"][row, slot]
    labels = rows["masked_lm_ids"][row, slot]
    batch["flat_positions"] = paddle.to_tensor(positions.astype(np.int64))
    batch["labels"] = paddle.to_tensor(labels.astype(np.int64))
    return batch


def loss(model, rows: Rows):
    """Mean cross-entropy over all masked positions of the batch (nats)."""
    import paddle.nn.functional as F

    batch = to_tensors(rows)
    return F.cross_entropy(xlm.pretraining_scores(model, batch)[0], batch["labels"])


def losses_by_language(model, rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The loss of each masked position alone.

    Returns:
        losses (predictions,) float32, whether the right word is on top (predictions,)
        bool, and the language id at each position (predictions,) int64.
    """
    import paddle
    import paddle.nn.functional as F

    batch = to_tensors(rows)
    with paddle.no_grad():
        logits = xlm.pretraining_scores(model, batch)[0]
        values = F.cross_entropy(logits, batch["labels"], reduction="none")
        right = logits.argmax(-1) == batch["labels"]
    langs = batch["lang_ids"].flatten().numpy()[batch["flat_positions"].numpy()]
    return values.numpy().ravel(), right.numpy().ravel(), langs
