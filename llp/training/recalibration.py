"""Recalibration of a method by bags' sums: an offset that meets the train bags', a scale by the held-out bags'."""

import logging
import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from llp.data.bags import Bags
from llp.data.datamodule import LLPDataModule
from llp.methods.base import LLPMethod
from llp.models.label_start import label_start_of
from llp.ops.segment import segment_sum
from llp.training.evaluation import score_bags

log = logging.getLogger(__name__)

ENOUGH_BAGS = 20
"""From which on a scale is fitted beside the offset."""
STEPS, LONGEST, SMALLEST = 50, 1.0, 1e-9  # of Newton's method; lengths in log-odds, of scores one deviation apart


class SumsOfBags(NamedTuple):
    """K bags of n instances."""

    segment: Tensor  # (n,) the bag of each instance
    size: Tensor  # (K,)
    label_sum: Tensor  # (K,)
    noise: Tensor  # (K,) variance of the noise in the sum


class LogitMap(NamedTuple):
    """Scale and offset θ (2,) of log-odds, and the standard errors of those that were fitted."""

    theta: Tensor
    error: Tensor


def fitted(z: Tensor, bags: SumsOfBags, theta: Tensor, free: slice) -> LogitMap:
    """The maximum over some of θ = (scale, offset) of the bags' likelihood, from log-odds z (n,), by Fisher's scoring.

    Σ (y - ŷ) ∇ŷ / (k h̄ (1 - h̄) + noise) = 0; standard errors grow with residuals beyond what chance gives.
    """
    u, n_bags = torch.stack([z.double(), torch.ones_like(z.double())], dim=1), len(bags.size)
    for _ in range(STEPS):
        h = torch.sigmoid(u @ theta)
        predicted = segment_sum(h, bags.segment, n_bags)
        slope = segment_sum(u[:, free] * (h * (1 - h))[:, None], bags.segment, n_bags)
        weight = 1 / (predicted * (1 - predicted / bags.size) + bags.noise).clamp_min(1e-12)
        information = slope.T @ (weight[:, None] * slope)
        residual = bags.label_sum - predicted
        step = torch.linalg.pinv(information) @ (slope.T @ (weight * residual))
        theta = theta.clone()
        theta[free] += step.clamp(-LONGEST, LONGEST)
        if step.abs().max() < SMALLEST:
            break
    spread = float((weight * residual.square()).sum()) / max(1, n_bags - len(step))
    return LogitMap(theta, (torch.linalg.pinv(information).diagonal() * max(1.0, spread)).sqrt())


def scale_of(z: Tensor, bags: SumsOfBags) -> float:
    """The scale of log-odds z (n,) that untrained bags tell, drawn to 1 as far as it is uncertain.

    1 + (a - 1) (1 - s²/(a - 1)²), a the fitted one with error s; 1 where that changes sides or turns the order round.
    """
    if len(bags.size) < ENOUGH_BAGS or not z.std() > 0:
        return 1.0
    found = fitted(z, bags, torch.tensor([1.0, 0.0], dtype=torch.float64, device=z.device), slice(0, 2))
    beyond, error = float(found.theta[0]) - 1, float(found.error[0])
    scale = 1 + beyond - error**2 / beyond if abs(beyond) > error else 1.0
    return scale if 0 < scale < math.inf else 1.0


def offset_of(z: Tensor, bags: SumsOfBags, scale: float) -> float:
    """The offset of scale × log-odds z (n,) by which the bags' sums are met."""
    start = torch.tensor([scale, 0.0], dtype=torch.float64, device=z.device)
    return float(fitted(z, bags, start, slice(1, 2)).theta[1])


def _scores(method: LLPMethod, data: LLPDataModule, bags: Bags) -> tuple[Tensor, SumsOfBags]:
    z, segment = score_bags(method, data, bags)
    noise = np.zeros(len(bags)) if bags.noise_variance is None else bags.noise_variance
    size, label_sum, variance = (torch.from_numpy(one).to(z.device) for one in (bags.sizes, bags.label_sum, noise))
    return z, SumsOfBags(segment, size, label_sum, variance)


def held_out_scale(method: LLPMethod, data: LLPDataModule) -> float:
    """See `scale_of`: by the held-out bags, 1 where none are."""
    return scale_of(*_scores(method, data, data.held_out_bags)) if len(data.held_out_bags) else 1.0


def recalibrate(method: LLPMethod, data: LLPDataModule, scale: float) -> None:
    """Change a method's `LabelStart` by a scale, and an offset by which the train bags' sums are met."""
    start = label_start_of(method.model)
    assert start is not None
    offset = offset_of(*_scores(method, data, data.train_bags), scale)
    if not math.isfinite(offset):
        raise FloatingPointError(f"recalibration gives an offset of {offset}")
    start.offset.mul_(scale).add_(offset / float(method.log_odds(torch.ones(()))))  # log-odds of a score of 1
    start.scale.mul_(scale)
    method.facts["recalibrated"] = {"scale": scale, "offset": offset}
    log.info("recalibrated: scale %.3g, offset %.3g of the log-odds", scale, offset)
