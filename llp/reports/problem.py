"""What a fit on cells is given: the train bags of any kind as sums over cells, and the noise in these sums.

A report's bags are its cells, and so are feature bags, of one query. Of others the sums are estimated: a row of a bag
of k rows stands for the label S_b − (k − 1)p, right as far as a bag's rows are drawn apart (the mean operator of R.
Nock and G. Patrini, 2014, up to a factor). Rows may be a sample of those that a report counts: see `_scaled`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from llp.data.cells import Cells
from llp.data.label_unit import LabelUnit
from llp.data.train_split import TrainSplit
from llp.errors import InputError
from llp.reports.consistency import consistency, total
from llp.reports.families import GAUSSIAN, LOGISTIC, Family
from llp.reports.glm import Design, fit
from llp.reports.margins import Margins
from llp.reports.passes import Passes, Vector
from llp.reports.penalty import SumNoise, rule_of_thumb

RAREST = 1e-4
"""Least share of either label, for the variance of one."""


@dataclass(frozen=True)
class Problem:
    """Sums over cells, and what they are fitted on."""

    design: Design  # the train rows
    sums: Vector  # (P + 2,) c: the intercept's, the cells', 0
    noise: SumNoise  # in them
    halves: list["Problem"] = field(default_factory=list)  # of a sample, its even and odd rows, with draws; else none


def problem_of(
    split: TrainSplit, cells: Cells, *, family: Family, threads: int, exposure: Vector | None = None
) -> Problem:
    """The problem of a train split, on its own cells or the P that estimated sums are of.

    `exposure` (Fn + 1,) gives a row's exposure of counts from its numeric columns and 1; None: 1 of each row.
    """
    rows = split.bags.instances
    if split.bags.counts is not None and len(rows) < 2:
        raise InputError(
            "Invalid rows=unknown: the sample has 1 row, expected at least 2, as halves measure each other"
        )
    known = rows[:0] if split.labelled is None else split.labelled.rows
    of_all = np.concatenate([rows, known])
    everything = split.features.categorical[of_all]  # one array, of which others are views
    exposed = np.ones(len(of_all))
    if exposure is not None:
        exposed = split.features.numeric[of_all] @ exposure[:-1] + exposure[-1]
    ids = cells.of_rows(everything)
    categorical, passes = everything[: len(rows)], Passes(ids[: len(rows)], len(cells), threads)
    offset, exposed, counts = np.log(exposed), exposed[: len(rows)], split.bags.counts
    n = len(rows) if counts is None else float(total(passes, cells)[1:-1] @ counts)

    def variance_of(mean: float) -> float:  # of a label of exposure 1; noise may lead its mean out of 0 to 1
        if family is GAUSSIAN:
            return LabelUnit.of(split.bags).scale ** 2
        return float(family.variance(np.clip(mean, RAREST, 1 - RAREST if family is LOGISTIC else np.inf)))

    if split.bags.cells is cells:
        found = _published(split, passes, cells, categorical)
        label_variance = variance_of(found[0][0] / (n * exposed.mean()))
    else:
        label_variance = variance_of(split.label_mean)
        found = _estimated(split, passes, np.searchsorted(rows, split.bags.rows), label_variance)

    def on(part: slice, found: CellSums, scores: Vector | None = None, margins: Margins | None = None) -> Problem:
        of_part = Passes(passes.cells[part], len(cells), threads)
        weight = np.ones(len(of_part.cells))
        (sums, variance, draw), dropped = found, np.zeros(len(cells) + 2)
        if counts is not None:
            weight *= n / len(weight)
            (sums, variance, draw), kept = _scaled(found, of_part, n, counts)
            dropped = np.where(kept, 0.0, DROPPED)
        margins = margins or Margins(cells, categorical[part], weight)
        design = Design(of_part, family, weight, offset[: len(rows)][part], margins)
        if scores is not None:
            variance = variance + of_sampling(design, scores[part])[0]
        of_labels = of_part.sums(weight * exposed[part]) * label_variance
        ratio = variance / np.maximum(of_labels, 1e-9) + dropped
        ratio[[0, -1]] = 0
        return Problem(design, sums, SumNoise(ratio, draw))

    whole = on(slice(None), found)
    if counts is not None:
        sums, variance, draw = found
        spread = np.sqrt(n / len(rows) * label_variance * exposed)  # of the labels that each row stands for
        drawn: dict[str, Vector] = {}

        def scatter(rng: np.random.Generator) -> Vector:
            state = str(rng.bit_generator.state)  # of both halves the same: making it consistent takes long
            if state not in drawn:
                drawn[state] = draw(rng) + passes.sums(spread * rng.standard_normal(len(rows)))
            return drawn[state]

        start = None
        for _ in range(2):  # what the sampling adds depends on the fit, little
            fitted = fit(whole.design, whole.sums, rule_of_thumb(whole.noise.ratio), ROUGH, start)
            start, whole = fitted.theta, on(slice(None), found, fitted.scores, whole.design.margins)
        of_report, kept = whole.noise, whole.noise.ratio < DROPPED
        _, sampled = of_sampling(whole.design, fitted.scores)
        noise = replace(of_report, draw=lambda rng: of_report.draw(rng) + kept * sampled(rng))
        halves = [on(slice(i, None, 2), (sums, variance, scatter), fitted.scores) for i in range(2)]
        whole = replace(whole, noise=noise, halves=halves)
    if split.labelled is None:
        return whole
    return _with_labelled(whole, split.labelled.labels, cells, ids, everything, offset, threads)


def _with_labelled(
    problem: Problem, labels: Vector, cells: Cells, ids: NDArray[np.int32], categorical: NDArray[np.int32],
    offset: Vector, threads: int,
) -> Problem:  # fmt: skip
    """Add the likelihood of the last rows (L,), whose labels are known, with weight one and their own sums."""
    design, n_cells = problem.design, len(cells)
    weight = np.concatenate([design.weight, np.ones(len(labels))])
    margins = Margins(cells, categorical, weight)
    joined = Design(Passes(ids, n_cells, threads), design.family, weight, offset, margins)
    sums = problem.sums + Passes(ids[len(design.weight) :], n_cells, threads).sums(labels)
    return replace(problem, design=joined, sums=sums)


LEAST_ROWS = 5
"""Of a sample in a cell: fewer tell nothing of it."""
ROUGH = 1.0
"""Steepness of a fit that only tells what sampling adds: closer ones take most of the time and change little."""
DROPPED = 1e9
"""Noise over labels' variance of a cell that is left out."""
CellSums = tuple[Vector, Vector, Callable[[np.random.Generator], Vector]]
"""Sums c (P + 2,), the variance of the noise in each, and draws of it."""


def _scaled(found: CellSums, passes: Passes, n: float, counts: Vector) -> tuple[CellSums, NDArray[np.bool_]]:
    """The sums of n rows as those of the passes' m: c (n/m) k/d of a cell of d rows, k of them here; and cells kept."""
    drawn = passes.sums(np.ones(len(passes.cells)))
    stated = np.concatenate([[n], counts, [0]])
    kept = (drawn >= LEAST_ROWS) & (stated >= 1)
    kept[0] = True
    ratio = np.where(kept, n / len(passes.cells) * drawn / np.maximum(stated, 1), 0)
    ratio[0] = 1
    sums, variance, draw = found
    return (sums * ratio, variance * ratio**2, lambda rng: draw(rng) * ratio), kept


def of_sampling(design: Design, scores: Vector) -> tuple[Vector, Callable[[np.random.Generator], Vector]]:
    """What sampling adds to the scaled sums' noise, as predictions differ in a cell: variance (P + 2,) and draws."""
    mean, weight = design.family.mean(scores), design.weight
    summed = design.passes.sums(weight)
    of_cell = design.passes.sums(weight * mean) / np.where(summed > 0, summed, 1)
    spread = np.sqrt(weight * np.maximum(weight - 1, 0))  # of the number that a row stands for
    variance, summed, squared = (design.passes.sums(spread**2 * power) for power in (mean**2, mean, np.ones_like(mean)))
    variance += of_cell**2 * squared - 2 * of_cell * summed

    def draw(rng: np.random.Generator) -> Vector:
        moved = spread * rng.standard_normal(len(weight))
        found: Vector = design.passes.sums(moved * mean) - of_cell * design.passes.sums(moved)
        return found

    return np.maximum(variance, 0), draw


def _published(split: TrainSplit, passes: Passes, cells: Cells, categorical: NDArray[np.int32]) -> CellSums:
    """The bags' own sums, made consistent where they are noisy; the intercept's from queries that hold every row."""
    sums, variance = np.zeros((2, len(cells) + 2))
    sums[1:-1] = split.bags.label_sum
    if split.bags.noise_variance is None or not split.bags.noise_variance.any():
        sums[0] = total(passes, cells) @ sums
        return sums, variance, lambda rng: np.zeros_like(sums)
    variance[1:-1] = split.bags.noise_variance
    consistent = consistency(passes, cells, categorical, variance, split.bags.counts)
    return consistent(sums), variance, lambda rng: consistent(np.sqrt(variance) * rng.standard_normal(len(sums)))


def _estimated(split: TrainSplit, passes: Passes, place: NDArray[np.int64], label_variance: float) -> CellSums:
    """The mean operator; `place` (n,) is that of each bag's rows, bag after bag, among the rows of the passes."""
    bags, p = split.bags, split.label_mean
    sizes = bags.sizes
    bag = np.repeat(np.arange(len(bags)), sizes)
    noise = np.zeros(len(bags)) if bags.noise_variance is None else bags.noise_variance

    def summed(values: Vector) -> Vector:
        by_row = np.zeros(len(passes.cells))
        np.add.at(by_row, place, values)
        return passes.sums(by_row)

    def draw(rng: np.random.Generator) -> Vector:
        own = np.sqrt(label_variance) * rng.standard_normal(len(bag))
        own -= own.mean()  # as p takes the mean of the labels with it
        others = np.add.reduceat(own, bags.offsets[:-1])
        others += np.sqrt(noise) * rng.standard_normal(len(bags))
        return summed(others[bag] - own)

    sums = summed((bags.label_sum - (sizes - 1) * p)[bag])
    return sums, summed(((sizes - 1) * label_variance + noise)[bag]), draw
