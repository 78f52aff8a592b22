"""The benchmark's network for mixed tables: an embedding per categorical column beside the numbers."""

import itertools
from collections.abc import Sequence

import torch
from pydantic import PositiveInt
from torch import Tensor, nn

from llp.config.options import Widths
from llp.models.dense import dense
from llp.optim.row_gradient import RowParameter, keep_current, sum_rows


class EmbeddingMLP(nn.Module):
    """Embeddings concatenated with the numeric columns, relu layers, one raw score.

    Parameters
    ----------
    vocab_sizes : sequence of int
        Codes of each of the Fc categorical columns.
    n_numeric : int
        Numeric columns, Fn.
    embedding_dim : int
        Numbers per categorical value, D.
    hidden : sequence of int
        Widths of the hidden layers.
    """

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
        self.body = nn.Sequential(nn.ReLU())
        for width_in, width_out in itertools.pairwise(hidden):
            self.body.extend([dense(width_in, width_out), nn.ReLU()])
        self.score = dense(hidden[-1], 1)

    def embed(self, categorical: Tensor, numeric: Tensor) -> Tensor:
        """Numeric columns and embeddings side by side: (n, Fn + Fc · D)."""
        embedded = sum_rows(self.embedding, (categorical + self.offset).reshape(-1, 1)).reshape(
            categorical.shape[0], -1
        )
        return torch.cat([numeric, embedded], dim=1)

    def first_layer(self, categorical: Tensor, numeric: Tensor) -> Tensor:
        """Output (n, hidden[0]) of the first dense layer, before its relu."""
        out: Tensor = self.first(self.embed(categorical, numeric))
        return out

    def score_from_first_layer(self, first: Tensor) -> Tensor:
        """Raw scores (n,) from the first dense layer's output (n, hidden[0])."""
        out: Tensor = self.score(self.body(first)).squeeze(-1)
        return out

    def representation(self, categorical: Tensor, numeric: Tensor) -> Tensor:
        """Output (n, hidden[-1]) of the last hidden layer."""
        out: Tensor = self.body(self.first_layer(categorical, numeric))
        return out

    def forward(self, categorical: Tensor, numeric: Tensor) -> Tensor:
        """Raw scores (n,) of categorical (n, Fc) int32 and numeric (n, Fn)."""
        return self.score_from_first_layer(self.first_layer(categorical, numeric))
