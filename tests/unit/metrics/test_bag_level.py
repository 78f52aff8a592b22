"""Measures of bags alone, against labels that are drawn from the predictions."""

import numpy as np
import pytest

from llp.metrics.bag_level import bag_measures

BAGS, SIZE = 4000, 40


@pytest.fixture(scope="module")
def drawn():
    """Predictions of the instances of many bags, and sums of labels that are drawn from them."""
    rng = np.random.default_rng(0)
    h = rng.beta(2, 3, (BAGS, SIZE))
    return h.sum(1), (h * (1 - h)).sum(1), (rng.random(h.shape) < h).sum(1).astype(float)


def measures(drawn, label_sum, **given):
    predicted, variance, _ = drawn
    return bag_measures("binary", label_sum, predicted, variance, np.full(BAGS, float(SIZE)), **given)


def test_sums_of_a_calibrated_model_are_covered(drawn):
    assert measures(drawn, drawn[2])["bag_coverage"] == pytest.approx(0.955, abs=0.015)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 2.0])
def test_noisy_sums_are_covered_where_the_noise_is_told(drawn, epsilon):
    noisy = drawn[2] + np.random.default_rng(1).laplace(scale=1 / epsilon, size=BAGS)
    found = measures(drawn, noisy, epsilon=epsilon)
    assert found["noise_coverage"] == pytest.approx(0.95, abs=0.02)
    assert found["noise_coverage"] > found["bag_coverage"]
    assert found["bag_coverage"] < 0.5 or epsilon > 0.1


def test_rmse_is_that_of_the_proportions(drawn):
    found = measures(drawn, drawn[0] + 4)
    assert found["bag_rmse"] == pytest.approx(4 / SIZE)
    assert found["bag_mae"] == pytest.approx(4 / SIZE)
