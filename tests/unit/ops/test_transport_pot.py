"""POT's solvers and the closed forms give the same labels, and the methods the same losses with either."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from llp.methods.ot import EROTLLP, OTLLP
from llp.methods.rot import ROT
from llp.ops import transport, transport_pot
from tests.helpers.minibatches import make_batch, make_method


@st.composite
def small_bags(draw):
    sizes = draw(st.lists(st.integers(1, 9), min_size=1, max_size=5))
    counts = [draw(st.integers(0, size)) for size in sizes]
    n = sum(sizes)
    hundredths = draw(st.lists(st.integers(-300, 300), min_size=n, max_size=n, unique=True))
    return make_batch(sizes, counts), torch.tensor(hundredths, dtype=torch.float64) / 100


def of(batch):
    return batch.segment, batch.size, batch.label_sum


@settings(max_examples=30, deadline=None)
@given(small_bags())
def test_unregularised_labels_are_equal(bags):
    batch, scores = bags
    closed, pot = (solver.transport_labels(scores, *of(batch)) for solver in (transport, transport_pot))
    torch.testing.assert_close(pot, closed, atol=1e-9, rtol=0)


@settings(max_examples=12, deadline=None)
@given(small_bags(), st.sampled_from([0.2, 0.5, 1.0]))
def test_entropic_labels_are_equal(bags, reg):
    batch, scores = bags
    closed, pot = (solver.entropic_labels(scores, *of(batch), reg=reg) for solver in (transport, transport_pot))
    torch.testing.assert_close(pot, closed, atol=1e-4, rtol=0)


def test_labels_have_the_scores_type_and_padding_gets_none():
    batch = make_batch([3, 2], [1, 2])._replace(segment=torch.tensor([0, 0, 0, 1, 1, 2, 2]))
    for labels in (
        transport_pot.transport_labels(torch.arange(7.0), *of(batch)),
        transport_pot.entropic_labels(torch.arange(7.0), *of(batch), reg=1.0),
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
