"""The benchmark's network for categorical tables: multi-hot input, two hidden layers, one score."""

from collections.abc import Sequence

from torch import Tensor

from llp.config.options import Widths
from llp.models.hidden_layers import Layered
from llp.models.multi_hot import MultiHot


class MLP(Layered):
    """Multi-hot input, relu layers of widths `hidden`, the first of which is the multi-hot layer's, one raw score."""

    def __init__(self, *, vocab_sizes: Sequence[int], n_numeric: int, hidden: Widths) -> None:
        super().__init__()
        self.first = MultiHot(vocab_sizes=vocab_sizes, n_numeric=n_numeric, width=hidden[0], bias=True)
        self.add_hidden(hidden)

    def first_layer(self, categorical: Tensor, numeric: Tensor) -> Tensor:
        """Output (n, hidden[0]) of the first layer, before its relu."""
        out: Tensor = self.first(categorical, numeric)
        return out
