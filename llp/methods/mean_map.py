"""Mean-Map: a linear model whose only use of the labels is the mean operator.

Novi Quadrianto et al., "Estimating labels from label proportions", JMLR 2009, Algorithm 1. The bags' mean vectors
and proportions give an estimate μ_XY of E[y x], y = ±1, and θ minimises the negative log-likelihood
Σ_i log(e^{f_i} + e^{-f_i}) - n <μ_XY, θ> + l2 ‖θ‖² with f_i = <x_i, θ>. So P(y = 1 | x) = sigmoid(2f).
With a bias in the model μ_XY passes through it as well, as in the benchmark's authors' code, which drives it up.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import NonNegativeFloat
from torch import Tensor

from llp.data.bags import Bags
from llp.data.batch import BagBatch
from llp.data.table_writer import CHUNK_ROWS
from llp.data.train_split import Features, TrainSplit
from llp.errors import InputError
from llp.methods.base import LLPMethod
from llp.models.linear import Linear


def bag_coefficients(proportion: NDArray[np.float64], label_mean: float) -> NDArray[np.float64]:
    """Coefficients (K) with which the bags' mean vectors add up to μ_XY = p μ_+ - (1-p) μ_-.

    (μ_-, μ_+) = (πᵀπ)⁻¹ πᵀ μ_set with π = (1-α, α), the least-squares fit of the bags' mean vectors; InputError where
    the α (K) do not differ, so that πᵀπ is singular.
    """
    pi = np.stack([1 - proportion, proportion], axis=1)
    gram = pi.T @ pi
    if np.linalg.cond(gram) > 1e12:
        raise InputError(
            f"mean_map solves for the classes' mean vectors from bags of different label proportions, but all "
            f"{len(proportion)} bags have about {proportion[0]:g}; take another grouping_key"
        )
    of_negative, of_positive = np.linalg.solve(gram, pi.T)
    coefficients: NDArray[np.float64] = label_mean * of_positive - (1 - label_mean) * of_negative
    return coefficients


def mean_operator(
    features: Features, bags: Bags, coefficients: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Σ_B c_B times the bag's mean vector, in one pass over the memory map: an estimate of E[y x], y = ±1.

    Its multi-hot part (N,), a position for each (column, code), columns in table order, and its numeric one (Fn,).
    """
    weight = np.zeros(features.n_rows)  # of each row: what its bag gives to one of its instances
    weight[bags.rows] = np.repeat(coefficients / bags.sizes, bags.sizes)
    sums = [np.zeros(size) for size in features.vocab_sizes]
    numeric = np.zeros(features.n_numeric)
    for start in range(0, features.n_rows, CHUNK_ROWS):
        chunk = slice(start, start + CHUNK_ROWS)
        for total, codes in zip(sums, np.ascontiguousarray(features.categorical[chunk].T), strict=True):
            total += np.bincount(codes, weight[chunk], minlength=len(total))
        numeric += weight[chunk] @ features.numeric[chunk]
    return np.concatenate(sums), numeric


def mean_map_loss(scores: Tensor, mean_score: Tensor) -> Tensor:
    """Σ_i log(e^{f_i} + e^{-f_i}) - n <μ_XY, θ>: a scalar from scores f (n,) and the score of μ_XY."""
    return torch.logaddexp(scores, -scores).sum() - len(scores) * mean_score


class MeanMap(LLPMethod):
    """Negative log-likelihood of a linear model given the mean operator of the train bags; `l2`: weight of ‖θ‖²."""

    model: Linear
    mean_categorical: Tensor
    mean_numeric: Tensor

    def __init__(self, *, l2: NonNegativeFloat, **shared: Any) -> None:
        super().__init__(**shared)
        if not isinstance(self.model, Linear):
            raise InputError(f"mean_map is defined for model=linear, not for {type(self.model).__name__}")
        self.l2 = l2
        for name in ("mean_categorical", "mean_numeric"):  # what they hold comes with the train split
            self.register_buffer(name, torch.zeros(0), persistent=False)

    def take_train_split(self, split: TrainSplit) -> None:
        """Estimate the mean operator from the train bags."""
        super().take_train_split(split)
        coefficients = bag_coefficients(split.bags.label_sum / split.bags.sizes, split.label_mean)
        means = mean_operator(split.features, split.bags, coefficients)
        dtype = self.model.first.weight.dtype
        self.mean_categorical, self.mean_numeric = (torch.from_numpy(mean).to(dtype) for mean in means)

    def log_odds(self, scores: Tensor) -> Tensor:
        """Twice the score: the exponential family has P(y | x) ∝ exp(y f) with y = ±1."""
        return 2 * scores

    def score_of(self, prediction: float) -> float:
        """Half the log-odds."""
        return super().score_of(prediction) / 2

    def bag_loss(self, scores: Tensor, batch: BagBatch) -> Tensor:
        """See `LLPMethod.bag_loss`."""
        mean_score = self.model.score_of_mean(self.mean_categorical, self.mean_numeric)  # <μ_XY, θ>
        loss = mean_map_loss(scores, mean_score)
        return loss + self.l2 * self.model.squared_norm() if self.l2 else loss
