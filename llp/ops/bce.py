"""Binary cross-entropy from raw scores: of a bag's mean prediction, and of its instances with given labels."""

import torch
from torch import Tensor
from torch.nn import functional as F

from llp.ops.segment import segment_max, segment_mean, segment_sum, to_instances

CLIP = 1e-12
"""Of predictions in the log losses that aggregates give."""


def log_mean_sigmoid(scores: Tensor, segment: Tensor, size: Tensor) -> Tensor:
    """Log of the mean of sigmoid(z) over each bag: (M,), finite for every finite z (n,), as is its gradient."""
    log_sigmoid = F.logsigmoid(scores)
    highest = segment_max(log_sigmoid.detach(), segment, len(size))
    total = segment_sum(torch.exp(log_sigmoid - to_instances(highest, segment)), segment, len(size))
    return highest + torch.log(total) - torch.log(size.to(scores.dtype))


def bag_bce(scores: Tensor, segment: Tensor, size: Tensor, proportion: Tensor) -> Tensor:
    """Cross-entropy of each bag's label proportion α with its mean prediction h̄: (M,).

    -α log h̄ - (1 - α) log(1 - h̄), from raw scores z (n,): both logarithms are taken of sums of sigmoids in the
    log domain, so no prediction is clipped and the gradient never vanishes by saturation. An α outside [0, 1], of a
    noisy sum, is: the loss would have no least value.
    """
    proportion = proportion.clamp(0, 1)
    positive = log_mean_sigmoid(scores, segment, size)
    negative = log_mean_sigmoid(-scores, segment, size)
    return -(proportion * positive + (1 - proportion) * negative)


def bag_log_loss(proportion: Tensor, prediction: Tensor) -> Tensor:
    """Cross-entropy of label proportions α with mean predictions h̄, as a measure: (M,) float64.

    Predictions are clipped at `CLIP`, an α outside [0, 1], of a noisy sum, to it; NaN stays NaN.
    """
    # float32 cannot resolve 1 - h near 1, so compute in float64; the cross-entropy refuses NaN, on a GPU for good
    h = prediction.double().clamp(CLIP, 1 - CLIP)
    loss = F.binary_cross_entropy(h.nan_to_num(0.5), proportion.double().clamp(0, 1), reduction="none")
    return torch.where(h.isnan(), h, loss)


def mean_instance_bce(scores: Tensor, label: Tensor, segment: Tensor, size: Tensor) -> Tensor:
    """Mean over each bag's instances of the cross-entropy with given labels: (M,).

    `label` (n,) is the weight of the positive class, 1 - `label` that of the negative one; it may lie outside
    [0, 1]. From raw scores z (n,).
    """
    losses = F.binary_cross_entropy_with_logits(scores, label, reduction="none")
    return segment_mean(losses, segment, size)
