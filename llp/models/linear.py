"""A linear model on the multi-hot features."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from llp.models.multi_hot import MultiHot


class Linear(nn.Module):
    """Raw score ⟨x, θ⟩ of the multi-hot (and numeric) features, see `MultiHot`; with `bias` a constant is added."""

    def __init__(self, *, vocab_sizes: Sequence[int], n_numeric: int, bias: bool) -> None:
        super().__init__()
        self.first = MultiHot(vocab_sizes=vocab_sizes, n_numeric=n_numeric, width=1, bias=bias)

    def forward(self, categorical: Tensor, numeric: Tensor) -> Tensor:
        """Raw scores (n,) of categorical (n, Fc) int32 and numeric (n, Fn)."""
        out: Tensor = self.first(categorical, numeric).squeeze(-1)
        return out

    def score_of_mean(self, categorical: Tensor, numeric: Tensor) -> Tensor:
        """Raw score of a mean of instances: a scalar from their mean multi-hot (N,) and numeric (Fn,) vectors."""
        first = self.first
        score = categorical @ first.weight[:, 0]
        score = score if first.numeric is None else score + numeric @ first.numeric.weight[0]
        return score if first.bias is None else score + first.bias[0]

    def squared_norm(self) -> Tensor:
        """‖θ‖², the bias left out: a scalar."""
        kernels = [weight for name, weight in self.named_parameters() if not name.endswith("bias")]
        return torch.stack([torch.square(kernel).sum() for kernel in kernels]).sum()
