"""The first layer of the benchmark's networks: a linear map of the multi-hot encoded instance."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from llp.optim.row_gradient import RowParameter, keep_current, sum_rows


class MultiHot(nn.Module):
    """Linear map of a multi-hot vector to D numbers, a sum of rows of a Glorot-uniform kernel, and of numbers."""

    offset: Tensor

    def __init__(self, *, vocab_sizes: Sequence[int], n_numeric: int, width: int, bias: bool) -> None:
        super().__init__()
        sizes = torch.tensor(vocab_sizes, dtype=torch.int64)
        self.register_buffer("offset", (torch.cumsum(sizes, 0) - sizes).to(torch.int32), persistent=False)
        self.weight = RowParameter(torch.empty(int(sizes.sum()), width))
        nn.init.xavier_uniform_(self.weight)
        keep_current(self)
        self.numeric = nn.Linear(n_numeric, width, bias=False) if n_numeric else None
        if self.numeric is not None:
            nn.init.xavier_uniform_(self.numeric.weight)
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None

    def forward(self, categorical: Tensor, numeric: Tensor) -> Tensor:
        """Map categorical (n, Fc) int32 and numeric (n, Fn) to (n, D)."""
        if not len(self.offset):  # a table of numbers alone
            total = numeric.new_zeros(numeric.shape[0], self.weight.shape[1])
        else:
            total = sum_rows(self.weight, categorical + self.offset)
        if self.numeric is not None:
            total += self.numeric(numeric)
        return total if self.bias is None else total.add_(self.bias)
