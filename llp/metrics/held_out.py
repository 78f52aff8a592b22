"""Estimates of the instances' loss from held-out bags' sums; unbiased where a bag's instances are independent draws."""

from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from llp.data.batch import BagBatch
from llp.data.table import LabelKind
from llp.ops.debiasing import debiased_estimates, surrogate_label
from llp.ops.segment import segment_sum

Criterion = Literal["upm", "debiased", "easy_llp"]

LEAST_BAGS = 3
"""Held-out bags from which on every estimate is defined."""


class HeldOutBags(NamedTuple):
    """Sums over each of K held-out bags, float64."""

    size: Tensor  # (K,)
    label_sum: Tensor  # (K,), Σ y
    prediction_sum: Tensor  # (K,), Σ h
    loss_sum: Tensor  # (K, 2), sum of -log P of the classes 0 and 1; zeros for real labels

    @classmethod
    def of(cls, log_odds: Tensor, batch: BagBatch, label_kind: LabelKind) -> "HeldOutBags":
        """Those of a minibatch from its log-odds (binary labels) or predictions (real labels) (n,)."""
        z = log_odds.double()
        both = torch.stack([F.softplus(z), F.softplus(-z)], dim=1)
        prediction, losses = (torch.sigmoid(z), both) if label_kind == "binary" else (z, torch.zeros_like(both))
        n_bags = len(batch.size)
        return cls(
            batch.size.double(),
            batch.label_sum.double(),
            segment_sum(prediction, batch.segment, n_bags),
            segment_sum(losses, batch.segment, n_bags),
        )

    @classmethod
    def joined(cls, parts: "list[HeldOutBags]") -> "HeldOutBags":
        """All bags of several minibatches."""
        return cls(*(torch.cat(values) for values in zip(*parts, strict=True)))


def criteria(bags: HeldOutBags, *, label_mean: float, label_kind: LabelKind) -> dict[Criterion, float]:
    """Every estimate that the kind of label has, by its name; none with fewer than `LEAST_BAGS`, which define none."""
    if len(bags.size) < LEAST_BAGS:
        return {}
    estimates: dict[Criterion, Tensor] = {"upm": upm(bags)}
    if label_kind == "binary":
        estimates["debiased"] = debiased(bags, label_mean=label_mean)
        estimates["easy_llp"] = easy_llp(bags, label_mean=label_mean)
    return {name: float(value) for name, value in estimates.items()}


def upm(bags: HeldOutBags) -> Tensor:
    """Instances' squared error: mean of k (d + δ)² + δ² over the bags, d = α - h̄ and δ = -E[d] from the others.

    Busa-Fekete et al. (arXiv 2505.05355), with δ² the mean product of two different bags' estimates: δ's own square
    would be too high.
    """
    d, weight = (bags.label_sum - bags.prediction_sum) / bags.size, bags.size
    others = weight.sum() - weight
    first = (weight * d).sum() - weight * d  # Σ w d over the other bags
    second = (weight * d).square().sum() - (weight * d).square()
    pairs = others.square() - (weight.square().sum() - weight.square())  # Σ w w' over pairs of different bags
    delta, delta_squared = -first / others, (first.square() - second) / pairs
    return (bags.size * (d.square() + 2 * d * delta + delta_squared) + delta_squared).mean()


def debiased(bags: HeldOutBags, *, label_mean: float) -> Tensor:
    """Instances' cross-entropy: the mean of `debiased_estimates`, each bag centred by the others."""
    total, n = bags.loss_sum.sum(dim=0), bags.size.sum()
    centre = (total - bags.loss_sum) / (n - bags.size)[:, None]
    estimates = debiased_estimates(
        bags.loss_sum, bags.size, bags.label_sum, label_mean=label_mean, centre=centre, mean_loss=total / n
    )
    return estimates.mean()


def easy_llp(bags: HeldOutBags, *, label_mean: float) -> Tensor:
    """Instances' cross-entropy: the bags' mean loss with Easy-LLP's surrogate labels."""
    label = surrogate_label(bags.label_sum / bags.size, bags.size, label_mean)
    negative, positive = (bags.loss_sum / bags.size[:, None]).unbind(dim=1)
    return (label * positive + (1 - label) * negative).mean()
