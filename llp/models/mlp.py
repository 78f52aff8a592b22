"""The benchmark's network for categorical tables: multi-hot input, two hidden layers, one score."""

import itertools
from collections.abc import Sequence

from torch import Tensor, nn

from llp.config.options import Widths
from llp.models.dense import dense
from llp.models.multi_hot import MultiHot


class MLP(nn.Module):
    """Multi-hot input, relu layers, one raw score.

    Parameters
    ----------
    vocab_sizes, n_numeric
        The table's columns, see `MultiHot`.
    hidden : sequence of int
        Widths of the hidden layers; the first is the width of the multi-hot layer.
    """

    def __init__(self, *, vocab_sizes: Sequence[int], n_numeric: int, hidden: Widths) -> None:
        super().__init__()
        self.first = MultiHot(vocab_sizes=vocab_sizes, n_numeric=n_numeric, width=hidden[0], bias=True)
        self.body = nn.Sequential(nn.ReLU())
        for width_in, width_out in itertools.pairwise(hidden):
            self.body.extend([dense(width_in, width_out), nn.ReLU()])
        self.score = dense(hidden[-1], 1)

    def first_layer(self, categorical: Tensor, numeric: Tensor) -> Tensor:
        """Output (n, hidden[0]) of the first layer, before its relu."""
        out: Tensor = self.first(categorical, numeric)
        return out

    def score_from_first_layer(self, first: Tensor) -> Tensor:
        """Raw scores (n,) from the first layer's output (n, hidden[0])."""
        out: Tensor = self.score(self.body(first)).squeeze(-1)
        return out

    def representation(self, categorical: Tensor, numeric: Tensor) -> Tensor:
        """Output (n, hidden[-1]) of the last hidden layer."""
        out: Tensor = self.body(self.first(categorical, numeric))
        return out

    def forward(self, categorical: Tensor, numeric: Tensor) -> Tensor:
        """Raw scores (n,) of categorical (n, Fc) int32 and numeric (n, Fn)."""
        return self.score_from_first_layer(self.first_layer(categorical, numeric))
