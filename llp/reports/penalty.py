"""A penalty that knows the noise of the sums, chosen without a label.

λⱼ = λ_g(j) (1 + vⱼ/hⱼ): the L2 penalty of a group of cells, more for a cell whose sum is noisier (variance vⱼ) than
its labels would be by themselves (hⱼ, count times the variance of a label).

Which λ: the log loss of fresh labels of the same instances is, but for a constant, A(θ̂) − E[c]'θ̂ over N. With θ̂
linear in c around the fit, c'θ̂ is larger than that in the mean by tr((H + V)(H + Λ)⁻¹), H the labels' covariance in
the cells and V the noise's; B. Efron, "The estimation of prediction error", JASA 2004, gives the general form. The
trace is estimated by solves for random b of covariance H + V (M. F. Hutchinson, 1990).
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from llp.data.cells import Cells, order_of
from llp.reports.glm import CellFit, Design, fit
from llp.reports.passes import Vector

log = logging.getLogger(__name__)

START, LEAST, MOST = 30.0, 1.0, 1e6
"""Of λ_g."""
ROUNDS = 6
ENOUGH = 2e-4
"""Of itself: a round that improves the criterion by less is the last."""
COMPARED = 0.05
"""Steepness of a fit that is only compared with others."""
SOLVED = 0.03
"""Residual of a probe's solve, of its right-hand side: far below what two to four probes scatter."""


@dataclass(frozen=True)
class SumNoise:
    """Noise in the sums, by its law."""

    ratio: Vector  # (P + 2,) vⱼ/hⱼ
    draw: Callable[[np.random.Generator], Vector]  # (P + 2,) of mean 0, treated as the sums were


@dataclass(frozen=True)
class Groups:
    """Cells that share a λ."""

    name: str  # by what
    of: NDArray[np.int64]  # (P + 2,) the group of each cell; −1 of the intercept and of what is not published
    probes: int  # random vectors for the trace

    @property
    def number(self) -> int:
        """How many groups there are."""
        return int(self.of.max()) + 1

    def spread(self, strengths: Vector, ratio: Vector) -> Vector:
        """(P + 2,) λ of the cells from that of their groups; 0 for the intercept."""
        return np.where(self.of >= 0, strengths[self.of] * (1 + ratio), 0.0)

    def total(self, values: Vector) -> Vector:
        """Sums of a value of the cells (P + 2,) over each group."""
        return np.bincount(self.of[self.of >= 0], values[self.of >= 0], self.number).astype(np.float64)


@dataclass(frozen=True)
class ChosenPenalty:
    """Penalties with the fit that they give."""

    groups: Groups  # what shares a penalty
    strengths: Vector  # λ of each group
    criterion: float  # T: the estimated log loss of fresh labels, but for a constant
    fit: CellFit  # at the steepness `COMPARED`


Probes = list[tuple[NDArray[np.int8], Vector]]
"""Random signs (n,) of the instances' labels and a draw (P + 2,) of the noise: what the trace is estimated by."""


def draw_probes(design: Design, noise: SumNoise, number: int, rng: np.random.Generator) -> Probes:
    """Draw some; every choice on one design takes the same, so that what differs between them is not chance."""
    n = len(design.weight)
    return [(2 * rng.integers(0, 2, n, np.int8) - np.int8(1), noise.draw(rng)) for _ in range(number)]


def criterion(
    design: Design,
    sums: Vector,
    penalty: Vector,
    probes: Probes,
    start: Vector | None = None,
    solved: Sequence[Vector] = (),
    widened: float = 1.0,
) -> tuple[float, CellFit, list[Vector]]:
    """T at a penalty, the fit, and x = (H + Λ)⁻¹b of each probe; `start` and `solved` are such θ and x of one near it.

    `widened` is by how much the sums scatter more than labels and noise do, as a standard deviation.
    """
    found = fit(design, sums, penalty, COMPARED, start)
    root, trace, solutions = widened * np.sqrt(found.hessian.weights), 0.0, []
    for i, (signs, draw) in enumerate(probes):
        b = design.passes.sums(root * signs) + widened * draw
        solutions.append(found.hessian.solve(b, SOLVED, solved[i] if solved else None))
        trace += float(b @ solutions[-1]) / len(probes)
    return (found.partition - float(sums @ found.theta) + trace) / design.total, found, solutions


def choose(
    design: Design, sums: Vector, noise: SumNoise, groups: Groups, probes: Probes, widened: float = 1.0
) -> ChosenPenalty:
    """Choose the λ of each group by fixed-point steps on the criterion T.

    Where θ̂ is at its best along λ_g, what the group's cells hold of noise, Σ λⱼ xⱼ² in the mean over probes x =
    (H + Λ)⁻¹b, equals what shrinking takes of signal, Σ λⱼ θⱼ aⱼ with a = (H + Λ)⁻¹Λθ̂; each round moves λ_g by their
    quotient.
    """
    probes = probes[: groups.probes]
    strengths = np.full(groups.number, START)
    best: ChosenPenalty | None = None
    start, shrunk, solved = None, None, list[Vector]()  # the last round's, from which the next begins
    for _ in range(ROUNDS):
        penalty = groups.spread(strengths, noise.ratio)
        loss, found, solved = criterion(design, sums, penalty, probes, start, solved, widened)
        start = found.theta
        improved = best is None or loss < best.criterion - ENOUGH * abs(best.criterion)
        if best is None or loss < best.criterion:
            best = ChosenPenalty(groups, strengths, loss, found)
        if not improved:
            break
        shrunk = found.hessian.solve(penalty * found.theta, SOLVED, shrunk)
        signal = groups.total(shrunk * (1 + noise.ratio) * found.theta)
        noisy = sum(groups.total((1 + noise.ratio) * x * x) / len(probes) for x in solved)
        factor = np.clip(noisy / np.maximum(signal, 1e-12), 0.2, 5)
        strengths = np.clip(strengths * factor, LEAST, MOST)
    assert best is not None
    return best


DRAWS, APART = 2, 0.7
"""Of the coupled bootstrap, and a: how far the sums that are fitted and those that measure are drawn apart."""


def choose_grouping(
    design: Design,
    sums: Vector,
    noise: SumNoise,
    candidates: Sequence[Groups],
    probes: Probes,
    rng: np.random.Generator,
) -> ChosenPenalty:
    """Choose what cells share a λ by a coupled bootstrap, and then the λ.

    With g a draw of labels and noise, c + a g and c − g/a are independent where Gaussian: each grouping's choice on the
    first is measured on the second (N. L. Oliveira et al., 2021). The first candidate, of fewest λ, is taken unless
    another is better by two standard errors, and with losses that labels can have, there and on the sums as they are.
    """
    spread = fit(design, sums, rule_of_thumb(noise.ratio), COMPARED)
    root = np.sqrt(spread.hessian.weights)
    thetas = np.zeros((len(candidates), len(sums)))
    losses = np.zeros(len(candidates))
    for _ in range(DRAWS):
        g = design.passes.sums(root * rng.standard_normal(len(root))) + noise.draw(rng)
        for i, groups in enumerate(candidates):
            found = choose(design, sums + APART * g, noise, groups, probes, float(np.hypot(1, APART))).fit
            losses[i] += (found.partition - (sums - g / APART) @ found.theta) / DRAWS
            thetas[i] += found.theta / DRAWS
    best = int(losses.argmin())
    moved = [(design.passes.sums(root * signs) + draw) @ (thetas[best] - thetas[0]) for signs, draw in probes]
    error = np.sqrt(np.mean(np.square(moved)) * (1 + 1 / (DRAWS * APART**2)))
    log.debug("coupled bootstrap: losses %s, standard error %.4g", losses / design.total, error / design.total)
    clear = losses[0] - losses[best] > 2 * error and losses[best] > design.total * design.family.least_loss
    chosen = choose(design, sums, noise, candidates[best if clear else 0], probes)
    possible = chosen.criterion > design.family.least_loss  # else many λ were fitted to one draw of much noise
    return chosen if possible or not clear else choose(design, sums, noise, candidates[0], probes)


def groups_of(cells: Cells) -> tuple[Groups, Groups]:
    """The cells by the number of their query's columns, and by query."""
    edge = np.array([-1])
    return (
        Groups("order", np.concatenate([edge, np.maximum(order_of(cells), 1) - 1, edge]), 4),
        Groups("query", np.concatenate([edge, cells.query_of, edge]), 2),
    )


def rule_of_thumb(ratio: Vector) -> Vector:
    """(P + 2,) λⱼ = 10 (1 + vⱼ/hⱼ), for who cannot wait."""
    penalty = 10 * (1 + ratio)
    penalty[0] = 0
    return penalty
