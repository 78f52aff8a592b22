"""Which instances count in LLP-DC; its formula: test_formulas.py."""

import pytest
import torch

from llp.methods.dllp import dllp_bce
from llp.methods.llp_dc import LLPDC
from tests.helpers.minibatches import make_batch, make_method


def test_instances_that_are_not_sure_of_their_label_get_the_bag_losss_gradient_alone_and_the_others_are_counted():
    batch, scores = make_batch([3, 2], [1.0, 1.0]), torch.tensor([2.0, -0.1, -2.0, 0.1, 0.2], dtype=torch.float64)
    scores.requires_grad_()
    method = make_method(LLPDC, weight=0.5, threshold=0.6)
    (gradient,) = torch.autograd.grad(method.bag_loss(scores, batch) - dllp_bce(scores, batch), scores)
    h = torch.sigmoid(scores.detach())
    expected = 0.5 / 5 * torch.stack([h[0] - 1, h[1] * 0, h[2], h[3] * 0, h[4] * 0])
    torch.testing.assert_close(gradient, expected)
    assert method.epoch_means.values()["confident"] == pytest.approx(2 / 5)
