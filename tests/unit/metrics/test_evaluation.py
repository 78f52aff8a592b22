"""The measures of a run against scikit-learn's."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit
from sklearn import metrics

from llp.metrics.evaluation import all_measures, constant_measures, weighted_measures

RNG = np.random.default_rng(3)
SCORES = RNG.normal(size=400).astype(np.float32)
LABELS = (RNG.random(400) < expit(SCORES)).astype(np.float32)


def calibration_error(prediction, labels):
    """Mean over 15 equal bins of |mean prediction - label rate|, weighed by their instances."""
    of_bin = np.minimum((prediction * 15).astype(int), 14)
    return sum(abs((prediction - labels)[of_bin == b].sum()) for b in range(15)) / len(labels)


def test_binary_measures():
    measures = all_measures(SCORES, LABELS, "binary")
    prediction = expit(SCORES.astype(np.float64))
    assert measures["auc_200_thresholds"] == pytest.approx(measures["auc"], abs=0.01)
    expected = {
        "auc": metrics.roc_auc_score(LABELS, SCORES),
        "average_precision": metrics.average_precision_score(LABELS, SCORES),
        "log_loss": metrics.log_loss(LABELS, prediction),
        "brier": metrics.brier_score_loss(LABELS, prediction),
        "calibration_error": calibration_error(prediction, LABELS),
        "mean_prediction_over_mean_label": prediction.mean() / LABELS.mean(),
    }
    assert {name: measures[name] for name in expected} == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("scores", [SCORES, np.round(SCORES * 3)], ids=["distinct", "ties"])
def test_real_measures(scores):
    labels = np.round(RNG.normal(size=400) * 2 + SCORES).astype(np.float32)
    measures = all_measures(scores, labels, "real")
    expected = {
        "mse": pytest.approx(metrics.mean_squared_error(labels, scores), rel=1e-6),
        "mae": pytest.approx(metrics.mean_absolute_error(labels, scores), rel=1e-6),
        "r2": pytest.approx(metrics.r2_score(labels, scores), rel=1e-6),
        "spearman": pytest.approx(stats.spearmanr(labels, scores).statistic, rel=1e-5),
        "mean_prediction_over_mean_label": pytest.approx(scores.mean() / labels.mean(), rel=1e-4),
    }
    assert {name: measures[name] for name in expected} == expected


def test_measures_of_a_constant_are_their_closed_forms():
    p, mean = 0.3, float(LABELS.mean())
    found = constant_measures(p, LABELS, "binary")
    expected = {
        "auc": 0.5,
        "average_precision": mean,
        "log_loss": -mean * np.log(p) - (1 - mean) * np.log(1 - p),
        "brier": mean * (1 - p) ** 2 + (1 - mean) * p**2,
        "calibration_error": abs(p - mean),
        "mean_prediction_over_mean_label": p / mean,
    }
    assert {name: found[f"constant_{name}"] for name in expected} == pytest.approx(expected, rel=1e-6)
    assert np.isfinite(constant_measures(-0.2, LABELS, "binary")["constant_log_loss"])  # of noisy sums
    real = constant_measures(1.5, SCORES, "real")
    assert real["constant_mse"] == pytest.approx(np.mean((SCORES - 1.5) ** 2), rel=1e-6)
    assert "constant_spearman" not in real


def test_constant_labels_and_predictions_have_no_correlation():
    constant = all_measures(SCORES, np.ones(400), "real")
    assert np.isnan([constant["r2"], constant["spearman"]]).all()
    same_for_all = all_measures(np.zeros(400), SCORES, "real")
    assert same_for_all["r2"] == pytest.approx(metrics.r2_score(SCORES, np.zeros(400)), abs=1e-6)
    assert np.isnan(same_for_all["spearman"])


@pytest.mark.parametrize("n", [5, 65_470])
@pytest.mark.parametrize("level", [-1.17, 40.0])
def test_average_precision_goes_by_the_order_of_scores(n, level):
    """Equal scores are a tie in any number, and scores beyond the sigmoid's resolution none."""
    labels = (RNG.random(n) < 0.24).astype(np.float32)
    labels[:2] = 0, 1
    constant = np.full(n, level, np.float32)
    assert all_measures(constant, labels, "binary")["average_precision"] == pytest.approx(labels.mean(), rel=1e-6)
    varied = (constant + RNG.integers(0, 4, n)).astype(np.float32)
    expected = metrics.average_precision_score(labels, varied)
    assert all_measures(varied, labels, "binary")["average_precision"] == pytest.approx(expected, rel=1e-6)


def test_certain_and_wrong_predictions_have_a_finite_log_loss():
    measures = all_measures(np.array([200.0, -200.0]), np.array([0.0, 1.0]), "binary")
    assert measures["log_loss"] == pytest.approx(-np.log(1e-7), rel=1e-6)
    assert measures["brier"] == 1.0


def test_one_class_leaves_the_measures_that_are_defined():
    with pytest.warns(UserWarning, match="AUC is undefined"):
        measures = all_measures(SCORES, np.zeros(400, np.float32), "binary")
    assert np.isnan([measures["auc"], measures["auc_200_thresholds"], measures["average_precision"]]).all()
    assert measures["log_loss"] > 0
    assert measures["mean_prediction_over_mean_label"] == np.inf


def test_diverged_scores_are_nan_and_no_error():
    scores = SCORES.copy()
    scores[7] = np.nan
    measures = all_measures(scores, LABELS, "binary")
    assert all(np.isnan(measures[name]) for name in ("auc", "average_precision", "log_loss", "brier"))


@pytest.mark.parametrize("kind", ["binary", "real"])
def test_a_weight_is_so_many_instances(kind):
    rng = np.random.default_rng(0)
    scores, labels, weight = rng.normal(size=200), rng.integers(0, 2, 200).astype(float), rng.integers(0, 4, 200)
    repeated = all_measures(np.repeat(scores, weight), np.repeat(labels, weight), kind)
    for name, value in weighted_measures(scores, labels, weight, kind).items():
        assert value == pytest.approx(repeated[name.removeprefix("weighted_")], rel=1e-6)


def test_undefined_where_one_class_has_all_the_weight():
    measures = weighted_measures(np.arange(4.0), np.array([0, 1, 0, 1]), np.array([1, 0, 1, 0]), "binary")
    assert all(np.isnan(value) for value in measures.values())


def test_a_certain_and_wrong_prediction_is_clipped_at_1e_7():
    """A fifth of the weight is on a label that the scores exclude: its loss is that of the clip, not infinite."""
    scores, labels, weight = np.array([-40.0, 40.0, -40.0]), np.array([1.0, 1.0, 0.0]), np.array([1.0, 2.0, 2.0])
    found = weighted_measures(scores, labels, weight, "binary")["weighted_log_loss"]
    assert found == pytest.approx(-(np.log(1e-7) + 4 * np.log1p(-1e-7)) / 5, rel=1e-9)
