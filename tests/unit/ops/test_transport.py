"""Two-class transport: the unregularised labels against POT's `emd`, the entropic ones by what makes them optimal."""

import numpy as np
import ot
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logit

from llp.ops import transport, transport_pot
from llp.ops.transport import entropic_labels, transport_labels
from tests.helpers.minibatches import make_batch

REG = 0.2


def bags_of(sizes):
    size = torch.tensor(sizes)
    return torch.repeat_interleave(torch.arange(len(sizes)), size), size


def split(sizes):
    """Cuts an array (n,) into its bags."""
    return lambda values: np.split(np.asarray(values), np.cumsum(sizes)[:-1])


def cost(scores):
    """-log P of both classes, in float64 and without overflow."""
    return np.stack([np.logaddexp(0, scores), np.logaddexp(0, -scores)])


@st.composite
def small_bags(draw, unique):
    sizes = draw(st.lists(st.integers(1, 9), min_size=1, max_size=5))
    counts, n = [draw(st.integers(0, size)) for size in sizes], sum(sizes)
    hundredths = st.integers(-300, 300)
    return sizes, counts, np.array(draw(st.lists(hundredths, min_size=n, max_size=n, unique=unique))) / 100


@settings(max_examples=40, deadline=None)
@given(small_bags(unique=True))
def test_transport_labels_are_the_optimal_plan(bags):
    sizes, counts, scores = bags
    segment, size = bags_of(sizes)
    labels = transport_labels(torch.from_numpy(scores), segment, size, torch.tensor(counts, dtype=torch.float32))
    for k, y, z, found in zip(sizes, counts, *map(split(sizes), (scores, labels)), strict=True):
        plan = ot.emd(np.array([k - y, y], float) / k, np.full(k, 1 / k), cost(z))
        np.testing.assert_allclose(found, k * plan[1], atol=1e-9)


def test_ties_are_broken_by_position_and_counts_are_exact():
    segment, size = bags_of([5, 3])
    labels = transport_labels(torch.zeros(8), segment, size, torch.tensor([2.0, 1.0]))
    assert labels.tolist() == [1, 1, 0, 0, 0, 1, 0, 0]


@settings(max_examples=40, deadline=None)
@given(small_bags(unique=False))
def test_entropic_labels_meet_the_optimality_conditions(bags):
    """Σ_j over the bag is y, and the odds of every instance are e^{z/reg} times one factor of the bag."""
    sizes, counts, scores = bags
    segment, size = bags_of(sizes)
    labels = entropic_labels(
        torch.from_numpy(scores), segment, size, torch.tensor(counts, dtype=torch.float32), reg=REG
    )
    for k, y, z, found in zip(sizes, counts, *map(split(sizes), (scores, labels)), strict=True):
        assert found.sum() == pytest.approx(y, abs=1e-6)
        if 0 < y < k:
            inside = (found > 1e-6) & (found < 1 - 1e-6)  # further out the odds have no digits left
            assert np.ptp((logit(found) - z / REG)[inside]) < 1e-6 if inside.any() else True
        else:
            assert (found == y / k).all()


@pytest.mark.parametrize("spread", [0.0, 1e-3, 1.0, 30.0, 1e3, 1e4])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_entropic_labels_meet_the_proportion_where_sinkhorn_does_not_converge(spread, dtype):
    rng = np.random.default_rng(1)
    sizes = [2, 3, 5, 64, 250, 2500, 2500, 1]
    counts = [1, 1, 4, 1, 125, 2499, 1, 1]
    scores = torch.from_numpy(rng.standard_t(2, sum(sizes)) * spread).clamp(-1e4, 1e4).to(dtype)
    segment, size = bags_of(sizes)
    labels = entropic_labels(scores, segment, size, torch.tensor(counts, dtype=torch.float32), reg=REG)
    assert torch.isfinite(labels).all()
    for k, y, z, found in zip(sizes, counts, *map(split(sizes), (scores, labels)), strict=True):
        assert found.mean(dtype=np.float64) == pytest.approx(y / k, abs=1e-6)
        assert (np.diff(found[np.argsort(z)]) >= 0).all()


@pytest.mark.parametrize("solver", [transport, transport_pot])
@pytest.mark.parametrize(("label_sum", "n_positive"), [(2.4, 2), (2.6, 3), (-3.2, 0), (7.9, 5), (0.3, 0), (4.8, 5)])
def test_a_noisy_sum_labels_the_nearest_number_of_instances(solver, label_sum, n_positive):
    scores = torch.tensor([0.3, -1.0, 2.0, 0.9, -0.2], dtype=torch.float64)
    segment, size = bags_of([5])
    labels = solver.transport_labels(scores, segment, size, torch.tensor([label_sum]))
    highest = scores.argsort(descending=True)
    torch.testing.assert_close(labels[highest], (torch.arange(5) < n_positive).double(), atol=1e-9, rtol=0)


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
