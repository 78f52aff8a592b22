"""Measures of bags alone, against labels that are drawn from the predictions."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from llp.api.bags import BagLabels
from llp.api.scorers import bag_log_loss_scorer
from llp.metrics.evaluation import bag_measures
from llp.ops.bce import CLIP
from llp.training.evaluation import predict_bags
from tests.helpers.every_method import batch_of, prepare

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
