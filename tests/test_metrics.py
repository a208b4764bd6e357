"""Metrics against values worked out by hand."""

import math
import warnings

import numpy as np
import pytest

from babelmill.metrics import METRICS, score

# tp 3, fn 1, fp 2, tn 4
LABELS = [1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
PREDICTIONS = [1, 1, 1, 0, 1, 1, 0, 0, 0, 0]


@pytest.mark.parametrize("as_type", [int, str])
def test_classification(as_type):
    labels = list(map(as_type, LABELS))
    predictions = list(map(as_type, PREDICTIONS))
    assert score("accuracy", labels, predictions) == 0.7
    assert score("f1", labels, predictions) == pytest.approx(6 / 9)
    # (tp tn - fp fn) / sqrt((tp+fp)(tp+fn)(tn+fp)(tn+fn))
    expected = (3 * 4 - 2 * 1) / math.sqrt(5 * 4 * 6 * 5)
    assert score("matthews", labels, predictions) == pytest.approx(expected)


def test_means_of_two_metrics():
    # Accuracy 0.7 and F1 6 / 9.
    both = score("accuracy_f1", LABELS, PREDICTIONS)
    assert both == pytest.approx((0.7 + 6 / 9) / 2)
    # Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: Spearman 4.5 / sqrt(4.5 * 5).
    labels, predictions = [1, 2, 2, 3], [1, 2, 3, 4]
    spearman = 4.5 / math.sqrt(4.5 * 5)
    # Deviations -1, 0, 0, 1 and -1.5, -0.5, 0.5, 1.5: Pearson 3 / sqrt(2 * 5).
    pearson = 3 / math.sqrt(2 * 5)
    both = score("pearson_spearman", labels, predictions)
    assert both == pytest.approx((pearson + spearman) / 2)


def test_a_perfect_classifier_has_a_matthews_of_one():
    assert score("matthews", [0, 1, 1], [0, 1, 1]) == 1.0
    assert score("matthews", [0, 1, 1], [1, 0, 0]) == -1.0


@pytest.mark.parametrize(
    ("labels", "predictions"),
    [([0, 1, 1], [1, 1, 1]), ([0, 0, 0], [0, 1, 0]), ([1], [1])],
)
def test_matthews_is_zero_where_one_class_is_missing(labels, predictions):
    assert score("matthews", labels, predictions) == 0.0


@pytest.mark.parametrize("metric", METRICS)
def test_one_row(metric):
    """Right about all there is, but nothing varies that could go together."""
    defined = metric in ("accuracy", "f1", "accuracy_f1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert score(metric, [1], [1]) == (1.0 if defined else 0.0)
        assert score(metric, [1], [0]) == 0.0


def test_a_class_of_three_that_is_never_predicted():
    labels, predictions = [0, 0, 1, 1, 2, 2], [0, 0, 1, 0, 1, 0]
    assert score("accuracy", labels, predictions) == pytest.approx(3 / 6)
    # Gorodkin 2004: right 3, rows 6; classes (2, 2, 2), predicted (4, 2, 0).
    covariance = 3 * 6 - (2 * 4 + 2 * 2 + 2 * 0)
    variances = (36 - (4 + 4 + 4)) * (36 - (16 + 4 + 0))
    expected = covariance / math.sqrt(variances)
    assert score("matthews", labels, predictions) == pytest.approx(expected)


def test_f1_is_zero_without_a_true_positive():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert score("f1", [0, 0], [0, 0]) == 0.0
        assert score("f1", [1, 0], [0, 1]) == 0.0


def test_f1_refuses_other_classes():
    with pytest.raises(ValueError, match="not for \\['yes'\\]"):
        score("f1", ["1", "0"], ["yes", "0"])


def test_correlations():
    labels, predictions = [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 8.0]
    # Deviations -1.5 -.5 .5 1.5 and -2.5 -1.5 -.5 4.5: sum of products 11, sums of
    # squares 5 and 29.
    assert score("pearson", labels, predictions) == pytest.approx(11 / math.sqrt(145))
    assert score("spearman", labels, predictions) == pytest.approx(1.0)


def test_spearman_gives_ties_their_mean_rank():
    # Ranks 1 2 3 4 and 1 2.5 2.5 4: products of deviations sum to 4.5, squares to 5
    # and 4.5.
    value = score("spearman", [10, 20, 30, 40], [1, 5, 5, 9])
    assert value == pytest.approx(4.5 / math.sqrt(5 * 4.5))
    # The short formula 1 - 6 sum(d^2) / (n (n^2 - 1)) is wrong with ties.
    assert value != pytest.approx(1 - 6 * 0.5 / 60)


@pytest.mark.parametrize("metric", ["pearson", "spearman"])
@pytest.mark.parametrize(
    ("labels", "predictions"),
    [([1.0, 2.0, 3.0], [2.5, 2.5, 2.5]), ([2.0, 2.0], [1.0, 3.0]), ([1.0], [1.0])],
)
def test_correlation_with_a_constant_is_zero(metric, labels, predictions):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert score(metric, labels, predictions) == 0.0


@pytest.mark.parametrize("metric", ["pearson", "spearman"])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_correlation_refuses_predictions_that_are_not_finite(metric, bad):
    with pytest.raises(ValueError, match="not finite"):
        score(metric, [1.0, 2.0, 3.0], [1.0, bad, 2.0])


def test_correlation_takes_labels_as_text_and_predictions_as_float32():
    predictions = np.array([0.5, 1.5, 0.0], dtype=np.float32)
    # Deviations -1 0 1 and -1/6 5/6 -2/3.
    expected = (-1 / 2) / math.sqrt(2 * (1 + 25 + 16) / 36)
    assert score("pearson", ["1", "2", "3"], predictions) == pytest.approx(expected)


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_is_a_plain_number_and_refuses_unequal_lengths(metric):
    assert type(score(metric, [0, 1, 1], [0, 1, 0])) is float
    for labels, predictions in [([], []), ([1], [1, 0])]:
        with pytest.raises(ValueError, match="labels and"):
            score(metric, labels, predictions)
