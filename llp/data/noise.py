"""Label-private aggregates: noise on each train bag's label sum, so that the sums tell little of any one label.

The Laplace and the Gaussian mechanism of Cynthia Dwork and Aaron Roth, "The algorithmic foundations of differential
privacy", 2014, Theorems 3.6 and A.1. Neighbours differ in the label of one instance. An instance is in one bag, so all
sums together are as private as one: (ε, δ). Whatever is computed from them, a training, a choice of epoch, is too.
This is for the study of what noise costs: the draws are floating-point numbers of a seeded generator, as no report that
has to protect anybody may use them.
"""

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from llp.data.bags import Bags
from llp.data.table import InstanceTable
from llp.errors import invalid
from llp.seeding import keyed_seed


@dataclass(frozen=True)
class Noise:
    """A mechanism and what it promises.

    Attributes
    ----------
    mechanism : {'laplace', 'gaussian'}
        The law of the noise.
    epsilon, delta : float
        A change of one label changes the probability of any report by a factor e^ε at most, but for δ.
    sensitivity : float
        What one label can change its bag's sum by.
    seed : int
        Of the draws.
    """

    mechanism: Literal["laplace", "gaussian"]
    epsilon: float
    delta: float
    sensitivity: float
    seed: int

    @property
    def scale(self) -> float:
        """Laplace: the mean absolute value of the noise; Gaussian: its standard deviation."""
        scale = self.sensitivity / self.epsilon
        return scale if self.mechanism == "laplace" else scale * math.sqrt(2 * math.log(1.25 / self.delta))

    def draw(self, n: int, fold: int) -> NDArray[np.float64]:
        """Noise (n,) of the sums of a fold's train bags."""
        rng = np.random.default_rng(keyed_seed(self.seed, "noise on label sums", fold))
        return rng.laplace(0, self.scale, n) if self.mechanism == "laplace" else rng.normal(0, self.scale, n)


def with_noise(bags: Bags, noise: Noise, fold: int) -> Bags:
    """The same bags with noisy label sums, used as they come: below 0 or above the bag's size too."""
    return replace(bags, label_sum=bags.label_sum + noise.draw(len(bags), fold))


def check_sensitivity(table: InstanceTable, noise: Noise) -> None:
    """Refuse a sensitivity below what a label can change a sum by.

    Raises
    ------
    InputError
        The labels' range is wider, or nobody can tell it.
    """
    if table.label_kind == "binary":
        if noise.sensitivity < 1:
            raise invalid("noise.sensitivity", noise.sensitivity, "1 or more, what a label of 0 or 1 can change", 1.0)
    elif not table.schema.aggregates_only:  # else the range is the user's to know
        width = float(np.ptp(table.label))
        if width > noise.sensitivity:
            expected = f"the range of the labels of {table.folder.name} or more, {width:g}"
            raise invalid("noise.sensitivity", noise.sensitivity, expected, math.ceil(width))
