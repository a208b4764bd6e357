"""What a row is trained to predict: masked words, the next word, a pair's label.

Masked words (MLM; TLM where a row is a sentence and its translation) and next words
(CLM) are targets; BERT's and ERNIE's rows also say whether their second part is random
(NSP). Losses are sums over targets, divided by the counts of the whole global batch, so
that parts on any number of processes add up to its mean.
"""

from collections.abc import Iterator, Sequence
from types import ModuleType

import numpy as np

from babelmill.pretraining.examples import Share
from babelmill.shards.layout import Rows, take
from babelmill.training.engines import Objective, Part

# A label that is no target; Paddle's cross_entropy leaves it out.
NO_TARGET = -100


def objective(family: ModuleType) -> Objective:
    """The losses of a family's model: of words, and of pairs (0 where it has none)."""

    def losses(model, batch, causal):
        import paddle
        import paddle.nn.functional as F

        words, pairs = family.pretraining_scores(model, batch, causal)
        # Nats, summed.
        word_loss = F.cross_entropy(
            words, batch["labels"], ignore_index=NO_TARGET, reduction="sum"
        )
        word_loss = word_loss * batch["per_prediction"]
        if pairs is None:
            return paddle.stack([word_loss, paddle.zeros_like(word_loss)])
        pair_loss = F.cross_entropy(
            pairs, batch["next_sentence_labels"], reduction="sum"
        )
        return paddle.stack([word_loss, pair_loss * batch["per_row"]])

    return losses


def parts(share: Share, fields: Sequence[str]) -> list[Part]:
    """What one process computes of a step.

    Args:
        fields: of the model's input (``family.input_fields``).
    """
    scales = {
        "per_prediction": np.float32(1 / max(share.predictions, 1)),
        "per_row": np.float32(1 / share.rows),
    }
    return [
        Part({**arrays(rows, fields, causal), **scales}, causal)
        for micro_batch in share.micro_batches
        for rows, causal in by_direction(micro_batch)
    ]


def by_direction(rows: Rows) -> Iterator[tuple[Rows, bool]]:
    """The rows that see both sides, and the causal ones: each kind that there is."""
    causal = rows.get("causal", np.zeros(len(rows["input_ids"]))) > 0
    for kind in (False, True):
        chosen = np.flatnonzero(causal == kind)
        if len(chosen):
            yield take(rows, chosen), kind


def arrays(rows: Rows, fields: Sequence[str], causal: bool) -> Rows:
    """Rows of one kind as a model's input, cut to the longest of them.

    Returns:
        ``fields`` (rows, length), flat_positions and labels (predictions,), and
        next_sentence_labels (rows,), all int64 but input_mask, which is float32. A
        position of a causal row has the label of the position after it.
    """
    length = int(rows["input_mask"].sum(1, dtype=np.int64).max())
    cut = {name: rows[name][:, :length].astype(np.int64) for name in fields}
    cut["input_mask"] = cut["input_mask"].astype(np.float32)
    row, position, labels = targets(rows, causal)
    flat = row * length + position - causal
    if not len(flat):
        # A program wants something to gather.
        flat, labels = np.zeros(1, np.int64), np.full(1, NO_TARGET)
    cut["flat_positions"] = flat
    cut["labels"] = labels.astype(np.int64)
    cut["next_sentence_labels"] = rows["next_sentence_labels"].astype(np.int64)
    return cut


def targets(rows: Rows, causal: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The words to predict: their rows, positions and ids, (predictions,) each.

    Masked positions, or every real token but the first of causal rows.
    """
    if causal:
        row, position = np.nonzero(rows["input_mask"][:, 1:])
        return row, position + 1, rows["input_ids"][row, position + 1]
    # Position 0 is a special token and never masked: it is padding here.
    row, slot = np.nonzero(rows["masked_lm_positions"])
    position = rows["masked_lm_positions"][row, slot].astype(np.int64)
    return row, position, rows["masked_lm_ids"][row, slot]
