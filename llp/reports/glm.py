"""The generalised linear model on cells: fitted to published sums, as on labels.

With K the matrix of instances by cells, labels y enter the likelihood by c = K'y alone, which is the report. So the
minimum over θ of F(θ) = Σᵢ mᵢ a(oᵢ + (Kθ)ᵢ) − c'θ + ½ Σⱼ λⱼ θⱼ² is the supervised fit where the report is exact. Known
from `AggLogistic` of the AdKDD 2021 competition on learning from aggregates (A. Gilotte et al., arXiv 2201.13123).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from llp.reports.families import Family
from llp.reports.margins import Margins
from llp.reports.passes import Passes, Vector

MOST_STEPS = 100
"""Of Newton's method; some ten are usual."""
FLATTEST = 1e-9
"""Least variance of a label: where none is left, a step would have no end."""
ROUNDING = 1e-13
"""Of the objective relative to A: a difference below it says nothing of a step."""


@dataclass(frozen=True)
class Design:
    """Instances without labels: what a report's sums are fitted on."""

    passes: Passes  # which cells each instance is in
    family: Family  # of the labels
    weight: Vector  # (n,) m: how many instances each stands for
    offset: Vector  # (n,) o, added to each score
    margins: Margins | None = None  # of the queries, for fits in fewer passes

    @property
    def total(self) -> float:
        """N, the sum of the weights."""
        return float(self.weight.sum())

    def scores(self, theta: Vector) -> Vector:
        """(n,) z = o + Kθ."""
        return self.offset + self.passes.scores(theta)

    def partition(self, scores: Vector) -> float:
        """A = Σᵢ mᵢ a(zᵢ)."""
        return float(self.weight @ self.family.partition(scores))

    def hessian(self, mean: Vector, penalty: Vector) -> "Hessian":
        """The second derivative of F where labels have the mean μ (n,)."""
        weights = self.weight * np.maximum(self.family.variance(mean), FLATTEST)
        return Hessian(self.passes, weights, penalty, self.margins)


class Hessian:
    """H + Λ = K' diag(w) K + diag(λ), by its products; without margins the diagonal alone preconditions."""

    def __init__(self, passes: Passes, weights: Vector, penalty: Vector, margins: Margins | None) -> None:
        self.passes, self.weights, self.penalty, self._margins = passes, weights, penalty, margins
        self.diagonal = passes.sums(weights) + penalty
        self._scale = 1 / np.sqrt(np.where(self.diagonal > 0, self.diagonal, 1))

    @cached_property
    def nearly_inverse(self) -> Callable[[Vector], Vector]:
        """Map v to nearly (H + Λ)⁻¹v; symmetric and positive."""
        if self._margins is None:
            return lambda v: v * self._scale**2
        return self._margins.preconditioner(self.diagonal, self.penalty, float(self.weights.sum()))

    def solve(self, b: Vector, tolerance: float, start: Vector | None = None) -> Vector:
        """(H + Λ)⁻¹b by conjugate gradients: ‖residual‖ ≤ tolerance ‖b‖ in D⁻¹, D being the diagonal."""
        scale = self._scale

        def product(v: Vector) -> Vector:
            v = v * scale
            return (self.passes.curvature(self.weights, v) + self.penalty * v) * scale

        def inverse(v: Vector) -> Vector:
            return self.nearly_inverse(v / scale) / scale

        operator, nearly = (LinearOperator((len(b), len(b)), matvec=one, dtype=float) for one in (product, inverse))
        first = None if start is None else start / scale
        solution, _ = cg(operator, b * scale, x0=first, rtol=tolerance, atol=0, maxiter=1000, M=nearly)
        found: Vector = solution * scale
        return found

    def standardised(self, gradient: Vector) -> Vector:
        """gⱼ/√dⱼ: by how many standard deviations of its sum each cell is off."""
        return gradient * self._scale


@dataclass(frozen=True)
class CellFit:
    """A minimum of F."""

    theta: Vector  # (P + 2,) θ: the intercept's, the cells', and 0
    scores: Vector  # (n,) z of the instances
    hessian: Hessian  # there
    partition: float  # A(θ)
    steps: int  # of Newton's method
    steepness: float  # the largest |gⱼ|/√dⱼ: above the tolerance only where no step leads further down


def fit(design: Design, sums: Vector, penalty: Vector, tolerance: float, start: Vector | None = None) -> CellFit:
    """Minimise F by Newton's method with conjugate gradients, for c and λ (P + 2,), to a steepness (1e-3 for a result).

    The intercept's mean is kept within the family's: noise may lead out, where F has no minimum. `start` is a θ near.
    """
    pooled = design.family.within(sums[0] / design.total)
    sums = np.concatenate([[pooled * design.total], sums[1:]])
    if start is None:
        start = np.zeros_like(sums)
        start[0] = design.family.score(pooled) - design.weight @ design.offset / design.total
    theta = start

    def objective(theta: Vector) -> tuple[float, Vector, float]:
        scores = design.scores(theta)
        partition = design.partition(scores)
        return partition, scores, float(partition - sums @ theta + penalty @ (theta * theta) / 2)

    partition, scores, value = objective(theta)
    for step in range(MOST_STEPS + 1):
        mean = design.family.mean(scores)
        hessian = design.hessian(mean, penalty)
        gradient = design.passes.sums(design.weight * mean) - sums + penalty * theta
        off = hessian.standardised(gradient)
        steepness = float(np.abs(off).max())
        if steepness < tolerance or step == MOST_STEPS:
            break
        inner = 0.1 if step == 0 else 0.5 * np.sqrt(np.linalg.norm(off) / np.sqrt(design.total))
        inner = min(0.3, max(inner, 0.3 * tolerance / steepness))  # no closer than the tolerance asks
        direction = hessian.solve(-gradient, inner)
        length, slope = 1.0, gradient @ direction
        while True:
            tried = theta + length * direction
            tried_partition, tried_scores, tried_value = objective(tried)
            if tried_value <= value + 1e-4 * length * slope + ROUNDING * (1 + abs(partition)):
                break
            length /= 2
            if length < 1e-10:  # rounding hides any further descent
                return CellFit(theta, scores, hessian, partition, step, steepness)
        theta, partition, scores, value = tried, tried_partition, tried_scores, tried_value
    return CellFit(theta, scores, hessian, partition, step, steepness)
