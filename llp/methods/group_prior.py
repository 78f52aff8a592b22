"""The floor line: predict a test instance by the label proportion of the train bag with its key value.

Without training or model; where a key value has no train bag, and for random or fixed-size bags, by the pooled mean.
"""

from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from llp.data.keys import FeatureKey
from llp.data.train_split import TrainSplit
from llp.methods.base import LLPMethod


class GroupPrior(LLPMethod):
    """The train bag's label proportion for the instance's key value, else the pooled label mean."""

    trains: ClassVar[bool] = False
    labels_as_given: ClassVar[bool] = True

    def __init__(self, **shared: Any) -> None:
        super().__init__(**shared)
        self._prior: dict[bytes, float] = {}
        self._columns: list[int] = []

    def take_train_split(self, split: TrainSplit) -> None:
        """Read the priors off the train bags."""
        super().take_train_split(split)
        if not isinstance(split.key, FeatureKey):
            return
        self._columns = [split.features.categorical_names.index(name) for name in split.key.options["columns"]]
        first_rows = split.bags.rows[split.bags.offsets[:-1]]
        values = np.ascontiguousarray(split.features.categorical[first_rows][:, self._columns])
        proportion = split.bags.label_sum / split.bags.sizes
        self._prior = dict(zip(map(bytes, values), proportion.tolist(), strict=True))

    def forward(self, categorical: Tensor, numeric: Tensor) -> Tensor:
        """Raw scores z (n,): logit of the prior (binary labels), or the prior (real labels)."""
        values = np.ascontiguousarray(categorical[:, self._columns].cpu().numpy())
        prior = torch.tensor([self._prior.get(bytes(value), self.label_mean) for value in values], dtype=torch.float64)
        scores = torch.logit(prior, eps=1e-7) if self.label_kind == "binary" else prior
        return scores.float().to(categorical.device)
