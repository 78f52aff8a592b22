import math

import numpy as np
import pytest
import torch
from scipy import stats

from llp.methods.llp_mm import hypergeometric, subset_cross_entropy, subset_laws
from tests.helpers.minibatches import make_batch


def test_small_probabilities_do_not_cancel():
    scores = torch.tensor([0.0, -60.0, -60.0], dtype=torch.float64)
    law = subset_laws(scores, make_batch([3], [2]), max_order=2)[1][0]
    tiny = math.exp(-60)
    assert law[2].item() == pytest.approx((0.5 * 2 * tiny + tiny**2) / 3, rel=1e-12)


def test_the_labels_law_is_scipys_hypergeometric():
    size, count = torch.tensor([2500.0, 5.0, 3.0]).double(), torch.tensor([70.0, 0.0, 3.0]).double()
    law = hypergeometric(size, count, 3)
    for b in range(3):
        expected = stats.hypergeom(int(size[b]), int(count[b]), 3).pmf(np.arange(4))
        np.testing.assert_allclose(law[b], expected, rtol=1e-10, atol=1e-15)


def test_saturated_scores_without_smoothing_stay_finite():
    scores = torch.full((6,), -1e4, requires_grad=True)
    loss = subset_cross_entropy(scores, make_batch([6], [6]), max_order=3, smoothing=0.0)
    loss.backward()
    assert loss.isfinite()
    assert scores.grad.isfinite().all()
