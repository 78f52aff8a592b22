"""LLP-DC against its definition: pseudo-labels by an assignment problem, solved by scipy."""

import numpy as np
import pytest
import torch
from scipy import optimize

from llp.methods.dllp import dllp_bce
from llp.methods.llp_dc import LLPDC
from tests.helpers.minibatches import make_batch, make_method, random_batch

OPTIONS = {"weight": 0.5, "threshold": 0.6}


def assigned(h, n_positive):
    """Labels at the least sum of -log probability with so many ones: slots of classes are given to instances."""
    slots = np.repeat([0, 1], [len(h) - n_positive, n_positive])
    cost = -np.log(np.where(slots == 1, h[:, None], 1 - h[:, None]))
    instance, slot = optimize.linear_sum_assignment(cost)
    return slots[slot][np.argsort(instance)].astype(float)


def instance_loss(scores, batch, threshold):
    total = 0.0
    for z, y in zip(np.split(scores.numpy(), np.cumsum(batch.size)[:-1]), batch.label_sum, strict=True):
        h = 1 / (1 + np.exp(-z))
        label = assigned(h, int(y))
        probability = np.where(label == 1, h, 1 - h)
        total += -np.log(probability)[probability >= threshold].sum()
    return total / int(batch.size.sum())


@pytest.mark.parametrize("threshold", [0.0, 0.6, 0.95])
def test_the_loss_is_its_formula(threshold):
    batch, scores = random_batch(np.random.default_rng(0))
    method = make_method(LLPDC, weight=0.5, threshold=threshold)
    expected = dllp_bce(scores, batch, reduction="mean").item() + 0.5 * instance_loss(scores, batch, threshold)
    assert method.bag_loss(scores, batch).item() == pytest.approx(expected, rel=1e-6)


def test_instances_that_are_not_sure_of_their_label_get_the_bag_losss_gradient_alone():
    batch, scores = make_batch([3, 2], [1.0, 1.0]), torch.tensor([2.0, -0.1, -2.0, 0.1, 0.2], dtype=torch.float64)
    scores.requires_grad_()
    difference = make_method(LLPDC, **OPTIONS).bag_loss(scores, batch) - dllp_bce(scores, batch, reduction="mean")
    (gradient,) = torch.autograd.grad(difference, scores)
    h = torch.sigmoid(scores.detach())
    expected = 0.5 / 5 * torch.stack([h[0] - 1, h[1] * 0, h[2], h[3] * 0, h[4] * 0])
    torch.testing.assert_close(gradient, expected)


def test_share_of_confident_instances_is_in_the_curve():
    method = make_method(LLPDC, **OPTIONS)
    batch = make_batch([3, 2], [1.0, 1.0])
    method.bag_loss(torch.tensor([2.0, -0.1, -2.0, 0.1, 0.2]), batch)
    assert method.epoch_means.values()["confident"] == pytest.approx(2 / 5)
