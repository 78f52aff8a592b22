"""Easy-LLP: unbiased surrogate labels for single instances.

Robert Istvan Busa-Fekete et al., "Easy learning from label proportions", NeurIPS 2023, Definition 3.4. The loss
(k(α-p)+p) ℓ(h, 1) + (k(p-α)+1-p) ℓ(h, 0) of an instance of a bag of k has the expectation of the supervised loss.
`bag_mean` takes its mean over the bag, which has the same expectation as `single`, one drawn instance, and far less
variance; the benchmark's authors' code draws one.

One of the two weights is negative in most bags, which leaves the loss unbounded below. What holds it in the authors'
code is the clip of the predictions at 1e-7: beyond it the gradient is zero. It is part of the method here too.
"""

import math
from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from torch import Tensor

from llp.data.batch import BagBatch
from llp.methods.base import LLPMethod
from llp.ops.bce import mean_instance_bce
from llp.ops.debiasing import surrogate_label
from llp.ops.segment import to_instances

Estimator = Literal["bag_mean", "single"]


def drawn_instances(uniform: Tensor, size: Tensor) -> Tensor:
    """Position in the minibatch of one instance per bag (M,), from draws (M,) in [0, 1)."""
    inside = (uniform.double() * size).long().minimum(size - 1)
    return torch.cumsum(size, 0) - size + inside


class EasyLLP(LLPMethod):
    """Cross-entropy with surrogate labels, summed over the bags: the mean over a bag, or one instance (`single`).

    Predictions are clamped to [clip, 1 - clip] inside the logarithms, with no gradient outside; None: not.
    """

    def __init__(
        self, *, estimator: Estimator, clip: Annotated[float, Field(gt=0, lt=0.5)] | None, **shared: Any
    ) -> None:
        super().__init__(**shared)
        self.estimator: Estimator = estimator
        self.bound = math.inf if clip is None else math.log(1 - clip) - math.log(clip)  # of the raw scores

    def bag_loss(self, scores: Tensor, batch: BagBatch) -> Tensor:
        """See `LLPMethod.bag_loss`."""
        label = surrogate_label(batch.label_proportion, batch.size, self.label_mean).to(scores.dtype)
        z, segment, size = scores, batch.segment, batch.size
        if self.estimator == "single":
            generator = self.generator("drawn instances")
            drawn = drawn_instances(torch.rand(len(size), generator=generator, device=z.device), size)
            z, segment, size = z[drawn], segment[drawn], torch.ones_like(size)
        z = z.clamp(-self.bound, self.bound)
        return mean_instance_bce(z, to_instances(label, segment), segment, size).sum()
