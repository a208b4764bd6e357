"""The metrics of GLUE and XNLI, as fractions; every one is defined for every input.

Where the textbook formula divides zero by zero, the value is 0, which is what a
predictor without information scores: a constant prediction must neither win a model
selection nor put a nan into an average.
"""

from collections.abc import Callable, Sequence
from typing import Any

Values = Sequence[Any]


def accuracy(labels: Values, predictions: Values) -> float:
    """The share of predictions that equal their label."""
    from sklearn.metrics import accuracy_score

    return float(accuracy_score(labels, predictions))


def f1(labels: Values, predictions: Values) -> float:
    """F1 of the class 1 among the classes 0 and 1 (MRPC, QQP).

    Zero where there is no true positive, also where class 1 does not occur at all.

    Raises:
        ValueError: a label or a prediction is neither 0 nor 1 (as number or text).
    """
    from sklearn.metrics import f1_score

    labels, predictions = list(map(str, labels)), list(map(str, predictions))
    if others := {*labels, *predictions} - {"0", "1"}:
        raise ValueError(f"F1 is for the classes 0 and 1, not for {sorted(others)}")
    return float(f1_score(labels, predictions, pos_label="1", zero_division=0.0))


def matthews(labels: Values, predictions: Values) -> float:
    """Matthews correlation coefficient, in its form for any number of classes.

    Zero where labels or predictions are all of one class (Gorodkin 2004).
    """
    from sklearn.metrics import matthews_corrcoef

    if len({*labels}) < 2 or len({*predictions}) < 2:
        return 0.0
    return float(matthews_corrcoef(labels, predictions))


def pearson(labels: Values, predictions: Values) -> float:
    """Pearson's correlation; zero where labels or predictions are constant.

    Raises:
        ValueError: a value is not finite, as after a training that diverged.
    """
    from scipy.stats import pearsonr

    return _correlation(pearsonr, labels, predictions)


def spearman(labels: Values, predictions: Values) -> float:
    """Spearman's correlation, where ties share their mean rank.

    Zero where labels or predictions are constant.

    Raises:
        ValueError: a value is not finite, as after a training that diverged.
    """
    from scipy.stats import spearmanr

    return _correlation(spearmanr, labels, predictions)


def _correlation(
    correlate: Callable[..., Any], labels: Values, predictions: Values
) -> float:
    import numpy as np

    pair = [np.asarray(values, dtype=np.float64) for values in (labels, predictions)]
    if not all(np.isfinite(values).all() for values in pair):
        raise ValueError("labels or predictions are not finite")
    # One row is constant, too.
    if any(np.ptp(values) == 0 for values in pair):
        return 0.0
    return float(correlate(*pair).statistic)


def pearson_spearman(labels: Values, predictions: Values) -> float:
    """The mean of both correlations, by which GLUE ranks STS-B (Wang et al. 2019)."""
    return (pearson(labels, predictions) + spearman(labels, predictions)) / 2


def accuracy_f1(labels: Values, predictions: Values) -> float:
    """The mean of accuracy and F1, by which GLUE ranks MRPC and QQP."""
    return (accuracy(labels, predictions) + f1(labels, predictions)) / 2


METRICS = {
    "accuracy": accuracy,
    "f1": f1,
    "accuracy_f1": accuracy_f1,
    "matthews": matthews,
    "pearson": pearson,
    "spearman": spearman,
    "pearson_spearman": pearson_spearman,
}
# Of regressions; the others are of classes.
CORRELATIONS = ("pearson", "spearman", "pearson_spearman")


def score(metric: str, labels: Values, predictions: Values) -> float:
    """The value of a metric of ``METRICS``.

    Raises:
        ValueError: no rows, unequal lengths, or values that the metric does not take.
    """
    if not len(labels) or len(labels) != len(predictions):
        raise ValueError(f"{len(labels)} labels and {len(predictions)} predictions")
    return METRICS[metric](labels, predictions)
