"""The penalty of a fit on a sample of a report's rows: by cross-fitting.

λ are multiplied by the factor with which a fit on one half of the sample, to c + a g, has the least loss A(θ) − c'θ on
the other, of c − g/a: as for `llp.reports.penalty.choose_grouping`, since both halves have sums of one report.
"""

import logging
from collections.abc import Callable, Sequence

import numpy as np

from llp.reports.glm import fit
from llp.reports.passes import Vector
from llp.reports.penalty import APART, COMPARED
from llp.reports.problem import DROPPED, Problem

log = logging.getLogger(__name__)

FACTORS = 10 ** (np.arange(11) / 2)
"""1, 3.2, 10 … 100,000: the last is a constant, but for cells of very many rows."""
WORSE = 1e-3
"""Loss of an instance over the least so far, after which no smaller factor is tried."""
MANY, NEAR = 50_000, 2
"""Rows of a half above which fits take long, and the place of a factor, 10, that so many end near."""


def strengthen(halves: Sequence[Problem], penalty: Callable[[Vector], Vector], seed: int) -> float:
    """Find the factor of the λ (P + 2,) that `penalty` gives of the noise ratio of either half (P + 2,).

    Few rows' losses have bumps: all factors are tried, from the largest on, as long as they measure well. Of many rows,
    where they have none, only those from `NEAR` on in the direction in which the loss falls.
    """
    drawn = [half.noise.draw(np.random.default_rng(seed)) for half in halves]  # of one report
    starts: list[Vector | None] = [None, None]

    def loss_of(factor: float) -> float:
        loss = 0.0
        for i, (half, other) in enumerate((halves, halves[::-1])):
            fitted = half.sums + APART * drawn[i]
            starts[i] = theta = fit(half.design, fitted, factor * penalty(half.noise.ratio), COMPARED, starts[i]).theta
            theta = np.where(other.noise.ratio < DROPPED, theta, 0)
            measuring = other.sums - drawn[1 - i] / APART
            loss += other.design.partition(other.design.scores(theta)) - float(measuring @ theta)
        log.debug("factor %.3g of the penalty: loss %.6g", factor, loss / halves[0].design.total)
        return loss

    best, chosen = np.inf, float(FACTORS[NEAR])
    few = len(halves[0].design.weight) <= MANY
    # upwards first: of larger factors fits take less
    ways = [FACTORS[::-1]] if few else [FACTORS[NEAR:], FACTORS[NEAR - 1 :: -1]]
    for way in ways:
        if chosen > FACTORS[NEAR]:  # a larger one was better
            break
        for factor in way.tolist():
            loss = loss_of(factor)
            if loss > best + (WORSE * halves[0].design.total if few else 0):
                break
            if loss < best:
                best, chosen = loss, factor
    return chosen
