"""Measures of bags against their definitions, written out bag by bag."""

import math

import numpy as np
import pytest

from llp.metrics.evaluation import bag_log_loss, bag_measures

SIZE = np.array([10.0, 4.0, 20.0, 5.0])
LABEL = np.array([3.0, 4.0, 0.0, 2.0])
PREDICTED = np.array([4.0, 3.5, 6.2, 2.5])
VARIANCE = np.array([2.0, 0.4, 4.0, 1.2])


def test_measures_of_binary_labels_are_their_definitions():
    found = bag_measures("binary", LABEL, PREDICTED, VARIANCE, SIZE)
    bags = [(y / k, s / k) for y, s, k in zip(LABEL, PREDICTED, SIZE, strict=True)]
    loss = [-(a * math.log(h) if a else 0) - ((1 - a) * math.log(1 - h) if a < 1 else 0) for a, h in bags]
    errors = [a - h for a, h in bags]
    # a normal interval of 95 % around each predicted sum, with half a count of continuity: 6.2 is out, the rest in
    inside = [abs(y - s) <= 1.959964 * math.sqrt(v) + 0.5 for y, s, v in zip(LABEL, PREDICTED, VARIANCE, strict=True)]
    assert inside == [True, True, False, True]
    expected = {
        "bag_log_loss": np.mean(loss),
        "bag_coverage": 0.75,
        "bag_mse": np.mean(np.square(errors)),
        "bag_rmse": math.sqrt(np.mean(np.square(errors))),
        "bag_mae": np.mean(np.abs(errors)),
        "mean_prediction_over_mean_label": 16.2 / 9,
    }
    assert found == pytest.approx(expected, rel=1e-9)


def test_continuity_of_half_a_count_belongs_to_the_interval():
    for distance, inside in ((1.959964 * 2 + 0.49, 1.0), (1.959964 * 2 + 0.51, 0.0)):
        found = bag_measures("binary", np.array([3.0]), np.array([3.0 + distance]), np.array([4.0]), np.array([20.0]))
        assert found["bag_coverage"] == inside


def test_real_labels_have_no_measure_of_counts():
    found = bag_measures("real", -LABEL, PREDICTED, VARIANCE, SIZE)
    assert set(found) == {"bag_mse", "bag_rmse", "bag_mae", "mean_prediction_over_mean_label"}
    assert found["mean_prediction_over_mean_label"] == pytest.approx(-16.2 / 9)


def test_a_noisy_proportion_is_clipped_to_one_that_can_be():
    inside = bag_log_loss(np.array([1.0, 0.0]), np.array([0.3, 0.3]))
    assert (
        bag_log_loss(np.array([1.4, -0.2]), np.array([0.3, 0.3])) == inside == pytest.approx(-np.log([0.3, 0.7]).mean())
    )
