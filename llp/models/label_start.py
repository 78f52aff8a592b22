"""The start of a model's scores: an offset and a scale by the train bags' sums, kept beside its weights."""

import torch
from torch import Tensor, nn

NAME = "label_start"


class LabelStart(nn.Module):
    """offset + scale × score, float32 scalars, 0 and 1 until training begins; neither is trained."""

    offset: Tensor
    scale: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("offset", torch.zeros(()))
        self.register_buffer("scale", torch.ones(()))

    def forward(self, scores: Tensor) -> Tensor:
        """Scores (n,) from the model's own (n,)."""
        return self.offset + self.scale * scores


def add_label_start(model: nn.Module) -> None:
    """Give a model one, as a part of its state; without it, its scores start where its own weights have them."""
    model.add_module(NAME, LabelStart())


def label_start_of(model: nn.Module) -> LabelStart | None:
    """The one that a model has been given."""
    start: LabelStart | None = getattr(model, NAME, None)
    return start


def begun(model: nn.Module, scores: Tensor) -> Tensor:
    """Scores (n,) from the model's own (n,): these themselves where it has no start."""
    start = label_start_of(model)
    begun: Tensor = scores if start is None else start(scores)
    return begun
