"""Recalibration of a method by bags' sums: the offset of its log-odds by which those of the train bags are met."""

import logging
import math

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

STEPS, LONGEST, SMALLEST = 50, 1.0, 1e-9  # of Newton's method; lengths in log-odds


def offset_of(z: Tensor, segment: Tensor, bags: Bags) -> float:
    """The offset b of log-odds z (n,), instances of bags `segment` (n,), with the likeliest sums, by Fisher's scoring.

    Each sum is a count of k draws at its bag's mean prediction h̄: Σ (y - ŷ) ∂ŷ/∂b / (k h̄ (1 - h̄) + noise) = 0.
    """
    variance = np.zeros(len(bags)) if bags.noise_variance is None else bags.noise_variance
    size, label_sum, noise = (torch.from_numpy(one).to(z.device) for one in (bags.sizes, bags.label_sum, variance))
    offset = 0.0
    for _ in range(STEPS):
        h = torch.sigmoid(z.double() + offset)
        predicted, slope = (segment_sum(one, segment, len(bags)) for one in (h, h * (1 - h)))
        weight = slope / (predicted * (1 - predicted / size) + noise).clamp_min(1e-12)
        step = float((weight * (label_sum - predicted)).sum() / (weight * slope).sum())
        offset += min(max(step, -LONGEST), LONGEST)
        if abs(step) < SMALLEST:
            break
    return offset


def recalibrate(method: LLPMethod, data: LLPDataModule) -> None:
    """Change the offset of a method's `LabelStart` so that the train bags' sums are met; scores keep their order."""
    start = label_start_of(method.model)
    assert start is not None
    offset = offset_of(*score_bags(method, data, data.train_bags), data.train_bags)
    if not math.isfinite(offset):
        raise FloatingPointError(f"recalibration gives an offset of {offset}")
    start.offset.add_(offset / float(method.log_odds(torch.ones(()))))  # log-odds of a score of 1
    method.facts["recalibrated"] = {"offset": offset}
    log.info("recalibrated: offset %.3g of the log-odds", offset)
