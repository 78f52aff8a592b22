"""The penalty of a fit on a sample of a report's rows: by cross-fitting.

The criterion T knows the noise of the sums, not that the rows are but some of those summed. So its λ are multiplied by
the factor with which a fit on one half of the sample has the least loss A(θ) − c'θ on the other.
"""

from collections.abc import Callable, Sequence

import numpy as np

from llp.reports.glm import fit
from llp.reports.passes import Vector
from llp.reports.penalty import COMPARED
from llp.reports.problem import DROPPED, Problem

FACTORS = 10 ** (np.arange(11) / 2)
"""1, 3.2, 10 … 100,000: the last is a constant, but for cells of very many rows."""


def strengthen(halves: Sequence[Problem], penalty: Callable[[Vector], Vector]) -> float:
    """Find the factor of the λ (P + 2,) that `penalty` gives of the noise ratio of either half (P + 2,)."""
    losses = np.zeros(len(FACTORS))
    for half, other in (halves, halves[::-1]):
        start = None
        for i in range(len(FACTORS) - 1, -1, -1):
            found = fit(half.design, half.sums, FACTORS[i] * penalty(half.noise.ratio), COMPARED, start)
            start = found.theta
            theta = np.where(other.noise.ratio < DROPPED, start, 0)
            losses[i] += other.design.partition(other.design.scores(theta)) - other.sums @ theta
    return float(FACTORS[losses.argmin()])
