"""What a fit on cells is given: the train bags of any kind as sums over cells, and the noise in these sums.

A report's bags are its cells, and so are feature bags, of one query. Of other bags the cells' sums are estimated: a row
i of a bag b of k rows stands for the label S_b − (k − 1)p, whose mean is the row's own as far as a bag's rows are drawn
apart from each other (the mean operator of R. Nock and G. Patrini, 2014, up to a factor): what the other rows' labels
scatter is noise.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from llp.data.cells import Cells
from llp.data.label_unit import LabelUnit
from llp.data.train_split import TrainSplit
from llp.reports.consistency import Consistency, total
from llp.reports.families import GAUSSIAN, LOGISTIC
from llp.reports.glm import Design
from llp.reports.margins import Margins
from llp.reports.passes import Passes, Vector
from llp.reports.penalty import SumNoise

RAREST = 1e-4
"""Least share of either label, for the variance of one."""


@dataclass(frozen=True)
class Problem:
    """Sums over cells, and what they are fitted on.

    Attributes
    ----------
    design : Design
        The train rows.
    sums : ndarray
        (P + 2,) c: the intercept's, the cells', 0.
    noise : SumNoise
        In them.
    """

    design: Design
    sums: Vector
    noise: SumNoise


def problem_of(split: TrainSplit, cells: Cells, *, binary: bool, threads: int) -> Problem:
    """The problem of a train split.

    Parameters
    ----------
    split : TrainSplit
        Its bags.
    cells : Cells
        The P cells: the bags themselves, where these have them, else those whose sums are estimated.
    binary : bool
        Kind of the labels; a real label's variance is taken from the bags' sums.
    threads : int
        For the passes.
    """
    rows = split.bags.instances
    categorical = split.features.categorical[rows]
    passes = Passes(cells.of_rows(categorical), len(cells), threads)
    weight = np.ones(len(rows))
    margins = Margins(cells, categorical, weight)
    design = Design(passes, LOGISTIC if binary else GAUSSIAN, weight, np.zeros(len(rows)), margins)
    p = min(max(split.label_mean, RAREST), 1 - RAREST)  # of noisy sums it may lie outside
    label_variance = p * (1 - p) if binary else LabelUnit.of(split.bags).scale ** 2
    if split.bags.cells is cells:
        sums, variance, draw = _published(split, passes, cells, categorical)
    else:
        sums, variance, draw = _estimated(split, passes, np.searchsorted(rows, split.bags.rows), label_variance)
    ratio = variance / np.maximum(passes.sums(design.weight) * label_variance, 1e-9)
    ratio[[0, -1]] = 0
    return Problem(design, sums, SumNoise(ratio, draw))


CellSums = tuple[Vector, Vector, Callable[[np.random.Generator], Vector]]
"""Sums c (P + 2,), the variance of the noise in each, and draws of it."""


def _published(split: TrainSplit, passes: Passes, cells: Cells, categorical: NDArray[np.int32]) -> CellSums:
    """The bags' own sums, made consistent where they are noisy; the intercept's from queries that hold every row."""
    sums, variance = np.zeros((2, len(cells) + 2))
    sums[1:-1] = split.bags.label_sum
    if split.bags.noise_variance is None or not split.bags.noise_variance.any():
        sums[0] = total(passes, cells) @ sums
        return sums, variance, lambda rng: np.zeros_like(sums)
    variance[1:-1] = split.bags.noise_variance
    consistent = Consistency(passes, cells, categorical, variance)
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
