"""Gradient descent with an L2 penalty on the embeddings alone: how LLP-Bench's authors train AutoInt.

The penalty l2 · Σ w² over all embeddings is part of every minibatch's loss, so each step takes every row towards zero,
whether the minibatch touches it or not.
"""

from collections.abc import Iterable

import torch
from pydantic import NonNegativeFloat, PositiveFloat
from torch import nn

from llp.errors import invalid


class EmbeddingParameter(nn.Parameter):
    """A weight whose rows are embeddings."""


class EmbeddingSGD(torch.optim.SGD):
    """SGD with embedding_l2 · Σ w² of the `EmbeddingParameter`s in the loss; InputError for a penalty without any."""

    def __init__(self, params: Iterable[nn.Parameter], *, lr: PositiveFloat, embedding_l2: NonNegativeFloat) -> None:
        weights = list(params)
        embeddings = [weight for weight in weights if isinstance(weight, EmbeddingParameter)]
        others = [weight for weight in weights if not isinstance(weight, EmbeddingParameter)]
        if embedding_l2 and not embeddings:
            expected = "0 for this model, whose weights hold no embedding by itself, or model=autoint"
            raise invalid("optimizer.embedding_l2", embedding_l2, expected, 0.0)
        penalised = {
            "params": embeddings,
            "weight_decay": 2 * embedding_l2,
        }  # torch adds weight_decay · w to a gradient
        super().__init__([group for group in (penalised, {"params": others}) if group["params"]], lr=lr)
