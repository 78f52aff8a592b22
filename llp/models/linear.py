"""A linear model on the multi-hot features."""

from collections.abc import Sequence

from torch import Tensor, nn

from llp.models.multi_hot import MultiHot


class Linear(nn.Module):
    """Raw score ⟨x, θ⟩ of the multi-hot (and numeric) features.

    Parameters
    ----------
    vocab_sizes, n_numeric
        The table's columns, see `MultiHot`.
    bias : bool
        Whether a constant is added.
    """

    def __init__(self, *, vocab_sizes: Sequence[int], n_numeric: int, bias: bool) -> None:
        super().__init__()
        self.first = MultiHot(vocab_sizes=vocab_sizes, n_numeric=n_numeric, width=1, bias=bias)

    def forward(self, categorical: Tensor, numeric: Tensor) -> Tensor:
        """Raw scores (n,) of categorical (n, Fc) int32 and numeric (n, Fn)."""
        out: Tensor = self.first(categorical, numeric).squeeze(-1)
        return out
