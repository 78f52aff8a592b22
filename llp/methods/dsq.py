"""DSQ: the debiased square loss, which estimates the instances' squared error from bags.

Gene Li, Lin Chen, Adel Javanmard and Vahab Mirrokni, "Optimistic rates for learning from label proportions", COLT 2024
(arXiv 2406.00487). The square loss of bags of k exceeds the instances' squared error by (k - 1)(E[h] - p)²; DSQ
subtracts that.
"""

from typing import Annotated, Any

import torch
from pydantic import Field
from torch import Tensor

from llp.data.batch import BagBatch
from llp.methods.base import LLPMethod
from llp.ops.segment import mean_over_instances, segment_mean


def dsq(prediction: Tensor, batch: BagBatch, *, label_mean: float, mean_prediction: Tensor) -> Tensor:
    """mean_B k(α - h̄)² - mean_B (k - 1)(E[h] - p)²: a scalar from predictions h (n,).

    With the population's E[h] its expectation over random bags is E[(Y - h)²]; the mean over the n instances of
    the minibatch in its place makes it too low by mean(k - 1) Var(h) / n.
    """
    size = batch.size.to(prediction.dtype)
    error = segment_mean(prediction, batch.segment, batch.size) - batch.label_proportion
    return (size * error.square()).mean() - (size - 1).mean() * (mean_prediction - label_mean).square()


def moving_mean(previous: Tensor, current: Tensor, *, decay: float) -> Tensor:
    """Move the average `previous` towards `current` (scalars); the first one (`previous` is NaN) is `current`."""
    return torch.where(previous.isnan(), current, decay * previous + (1 - decay) * current)


class DSQ(LLPMethod):
    """Debiased square loss with a moving average of the mean prediction.

    `decay` is the share of the past, a constant, in the moving average; 0 uses the minibatch alone.
    """

    mean_prediction: Tensor
    next_mean: Tensor

    def __init__(self, *, decay: Annotated[float, Field(ge=0, lt=1)], **shared: Any) -> None:
        super().__init__(**shared)
        self.decay = decay
        self.register_buffer("mean_prediction", torch.tensor(float("nan")))
        self.register_buffer("next_mean", torch.tensor(float("nan")), persistent=False)

    def bag_loss(self, scores: Tensor, batch: BagBatch) -> Tensor:
        """See `LLPMethod.bag_loss`."""
        prediction = self.predict(scores)
        current = mean_over_instances(prediction, batch.segment, batch.size)
        mean = moving_mean(self.mean_prediction, current, decay=self.decay)
        self.next_mean.copy_(mean.detach())
        return dsq(prediction, batch, label_mean=self.label_mean, mean_prediction=mean)

    def after_step(self) -> None:
        """Move the average once the step is done, so that the loss of a step depends on nothing it changes."""
        self.mean_prediction.copy_(self.next_mean)
