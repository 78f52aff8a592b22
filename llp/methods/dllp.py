"""DLLP: match each bag's mean prediction with its label proportion.

Ehsan Mohammady Ardehaly and Aron Culotta, "Co-training for demographic classification using deep learning from label
proportions", ICDM workshops 2017. As in the benchmark's code proportions are compared; `target: sum` compares label
sums, as its paper writes MSE and MAE, which weights a bag by k².
"""

from typing import Any, Literal

import torch
from torch import Tensor

from llp.data.batch import BagBatch
from llp.errors import invalid
from llp.methods.base import LLPMethod
from llp.ops.bce import bag_bce
from llp.ops.segment import segment_mean, segment_sum

Loss = Literal["bce", "mse", "mae"]
Target = Literal["proportion", "sum"]


def dllp_bce(scores: Tensor, batch: BagBatch) -> Tensor:
    """Mean of bce(α, h̄) over the bags, from raw scores z (n,): a scalar."""
    return bag_bce(scores, batch.segment, batch.size, batch.label_proportion).mean()


def residual(prediction: Tensor, batch: BagBatch, *, target: Target) -> Tensor:
    """h̄ - α (`proportion`) or ŷ - y (`sum`) of each bag (M,), from predictions h (n,)."""
    if target == "sum":
        return segment_sum(prediction, batch.segment, len(batch.size)) - batch.label_sum
    return segment_mean(prediction, batch.segment, batch.size) - batch.label_proportion


class DLLP(LLPMethod):
    """Cross-entropy, squared or absolute error of α and h̄ (`target` proportion), or y and ŷ (`sum`, not `bce`)."""

    def __init__(self, *, loss: Loss, target: Target, reduction: Literal["mean", "sum"], **shared: Any) -> None:
        super().__init__(**shared)
        if loss == "bce" and target == "sum":
            raise invalid("method.target", target, "proportion with method.loss=bce", "proportion")
        self.loss = loss
        self.target = target
        self.reduction = reduction

    def bag_loss(self, scores: Tensor, batch: BagBatch) -> Tensor:
        """See `LLPMethod.bag_loss`."""
        if self.loss == "bce":
            losses = bag_bce(scores, batch.segment, batch.size, batch.label_proportion)
        else:
            error = residual(self.predict(scores), batch, target=self.target)
            losses = error.abs() if self.loss == "mae" else torch.square(error)
        return losses.mean() if self.reduction == "mean" else losses.sum()
