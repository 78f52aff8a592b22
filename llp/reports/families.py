"""Families of labels: their generalised linear models with canonical link, in which labels enter by sums alone.

P. McCullagh and J. A. Nelder, "Generalized linear models", 1989, section 2.2: with the score z = θ'x of an instance,
its negative log likelihood is a(z) − yz and a constant, its mean a'(z), its variance a''(z).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from llp.reports.passes import Vector


@dataclass(frozen=True)
class Family:
    """A law of labels given a score z."""

    partition: Callable[[Vector], Vector]  # a(z), elementwise
    mean: Callable[[Vector], Vector]  # a'(z): the label's mean
    variance: Callable[[Vector], Vector]  # a''(z) from the mean
    score: Callable[[float], float]  # the z of a mean
    least: float  # a mean is kept from this
    most: float  # to this, so that z is finite
    least_loss: float  # no label has a smaller a(z) − yz

    def within(self, mean: float) -> float:
        """The nearest mean that labels of the family can have."""
        return min(max(mean, self.least), self.most)


LOGISTIC = Family(
    lambda z: np.logaddexp(0, z),
    expit,
    lambda mean: mean * (1 - mean),
    lambda mean: float(np.log(mean / (1 - mean))),
    1e-6,
    1 - 1e-6,
    0.0,
)
"""Labels 0 and 1."""
GAUSSIAN = Family(lambda z: z * z / 2, lambda z: z, lambda mean: np.ones_like(mean), float, -np.inf, np.inf, -np.inf)
"""Real labels of variance one; another variance only changes the unit of a penalty."""
POISSON = Family(np.exp, np.exp, lambda mean: mean, lambda mean: float(np.log(mean)), 1e-6, np.inf, -np.inf)
"""Counts; the log of an exposure is an offset of the score."""
