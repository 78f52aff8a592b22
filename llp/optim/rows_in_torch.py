"""The touched rows of a table on any device, in torch's own operations."""

from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from llp.optim.catch_up import TERMS
from llp.optim.compiled import NEGLIGIBLE
from llp.optim.row_gradient import States, TouchedRows, summed_rows


class RowsInTorch(TouchedRows):
    """`TouchedRows` by `index_select`, `unique`, `index_add_` and `index_copy_`: on CUDA, ROCm, MPS, or the CPU.

    Nothing on the device is more precise than the weights, as some devices have no float64: sums and decays are
    computed on the host and rounded, as the compiled passes round them. On CUDA, sums of gradients are in a fixed order
    if `torch.use_deterministic_algorithms` is on.
    """

    def __init__(self, weight: Tensor, states: States, *, betas: tuple[float, float], eps: float, sums: Tensor) -> None:
        super().__init__(weight, states, betas=betas, eps=eps, sums=sums)
        self._decays = [decays(beta, weight.dtype).to(weight.device) for beta in betas]
        self._sums = self._rounded(sums)

    def gather(self, rows: Tensor, *, for_gradient: bool) -> tuple[Tensor, Any]:
        """See `TouchedRows`; for the gradient, the distinct rows (U,) and the place of each of `rows` among them."""
        found = distinct(rows) if for_gradient or not self._all_current else None
        if found is not None and not self._all_current:
            self._catch_up(found[0])
        return summed_rows(self._weights(), rows), found

    def _every_row(self) -> tuple[Tensor, Tensor]:
        every_row = torch.arange(len(self._weight), device=self._weight.device)
        return every_row, every_row[:, None]

    def _take_step(self, rows: Tensor, g: Tensor, lr: float) -> None:
        beta1, beta2 = self._betas
        weight, *moments = self._tables()
        m, v = (moment.index_select(0, rows) for moment in moments)
        m.mul_(beta1).add_(g, alpha=1 - beta1)
        v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
        denominator = v.sqrt().mul_((1 - beta2**self._step) ** -0.5).add_(self._eps)
        moved = weight.index_select(0, rows).addcdiv_(m, denominator, value=-lr / (1 - beta1**self._step))
        for table, values in zip((weight, *moments), (moved, m, v), strict=True):
            table.index_copy_(0, rows, values)
        self._state["last"].index_fill_(0, rows, self._step)

    def _tables(self) -> tuple[Tensor, Tensor, Tensor]:
        return self._weights(), self._state["exp_avg"], self._state["exp_avg_sq"]

    def _rounded(self, sums: Tensor) -> Tensor:
        return sums.to(self._weight.dtype).to(self._weight.device)

    def _summed(self, kept: list[tuple[Any, Tensor]]) -> tuple[Tensor, Tensor]:
        (found, place), _ = kept[0]
        if len(kept) > 1:
            found, place = distinct(torch.cat([rows[where].flatten() for (rows, where), _ in kept]))
        gradient = torch.cat([one.repeat_interleave(where.shape[1], dim=0) for (_, where), one in kept])
        return found, gradient.new_zeros(len(found), gradient.shape[1]).index_add_(0, place.flatten(), gradient)

    def _catch_up(self, rows: Tensor) -> None:
        t0 = self._state["last"].index_select(0, rows).long()
        lagging = ((t0 > 0) & (t0 < self._step)).nonzero().squeeze(1)
        rows, t0 = rows[lagging], t0[lagging]
        weight, m, v = (table.index_select(0, rows) for table in self._tables())
        weight -= m * self._pushes(v.sqrt(), t0)
        age = (self._step - t0).clamp(max=len(self._decays[1]) - 1)
        for moment, decay in zip((m, v), self._decays, strict=True):
            moment *= decay[age.clamp(max=len(decay) - 1)][:, None]
        for table, values in zip(self._tables(), (weight, m, v), strict=True):
            table.index_copy_(0, rows, values)
        self._state["last"].index_fill_(0, rows, self._step)

    def _pushes(self, root: Tensor, t0: Tensor) -> Tensor:
        """The sums (U, D) of the closed form (`llp.optim.catch_up`) from √v (U, D) and the rows' steps (U,)."""
        window, n_blocks = self._push.window, self._push.n_blocks

        def series(root: Tensor, entry: Tensor) -> Tensor:
            centre, *S = torch.split(self._sums.index_select(0, entry), 1, dim=1)
            w = root * centre
            inverse = 1 / (w + self._eps)
            u = w * inverse
            total: Tensor = S[TERMS - 1]
            for term in reversed(S[:-1]):
                total = total * u + term
            return inverse * total

        pushes = series(root, torch.where(t0 < window, t0 * n_blocks, self._push.early_rows - window + t0))
        early = (t0 < window).nonzero().squeeze(1)
        if len(early):
            for block in range(1, n_blocks):
                pushes.index_add_(0, early, series(root[early], t0[early] * n_blocks + block))
        return pushes

    def _sums_changed(self, rows: NDArray[np.int64] | None) -> None:
        if rows is None:
            self._sums = self._rounded(self.sums)
        else:
            changed = torch.from_numpy(rows)
            self._sums.index_copy_(0, changed.to(self._sums.device), self._rounded(self.sums[changed]))


def distinct(rows: Tensor) -> tuple[Tensor, Tensor]:
    """The distinct row numbers (U,) int64, rising, and the place of each of `rows` among them, of its shape."""
    found, place = torch.unique(rows, return_inverse=True)
    return found.long(), place


@cache
def decays(beta: float, dtype: torch.dtype) -> Tensor:
    """beta^k for k = 0, 1, ..., until it is negligible, and then 0: the decay of a moment over k steps.

    >>> decays(0.1, torch.float32)[:3]
    tensor([1.0000, 0.1000, 0.0100])
    """
    powers = [1.0]
    while powers[-1] > NEGLIGIBLE:
        powers.append(beta ** len(powers))
    return torch.tensor([*powers[:-1], 0.0], dtype=dtype)
