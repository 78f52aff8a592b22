"""Label-private aggregates: noise on each train bag's label sum, so that the sums tell little of any one label.

The Laplace mechanism of Cynthia Dwork and Aaron Roth, "The algorithmic foundations of differential privacy", 2014,
Theorem 3.6, and the analytic Gaussian one of Borja Balle and Yu-Xiang Wang, "Improving the Gaussian mechanism for
differential privacy", ICML 2018, Theorem 8.
Neighbours differ in the label of one instance, or in an instance. Where it is in m bags, its label moves m sums: by m
times what it moves one in the L1 norm, √m times in the L2 norm; an instance that another one replaces moves 2 m. The
noise is scaled to that, so all sums together are (ε, δ)-private. Whatever is computed from them, a training, a choice
of epoch, is too. Randomised response (Stanley Warner, 1965) spends the same ε on the labels themselves: each is flipped
at a rate of π = 1/(1 + e^ε), and (ỹ − π)/(1 − 2π) has the label as its mean.
This is for the study of what noise costs: the draws are floating-point numbers of a seeded generator, as no report that
has to protect anybody may use them.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from llp.data.bags import Bags, make_bags
from llp.data.keys import GroupingKey
from llp.data.table import InstanceTable
from llp.errors import invalid
from llp.seeding import keyed_seed

LARGEST_SCALE = 1e36
"""Of noise on label sums: what is drawn with it is a finite float32."""
LEAST_EPSILON = 1e-6
"""Of other mechanisms than Laplace's: below it, the condition of the analytic one drowns in rounding."""
LEAST_SHARE = 1e-6
"""Of a query in the promise: the noise of a lesser one fits into no number."""
Mechanism = Literal["laplace", "analytic_gaussian", "randomised_response"]
Neighbours = Literal["label", "row", "replace"]
_PUBLIC = "for the label sums alone, as features, bags and their sizes are taken as public"
NEIGHBOURS = {
    "label": "the same instances in the same bags with the same features, of which one has another label",
    "row": f"the same instances and one more or less, {_PUBLIC}",
    "replace": f"the same instances, of which one is replaced by another, {_PUBLIC}",
}
CAVEAT = (
    "Features and counts are taken as public. A person with several rows is not covered: epsilon grows with the rows. "
    "Seeded floating-point draws: for study, not for release."
)


@dataclass(frozen=True)
class Noise:
    """A mechanism and what it promises."""

    mechanism: Mechanism
    epsilon: float  # neighbouring data change the probability of all sums together by a factor e^ε at most
    delta: float  # but for this
    sensitivity: float  # what one label, or instance, can change the sum of one bag by
    seed: int  # of the draws
    neighbours: Neighbours = "label"  # which data are neighbours: see `NEIGHBOURS`
    shares: Mapping[str, float] | None = None  # of the promise, by the name of a report's query; None: all alike
    bags_of_a_row: int = 1  # the most bags that one instance is in

    @property
    def flips(self) -> bool:
        """Whether labels are flipped, and sums hold their noise."""
        return self.mechanism == "randomised_response"

    @property
    def flip_rate(self) -> float:
        """π, at which randomised response flips a label."""
        return 1 / (1 + math.exp(min(self.epsilon, 700)))

    @property
    def sensitivity_of_all(self) -> float:
        """What neighbours change all sums together by: the L1 norm for Laplace, the L2 norm for Gaussian noise."""
        if self.flips:  # of each label by itself, whatever is summed of them
            return self.sensitivity
        m = self.bags_of_a_row * (2 if self.neighbours == "replace" else 1)
        return self.sensitivity * (m if self.mechanism == "laplace" else math.sqrt(m))

    @property
    def scale(self) -> float:
        """Laplace: the mean absolute value of the noise; Gaussian and, of each label, flips: its standard deviation."""
        if self.flips:
            return math.sqrt(self.flip_rate * (1 - self.flip_rate)) / (1 - 2 * self.flip_rate)
        if self.mechanism == "analytic_gaussian":
            return _analytic_scale(self.sensitivity_of_all, self.epsilon, self.delta)
        return self.sensitivity_of_all / self.epsilon

    @property
    def variance(self) -> float:
        """Of the noise on each sum; of flips, on each label."""
        return float(self.scale**2 * (2 if self.mechanism == "laplace" else 1))

    def __str__(self) -> str:
        delta = f" and delta={self.delta:g}" if self.delta else ""
        if self.flips:
            return f"labels flipped at a rate of {self.flip_rate:.4g} promise epsilon={self.epsilon:g} of each of them"
        promised = f"promises epsilon={self.epsilon:g}{delta} of all sums together"
        return (
            f"{self.mechanism} noise of scale {self.scale:g} {promised}, a row being in {self.bags_of_a_row} at most: "
            f"neighbours ({NEIGHBOURS[self.neighbours]}) change their probability by e^{self.epsilon:g} at most"
            f"{' (but for delta)' if self.delta else ''}"
        )

    def draw(self, n: int, fold: int) -> NDArray[np.float64]:
        """Noise (n,) of the sums of a fold's train bags."""
        rng = self._generator(fold)
        return rng.laplace(0, self.scale, n) if self.mechanism == "laplace" else rng.normal(0, self.scale, n)

    def flipped(self, label: NDArray[np.float32], fold: int) -> NDArray[np.float32]:
        """Labels (N,) of 0 and 1 of a fold's train rows, each flipped at a rate of π."""
        return np.where(self._generator(fold).random(len(label)) < self.flip_rate, 1 - label, label)

    def _generator(self, fold: int) -> np.random.Generator:
        return np.random.default_rng(keyed_seed(self.seed, "noise on label sums", fold))


def _analytic_scale(sensitivity: float, epsilon: float, delta: float) -> float:
    """The least σ with Φ(Δ/2σ − εσ/Δ) − e^ε Φ(−Δ/2σ − εσ/Δ) ≤ δ, by bisection; Δ is the L2 sensitivity."""
    from scipy.special import log_ndtr, ndtr  # takes longer to import than a finished run to be skipped

    def fits(sigma: float) -> bool:  # in units of Δ
        least = ndtr(1 / (2 * sigma) - epsilon * sigma)
        least -= math.exp(min(0, epsilon + log_ndtr(-1 / (2 * sigma) - epsilon * sigma)))
        return bool(least <= delta)

    low, high = 0.0, 1.0
    while not fits(high):
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if fits(middle) else (middle, high)
    return sensitivity * high


@dataclass(frozen=True)
class Promise:
    """What the noise in a run's sums promises, for its record.

    `quieter` is the share of the rows' places in bags whose sums hold less noise than flips of their labels at the same
    epsilon would leave: for small ε those of more than 2 m² rows with Laplace noise, of m (ε σ)² with Gaussian noise
    that has a deviation of σ at m = 1.
    """

    mechanism: Mechanism
    epsilon: float  # see `Noise`: of all sums together
    delta: float
    sensitivity: float  # what neighbours change all sums together by; see `Noise.sensitivity_of_all`
    bags_of_a_row: int  # the most bags that one instance is in
    scale: float  # of the noise on each sum; with `shares`, of queries that have a share as all others
    neighbours: str  # which data the promise tells apart no further than that
    sums_outside: int  # sums of train bags that labels of 0 and 1 cannot have
    quieter: float | None = None  # None of stated noise

    @classmethod
    def of(cls, noise: Noise, bags: Bags, sums_outside: int) -> "Promise":
        """That of noise in the sums of bags."""
        quieter, flips = None, replace(noise, mechanism="randomised_response")
        if bags.noise_variance is not None and noise.epsilon >= LEAST_EPSILON:
            quieter = float(bags.sizes @ (bags.noise_variance < bags.sizes * flips.variance)) / len(bags.rows)
        return cls(
            noise.mechanism, noise.epsilon, noise.delta, noise.sensitivity_of_all, noise.bags_of_a_row, noise.scale,
            NEIGHBOURS[noise.neighbours], sums_outside, quieter,
        )  # fmt: skip


def noise_of(added: Noise | None, table: InstanceTable, key: GroupingKey, train: Bags | None = None) -> Noise | None:
    """The noise that a run adds (`conf/noise`), else what its given bags' `epsilon=` tells of theirs; None without.

    Stated noise of scale 1/ε in each sum promises m ε for all sums together, where a row is in m bags. Where another
    label alone makes neighbours, m is that of the train bags' own rows: fewer than a report's queries where those
    publish few cells.
    """
    most = key.most_bags_of_a_row(table)
    if added is not None:
        if train is not None and train.cells is not None and added.neighbours == "label":
            most = int(np.bincount(train.rows).max())
        return replace(added, bags_of_a_row=most)
    stated = table.schema.facts.get("epsilon") if table.schema.aggregates_only else None
    if stated is None or table.label_kind != "binary":  # what a real label changes is not known
        return None
    return Noise("laplace", most * stated, 0.0, 1.0, 0, bags_of_a_row=most)


def with_noise(bags: Bags, noise: Noise, fold: int, shares: NDArray[np.float64] | None = None) -> Bags:
    """The same bags with noisy label sums, used as they come: below 0 or above the bag's size too.

    With shares s (Q,) Laplace noise has the scale Δ/(ε s), and Gaussian noise σ/√s, of one query's Δ or σ: the queries'
    ε s add up to ε, and their s/σ² to 1/σ².
    """
    drawn, variance = noise.draw(len(bags), fold), np.full(len(bags), noise.variance)
    if shares is not None and bags.cells is not None:
        relative = noise.bags_of_a_row * shares[bags.cells.query_of]  # to equal ones
        times = relative ** (-1 if noise.mechanism == "laplace" else -0.5)
        drawn, variance = times * drawn, times**2 * variance
    stated = 0.0 if bags.noise_variance is None else bags.noise_variance  # what the sums came with
    return replace(bags, label_sum=bags.label_sum + drawn, noise_variance=variance + stated)


def with_flips(table: InstanceTable, bags: Bags, noise: Noise, fold: int) -> tuple[InstanceTable, Bags]:
    """The table with its train rows' labels flipped, and the bags with what that makes of their sums: unbiased ones."""
    label = np.array(table.label)
    label[bags.rows] = noise.flipped(label, fold)[bags.rows]
    flipped = make_bags(bags.rows, bags.offsets, label).label_sum
    sums = (flipped - bags.sizes * noise.flip_rate) / (1 - 2 * noise.flip_rate)
    return table.relabelled(label), replace(
        bags, label_sum=sums, noise_variance=noise.variance * bags.sizes.astype(np.float64)
    )


def check_sensitivity(table: InstanceTable, noise: Noise) -> None:
    """Refuse a sensitivity below what neighbours can change a sum by, and noise that no float32 holds."""
    if noise.sensitivity_of_all / noise.epsilon > LARGEST_SCALE:
        least = noise.sensitivity_of_all / LARGEST_SCALE
        expected = f"a number >= {least:g}, as the noise on a sum has to fit into 32 bits"
        raise invalid("noise.epsilon", noise.epsilon, expected, 0.1)
    if table.label_kind == "binary":
        if noise.sensitivity < 1:
            raise invalid("noise.sensitivity", noise.sensitivity, "1 or more, what a label of 0 or 1 can change", 1.0)
    elif not table.schema.aggregates_only:  # else the range is the user's to know
        # a label moves a sum within the labels' range; a row by its label; one replaced, in the same bag, by the range
        of_row, of_label = float(np.abs(table.label).max()), float(np.ptp(table.label))
        least = {"label": of_label, "row": of_row, "replace": max(of_row, of_label)}[noise.neighbours]
        if least > noise.sensitivity:
            what = "range" if least == of_label else "largest absolute value"
            expected = f"the {what} of the labels of {table.folder.name} or more, {least:g}"
            raise invalid("noise.sensitivity", noise.sensitivity, expected, math.ceil(least))
