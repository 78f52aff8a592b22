"""Weighted measures: an instance of weight 3 is three instances."""

import numpy as np
import pytest

from llp.metrics.evaluation import all_measures, weighted_measures


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
