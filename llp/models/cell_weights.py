"""A weight for each cell of overlapping queries: what `cell_glm` fits."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from llp.data.cells import Cells


class CellWeights(nn.Module):
    """Raw score z = θ₀ + Σ_q θ of the instance's cell in query q; an unpublished cell adds 0.

    Of counts it is the mean e^z times the exposure, which `exposure` (Fn + 1,) gives of the numeric columns and 1.
    `weight` (P + 1,) float32, of none before `take`; `radix`, `base`, `code` as in `llp.data.cells.Cells`.
    """

    radix: Tensor
    base: Tensor
    code: Tensor
    exposure: Tensor
    counts: Tensor

    def __init__(self, *, vocab_sizes: Sequence[int], n_numeric: int) -> None:
        super().__init__()
        self.register_buffer("radix", torch.zeros(0, len(vocab_sizes), dtype=torch.int64))
        self.register_buffer("base", torch.zeros(0, dtype=torch.int64))
        self.register_buffer("code", torch.zeros(0, dtype=torch.int64))
        self.register_buffer("exposure", torch.zeros(n_numeric + 1, dtype=torch.float64))
        self.register_buffer("counts", torch.tensor(False))
        self.weight = nn.Parameter(torch.zeros(1))

    def take(self, cells: Cells, theta: Tensor, exposure: Tensor | None = None) -> None:
        """Take over P cells and the weights (P + 1,) of the intercept and of them; of counts `exposure`."""
        if exposure is not None:
            self.exposure, self.counts = exposure, torch.tensor(True)
        self.radix, self.base = torch.from_numpy(cells.radix), torch.from_numpy(cells.base)
        self.code, self.weight = torch.from_numpy(cells.code), nn.Parameter(theta.float())

    def forward(self, categorical: Tensor, numeric: Tensor) -> Tensor:
        """Raw scores (n,) of categorical (n, Fc) int32 and numeric (n, Fn)."""
        code = self.base + (categorical.long()[:, None, :] * self.radix).sum(-1)
        place = torch.searchsorted(self.code, code).clamp(max=len(self.code) - 1)
        scores: Tensor = self.weight[0] + (self.weight[1:][place] * (self.code[place] == code)).sum(1)
        return torch.where(self.counts, (scores.exp() * self.exposed(numeric)).float(), scores)

    def exposed(self, numeric: Tensor) -> Tensor:
        """Exposures (n,) float64, of counts, of numeric columns (n, Fn)."""
        return numeric.double() @ self.exposure[:-1] + self.exposure[-1]

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        for name in ("radix", "base", "code", "weight"):
            kept = state_dict.get(prefix + name)
            if kept is not None and (name != "radix" or kept.shape[1:] == self.radix.shape[1:]):
                setattr(self, name, nn.Parameter(kept.clone()) if name == "weight" else kept.clone())
        super()._load_from_state_dict(state_dict, prefix, *rest)
