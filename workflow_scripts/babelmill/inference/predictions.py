"""What a model says of its examples, as a table of ours and as GLUE wants it."""

from collections.abc import Sequence

import numpy as np

from babelmill.tasks import Example


def prediction_table(
    examples: Sequence[Example], labels: Sequence[str], logits: np.ndarray
) -> str:
    """The predictions as TSV, one row an example.

    Args:
        labels: the classes; none for a regression.
        logits: (examples, outputs) float32.

    Returns:
        the columns id, label, prediction, and the probability of each class.
    """
    rows = [["id", "label", "prediction", *(f"p_{label}" for label in labels)]]
    predicted = _predicted(labels, logits)
    for example, name, row in zip(examples, predicted, _shares(logits), strict=True):
        shares = [f"{share:.6f}" for share in row] if labels else []
        rows.append([example.id, example.label or "", name, *shares])
    return _tsv(rows)


def submission(
    examples: Sequence[Example], labels: Sequence[str], logits: np.ndarray
) -> str:
    """The predictions as gluebenchmark.com takes them: columns index and prediction.

    Numbers are cut to the scale of STS-B, 0 to 5, and have three decimals.
    """
    if not labels:
        logits = np.clip(logits, 0, 5)
    predicted = _predicted(labels, logits, decimals=3)
    ids = [example.id for example in examples]
    return _tsv([["index", "prediction"], *zip(ids, predicted, strict=True)])


def _predicted(
    labels: Sequence[str], logits: np.ndarray, decimals: int = 6
) -> list[str]:
    if labels:
        return [labels[place] for place in logits.argmax(1)]
    return [f"{number:.{decimals}f}" for number in logits[:, 0]]


def _shares(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def _tsv(rows: Sequence[Sequence[str]]) -> str:
    return "".join("\t".join(row) + "\n" for row in rows)
