"""The floor line: predict a test instance by the label proportion of the train bag with its key value.

No training, no model. An instance whose key value has no train bag gets the pooled label mean p; random and
fixed-size bags say nothing about a single instance, so there every instance gets p (AUC 0.5 by definition).
"""

from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from llp.data.bags import Bags, GroupingKey
from llp.data.table import InstanceTable
from llp.methods.base import LLPMethod


def prior_table(table: InstanceTable, key: GroupingKey, bags: Bags) -> tuple[Tensor, Tensor]:
    """Key values (K, number of key columns; int32) of the train bags, and their label proportions α (K,)."""
    first_rows = bags.rows[bags.offsets[:-1]]
    columns = [table.categorical_names.index(name) for name in key.columns]
    values = np.ascontiguousarray(table.categorical[first_rows][:, columns])
    return torch.from_numpy(values), torch.from_numpy(bags.label_sum / bags.sizes)


class GroupPrior(LLPMethod):
    """The train bag's label proportion for the instance's key value, else the pooled label mean."""

    trains: ClassVar[bool] = False

    def __init__(self, **shared: Any) -> None:
        super().__init__(**shared)
        self._prior: dict[bytes, float] = {}
        self._columns: list[int] = []

    def setup(self, stage: str) -> None:
        """Read the priors off the train bags."""
        super().setup(stage)
        data = self.trainer.datamodule  # type: ignore[attr-defined]
        if data.key.kind != "feature":
            return
        values, proportion = prior_table(data.table, data.key, data.train_bags)
        self._columns = [data.table.categorical_names.index(name) for name in data.key.columns]
        self._prior = dict(zip(map(bytes, values.numpy()), proportion.tolist(), strict=True))

    def forward(self, categorical: Tensor, numeric: Tensor) -> Tensor:
        """Raw scores z (n,): logit of the prior (binary labels), or the prior (real labels)."""
        values = np.ascontiguousarray(categorical[:, self._columns].cpu().numpy())
        prior = torch.tensor([self._prior.get(bytes(value), self.label_mean) for value in values], dtype=torch.float64)
        scores = torch.logit(prior, eps=1e-7) if self.label_kind == "binary" else prior
        return scores.float().to(categorical.device)
