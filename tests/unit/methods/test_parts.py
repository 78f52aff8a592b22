"""What the formulas bag by bag (test_formulas.py) do not reach of easy_llp, llp_dc, llp_mm and llpfc."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from llp.methods.easy_llp import EasyLLP, drawn_instances
from llp.methods.llp_dc import LLPDC
from llp.methods.llp_mm import SubsetMatching, hypergeometric, subset_laws
from llp.methods.llpfc import LLPFC, noisy_priors
from tests.helpers import formulas
from tests.helpers.minibatches import make_batch, make_method

SIZES, COUNTS, P = [3, 1, 6, 4], [1, 1, 0, 3], 0.3
BATCH = make_batch(SIZES, COUNTS)


def easy_llp(estimator, clip=1e-7):
    return make_method(EasyLLP, estimator=estimator, clip=clip, label_mean=P)


def test_easy_llps_single_takes_one_instance_of_each_bag_uniformly():
    scores, values = torch.linspace(-3, 2, sum(SIZES), dtype=torch.float64), []
    for seed in range(1000):
        method = easy_llp("single")
        method.seed = seed
        values.append(float(method.bag_loss(scores, BATCH)))
    # of a bag of as many instances that all have the score of one: that instance's loss
    bags = zip(np.split(scores.numpy(), np.cumsum(SIZES)[:-1]), COUNTS, strict=True)
    losses = [[formulas.easy_llp([np.full(len(z), one)], [count], P) for one in z] for z, count in bags]
    possible = np.sum(np.meshgrid(*losses, indexing="ij"), axis=0).ravel()
    assert np.abs(np.array(values)[:, None] - possible).min(1).max() < 1e-5
    standard_error = possible.std() / math.sqrt(len(values))
    assert np.mean(values) == pytest.approx(possible.mean(), abs=4 * standard_error)


def test_easy_llps_drawn_instances_stay_in_their_bags():
    size = torch.tensor([3, 1, 2500])
    assert drawn_instances(torch.tensor([0.0, 0.0, 0.0]), size).tolist() == [0, 3, 4]
    assert drawn_instances(torch.tensor([1 - 2**-24] * 3), size).tolist() == [2, 3, 2503]


@pytest.mark.parametrize("clip", [1e-7, None])
def test_easy_llps_clip_stops_the_gradient(clip):
    z = torch.full((sum(SIZES),), -50.0, dtype=torch.float64, requires_grad=True)
    easy_llp("bag_mean", clip).bag_loss(z, BATCH).backward()
    assert ((z.grad == 0) == (clip is not None)).all()


def test_instances_that_are_sure_of_their_label_are_counted():
    batch, scores = make_batch([3, 2], [1.0, 1.0]), torch.tensor([2.0, -0.1, -2.0, 0.1, 0.2], dtype=torch.float64)
    method = make_method(LLPDC, weight=0.5, threshold=0.6)
    method.bag_loss(scores, batch)
    assert method.epoch_means.values()["confident"] == pytest.approx(2 / 5)


def test_small_probabilities_of_subsets_do_not_cancel():
    scores = torch.tensor([0.0, -60.0, -60.0], dtype=torch.float64)
    law = subset_laws(scores, make_batch([3], [2]), max_order=2)[1][0]
    tiny = math.exp(-60)
    assert law[2].item() == pytest.approx((0.5 * 2 * tiny + tiny**2) / 3, rel=1e-12)


def test_the_law_of_labels_in_subsets_is_scipys_hypergeometric():
    size, count = torch.tensor([2500.0, 5.0, 3.0]).double(), torch.tensor([70.0, 0.0, 3.0]).double()
    law = hypergeometric(size, count, 3)
    for b in range(3):
        expected = stats.hypergeom(int(size[b]), int(count[b]), 3).pmf(np.arange(4))
        np.testing.assert_allclose(law[b], expected, rtol=1e-10, atol=1e-15)


def test_saturated_scores_without_smoothing_stay_finite():
    scores = torch.full((6,), -1e4, requires_grad=True)
    loss = make_method(SubsetMatching, max_order=3, smoothing=0.0).bag_loss(scores, make_batch([6], [6]))
    loss.backward()
    assert loss.isfinite()
    assert scores.grad.isfinite().all()


def test_approx_of_llpfc_weighs_bags_of_one_proportion_equally():
    assert noisy_priors(torch.tensor([[0.4, 0.4]]), label_mean=0.3, choice="approx").tolist() == [[0.5, 0.5]]


def test_a_lone_bag_teaches_llpfc_nothing():
    scores = torch.zeros(4, requires_grad=True)
    loss = make_method(LLPFC, noisy_prior="uniform").bag_loss(scores, make_batch([4], [1]))
    loss.backward()
    assert loss.item() == 0.0
    assert not scores.grad.any()
