"""Means over an epoch of what its training steps compute."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class EpochMeans(nn.Module):
    """Sums and counts, `sums` float64 (names, 2) in their order, that stay on the device: no step waits for it."""

    sums: Tensor

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__()
        self.names = tuple(names)
        self.register_buffer("sums", torch.zeros(len(names), 2, dtype=torch.float64), persistent=False)

    def begin(self) -> None:
        """Begin an epoch."""
        self.sums.zero_()

    def add(self, name: str, total: Tensor, count: int | Tensor) -> None:
        """Add a sum (a scalar) over `count` items to a mean."""
        both = self.sums[self.names.index(name)]
        both[0].add_(total)
        both[1].add_(count)

    def values(self) -> dict[str, float]:
        """Give the means of the epoch so far; NaN where nothing was counted."""
        return {
            name: total / count if count else float("nan")
            for name, (total, count) in zip(self.names, self.sums.tolist(), strict=True)
        }
