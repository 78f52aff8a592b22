"""LLP-DC against its definition: pseudo-labels by an assignment problem, solved by scipy."""

import pytest
import torch

from llp.methods.dllp import dllp_bce
from llp.methods.llp_dc import LLPDC
from tests.helpers.minibatches import make_batch, make_method

OPTIONS = {"weight": 0.5, "threshold": 0.6}


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
