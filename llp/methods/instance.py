"""The supervised reference line: ordinary training on instance labels, which no LLP method sees."""

from typing import Any, ClassVar, Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from llp.data.batch import InstanceBatch
from llp.methods.base import LLPMethod


class InstanceMethod(LLPMethod):
    """Supervised training on single labelled instances, by cross-entropy (binary labels) or squared error."""

    sees_instance_labels: ClassVar[bool] = True

    def __init__(self, *, loss: Literal["bce", "mse"], **shared: Any) -> None:
        super().__init__(**shared)
        self.loss: Literal["bce", "mse"] = loss

    def bag_loss(self, scores: Tensor, batch: Any) -> Tensor:
        """Mean loss of a minibatch of labelled instances."""
        return self.held_out_loss(scores, batch).mean()

    def held_out_loss(self, scores: Tensor, batch: InstanceBatch) -> Tensor:
        """Loss of each instance (n,): the training loss itself."""
        if self.loss == "bce":
            return F.binary_cross_entropy_with_logits(scores, batch.label, reduction="none")
        return torch.square(self.predict(scores) - batch.label)
