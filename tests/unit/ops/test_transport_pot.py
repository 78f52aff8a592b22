"""POT's solvers and the closed forms give the same labels, and the methods the same losses with either."""

import numpy as np
import pytest
import torch

from llp.methods.ot import EROTLLP, OTLLP
from llp.methods.rot import ROT
from llp.ops import transport_pot
from tests.helpers.minibatches import make_batch, make_method


def test_labels_have_the_scores_type_and_padding_gets_none():
    batch = make_batch([3, 2], [1, 2])
    of = torch.tensor([0, 0, 0, 1, 1, 2, 2]), batch.size, batch.label_sum
    for labels in (
        transport_pot.transport_labels(torch.arange(7.0), *of),
        transport_pot.entropic_labels(torch.arange(7.0), *of, reg=1.0),
    ):
        assert labels.dtype == torch.float32
        assert labels[5:].tolist() == [0, 0]
        assert labels[3:5].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("cls", "options"),
    [
        (OTLLP, {}),
        (EROTLLP, {"reg": 0.2, "pseudo_labels": "soft"}),
        (EROTLLP, {"reg": 0.2, "pseudo_labels": "hard"}),
        (ROT, {"weight": 0.6, "reg": 1.0, "pseudo_labels": "soft"}),
    ],
)
def test_a_methods_loss_and_gradient_are_equal_with_either_solver(cls, options):
    batch = make_batch([12, 30, 7, 20], [3, 11, 0, 19])
    results = []
    for solver in ("closed_form", "pot"):
        scores = torch.from_numpy(np.random.default_rng(1).normal(size=69)).requires_grad_()
        method = make_method(cls, solver=solver, **options)
        loss = method.bag_loss(scores, batch)
        loss.backward()
        results.append((loss.detach(), scores.grad))
    torch.testing.assert_close(results[1], results[0], atol=1e-4, rtol=0)
