"""AutoInt (Song et al. 2019, arXiv 1810.11921): self-attention over the columns' embeddings, then a relu network."""

from collections.abc import Sequence

import torch
from pydantic import NonNegativeInt, PositiveInt
from torch import Tensor, nn
from torch.nn import functional as F

from llp.config.options import Widths
from llp.models.hidden_layers import Layered, dense
from llp.optim.embedding_sgd import EmbeddingParameter


class AttentionLayer(nn.Module):
    """Multi-head self-attention over an instance's columns, with a residual and a relu."""

    def __init__(self, *, width_in: int, heads: int, head_width: int) -> None:
        super().__init__()
        self.heads = heads
        # query, key, value and residual maps of all heads in one product
        self.maps = nn.Linear(width_in, 4 * heads * head_width, bias=False)
        for weight in self.maps.weight.chunk(4):  # each one's Glorot bound is that of a layer of its own
            nn.init.xavier_uniform_(weight)

    def forward(self, columns: Tensor) -> Tensor:
        """Map (n, F, width_in) to (n, F, heads · head_width)."""
        query, key, value, residual = self.maps(columns).chunk(4, dim=2)
        query, key, value = (x.unflatten(2, (self.heads, -1)).transpose(1, 2) for x in (query, key, value))
        # (n, heads, F, head_width); the paper's scores are not divided by √head_width
        mixed = F.scaled_dot_product_attention(query, key, value, scale=1.0)
        return F.relu(mixed.transpose(1, 2).flatten(2) + residual)


class AutoInt(Layered):
    """Embeddings, attention over columns, relu layers with batch norm; `number_columns` are binned, code × vector."""

    offset: Tensor

    def __init__(
        self,
        *,
        vocab_sizes: Sequence[int],
        n_numeric: int,
        number_columns: NonNegativeInt,
        embedding_dim: PositiveInt,
        attention_layers: NonNegativeInt,
        heads: PositiveInt,
        head_width: PositiveInt,
        hidden: Widths,
    ) -> None:
        super().__init__()
        self.number_columns = number_columns
        sizes = torch.tensor(vocab_sizes[number_columns:], dtype=torch.int64)
        self.register_buffer("offset", (torch.cumsum(sizes, 0) - sizes).to(torch.int32), persistent=False)
        self.embedding = EmbeddingParameter(torch.empty(int(sizes.sum()), embedding_dim))
        # of the numeric columns, then of the columns of binned numbers
        self.number_vector = EmbeddingParameter(torch.empty(n_numeric + number_columns, embedding_dim))
        for parameter in (self.embedding, self.number_vector):
            nn.init.uniform_(parameter, -0.05, 0.05)  # Keras' default for an embedding
        widths = [embedding_dim] + [heads * head_width] * attention_layers
        self.attention = nn.Sequential(
            *(AttentionLayer(width_in=width, heads=heads, head_width=head_width) for width in widths[:-1])
        )
        n_columns = n_numeric + len(vocab_sizes)
        self.body = nn.Sequential()
        for width_in, width_out in zip([n_columns * widths[-1], *hidden[:-1]], hidden, strict=True):
            self.body.extend([dense(width_in, width_out), BatchNorm(width_out), nn.ReLU()])
        self.score = dense(hidden[-1], 1)

    def embed(self, categorical: Tensor, numeric: Tensor) -> Tensor:
        """All columns' vectors side by side, numbers first: (n, (Fn + Fc) · D)."""
        codes = categorical[:, self.number_columns :]
        numbers = torch.cat([numeric, categorical[:, : self.number_columns].to(numeric.dtype)], dim=1)
        scaled = numbers.unsqueeze(2) * self.number_vector
        return torch.cat([scaled, F.embedding(codes + self.offset, self.embedding)], dim=1).flatten(1)

    first_layer = embed

    def last_hidden(self, first: Tensor) -> Tensor:
        """Output (n, hidden[-1]) of the last hidden layer from the columns' vectors."""
        attended = self.attention(first.reshape(first.shape[0], -1, self.embedding.shape[1]))
        out: Tensor = self.body(attended.flatten(1))
        return out


class BatchNorm(nn.BatchNorm1d):
    """Batch norm that falls back on its running statistics where a minibatch has one instance."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - the parent's name
        """Normalise (n, D)."""
        if self.training and len(input) == 1:
            return F.batch_norm(input, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps)
        return super().forward(input)
