"""How far Adam moves a weight without a gradient, by the closed form and by its defining sum."""

import math

import numpy as np
import pytest

from llp.optim import compiled
from llp.optim.catch_up import TERMS, WORST_ERROR, PushSums


def push(sums, A, B):
    """The push of a late row on a weight with v = 1 and eps = 0, by its centre and the terms of the series."""
    powers = np.vander(1 - B / sums[0], TERMS, increasing=True)
    return (A[:, None] * powers).sum() / sums[0]


@pytest.mark.parametrize(
    ("betas", "off"), [((0.9, 0.999), 1e-10), ((0.8, 0.98), WORST_ERROR), ((0.9, 0.99), WORST_ERROR)]
)
def test_a_late_push_has_its_centre_where_the_series_is_exact_and_ends_when_nothing_is_left_of_it(betas, off):
    sums = PushSums(*betas)
    t0 = 3 * sums.window

    def terms(n):
        j = np.arange(1.0, n + 1)
        return betas[0] ** j / (1 - betas[0] ** (t0 + j)), np.sqrt(betas[1] ** j / (1 - betas[1] ** (t0 + j)))

    A, B = terms(20 * sums.window)
    found = push(sums.table(t0)[sums.early_rows + t0 - sums.window], *terms(sums.window))
    assert found == pytest.approx((A / B).sum(), rel=off)


@pytest.mark.parametrize("gap", [1, 40, 79, 80, 107, 108, 109, 200])
def test_moments_decay_exactly_until_they_are_negligible(gap):
    """Below 1e-24 of what they were they are 0, so that no number of float32 gets too small to count fast with."""
    betas, t0 = (0.5, 0.6), 50
    sums = PushSums(*betas)
    weight, m, v = np.array([[1.0]]), np.array([[2.0]]), np.array([[3.0]])
    compiled.catch_up(
        0, 1, np.array([0], np.int32), weight, m, v, np.array([t0], np.int32), t0 + gap, sums.table(t0 + gap),
        sums.window, sums.n_blocks, 1e-8, *map(math.log, betas),
    )  # fmt: skip
    for moment, before, beta in ((m, 2.0, 0.5), (v, 3.0, 0.6)):
        left = beta**gap
        assert moment[0, 0] == pytest.approx(before * left if left > 1e-24 else 0.0, rel=1e-12, abs=0)
