"""The benchmark's network for mixed tables: an embedding per categorical column beside the numbers."""

from collections.abc import Sequence

import torch
from pydantic import PositiveInt
from torch import Tensor, nn

from llp.config.options import Widths
from llp.models.hidden_layers import Layered, dense
from llp.optim.row_gradient import RowParameter, keep_current, sum_rows


class EmbeddingMLP(Layered):
    """Embeddings (D = `embedding_dim`) and the numeric columns, relu layers of widths `hidden`, one raw score."""

    offset: Tensor

    def __init__(
        self, *, vocab_sizes: Sequence[int], n_numeric: int, embedding_dim: PositiveInt, hidden: Widths
    ) -> None:
        super().__init__()
        sizes = torch.tensor(vocab_sizes, dtype=torch.int64)
        self.register_buffer("offset", (torch.cumsum(sizes, 0) - sizes).to(torch.int32), persistent=False)
        self.embedding = RowParameter(torch.empty(int(sizes.sum()), embedding_dim))
        keep_current(self)
        nn.init.uniform_(self.embedding, -0.05, 0.05)  # Keras' default for an embedding
        self.first = dense(n_numeric + len(vocab_sizes) * embedding_dim, hidden[0])
        self.add_hidden(hidden)

    def embed(self, categorical: Tensor, numeric: Tensor) -> Tensor:
        """Numeric columns and embeddings side by side: (n, Fn + Fc · D)."""
        rows = (categorical + self.offset).reshape(-1, 1)
        embedded = sum_rows(self.embedding, rows).reshape(categorical.shape[0], -1)
        return torch.cat([numeric, embedded], dim=1)

    def first_layer(self, categorical: Tensor, numeric: Tensor) -> Tensor:
        """Output (n, hidden[0]) of the first dense layer, before its relu."""
        out: Tensor = self.first(self.embed(categorical, numeric))
        return out
