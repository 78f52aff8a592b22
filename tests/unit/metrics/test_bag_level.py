"""Measures of bags alone: their definitions bag by bag, and labels that are drawn from the predictions."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from llp.api.bags import BagLabels
from llp.api.scorers import bag_log_loss_scorer
from llp.metrics.evaluation import bag_log_loss, bag_measures
from llp.ops.bce import CLIP
from llp.training.evaluation import predict_bags
from tests.helpers.every_method import batch_of, prepare

BAGS, INSTANCES = 4000, 40


@pytest.mark.parametrize("epsilon", [None, 0.1, 2.0])
def test_sums_of_a_calibrated_model_are_covered_and_noisy_ones_where_the_noise_is_told(epsilon):
    rng = np.random.default_rng(0)
    h = rng.beta(2, 3, (BAGS, INSTANCES))
    predicted, variance, label_sum = h.sum(1), (h * (1 - h)).sum(1), (rng.random(h.shape) < h).sum(1).astype(float)
    if epsilon:
        label_sum += rng.laplace(scale=1 / epsilon, size=BAGS)
    size = np.full(BAGS, float(INSTANCES))
    found = bag_measures("binary", label_sum, predicted, variance, size, epsilon=epsilon)
    assert found["noise_coverage" if epsilon else "bag_coverage"] == pytest.approx(0.95, abs=0.02)
    assert epsilon != 0.1 or found["bag_coverage"] < 0.5


def test_what_is_predicted_of_bags_are_sums_and_variances_over_their_instances(tables):
    method, batch = prepare("dllp_bce", "binary", tables), batch_of(tables["binary"], [3, 5, 2], [1.0, 2.0, 0.0])
    data = SimpleNamespace(bag_dataloader=lambda bags: [batch, batch])
    h = method.predict(method(batch.categorical, batch.numeric)).detach().double().numpy()
    bags = np.split(h, [3, 8]) * 2
    expected = [[1, 2, 0] * 2, [one.sum() for one in bags], [(one * (1 - one)).sum() for one in bags], [3, 5, 2] * 2]
    np.testing.assert_allclose(predict_bags(method, data, None), expected, rtol=1e-9)


def test_bag_log_loss_of_the_epoch_the_record_and_the_scorer_is_one(tables):
    """Saturated predictions and a noisy proportion included: they share the clip."""
    method, batch = prepare("dllp_bce", "binary", tables), batch_of(tables["binary"], [3, 5, 2], [1.0, 7.0, -1.0])
    for scores in (torch.linspace(-3, 3, 10), torch.full((10,), 90.0), torch.full((10,), -90.0)):
        epoch = method.held_out_loss(scores, batch).mean()
        h = torch.sigmoid(scores.double()).numpy()
        predicted = np.array([one.sum() for one in np.split(h, [3, 8])])
        sums, size = batch.label_sum.double().numpy(), batch.size.double().numpy()
        assert float(epoch) == pytest.approx(bag_measures("binary", sums, predicted, predicted, size)["bag_log_loss"])
        bags = BagLabels(np.repeat([0, 1, 2], [3, 5, 2]), batch.size.numpy(), sums, None, ["a", "b", "c"])
        assert float(epoch) == pytest.approx(bag_log_loss_scorer._loss(bags, h))
        assert float(epoch) <= -np.log(CLIP) + 1e-9


SIZE = np.array([10.0, 4.0, 20.0, 5.0])
LABEL = np.array([3.0, 4.0, 0.0, 2.0])
PREDICTED = np.array([4.0, 3.5, 6.2, 2.5])
VARIANCE = np.array([2.0, 0.4, 4.0, 1.2])


def test_measures_are_their_definitions():
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
    real = {name: value for name, value in expected.items() if name not in ("bag_log_loss", "bag_coverage")}
    assert bag_measures("real", LABEL, PREDICTED, VARIANCE, SIZE) == pytest.approx(real, rel=1e-9)


def test_continuity_of_half_a_count_belongs_to_the_interval():
    for distance, inside in ((1.959964 * 2 + 0.49, 1.0), (1.959964 * 2 + 0.51, 0.0)):
        found = bag_measures("binary", np.array([3.0]), np.array([3.0 + distance]), np.array([4.0]), np.array([20.0]))
        assert found["bag_coverage"] == inside


def test_a_noisy_proportion_is_clipped_to_one_that_can_be():
    inside = bag_log_loss(np.array([1.0, 0.0]), np.array([0.3, 0.3]))
    assert (
        bag_log_loss(np.array([1.4, -0.2]), np.array([0.3, 0.3])) == inside == pytest.approx(-np.log([0.3, 0.7]).mean())
    )
