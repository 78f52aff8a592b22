"""The touched rows of a table on any device, in torch's own operations."""

from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from llp.optim.catch_up import TERMS, PushSums
from llp.optim.compiled import NEGLIGIBLE
from llp.optim.row_gradient import summed_rows
from llp.optim.rows_on_cpu import States


class _Kept(NamedTuple):
    """The U distinct rows of a minibatch, the place (n, F) of each position among them, the gradient (n, D) of sums."""

    distinct: Tensor
    place: Tensor
    gradient: Tensor


class RowsInTorch:
    """`TouchedRows` by `index_select`, `unique`, `index_add_` and `index_copy_`: on CUDA, ROCm, MPS, or the CPU.

    Nothing on the device is more precise than the weights, as some devices have no float64: sums and decays are
    computed on the host and rounded, as the compiled passes round them. On CUDA, sums of gradients are in a fixed order
    if `torch.use_deterministic_algorithms` is on.

    Parameters
    ----------
    weight, states, betas, eps, sums
        See `RowsOnCpu`.
    """

    def __init__(self, weight: Tensor, states: States, *, betas: tuple[float, float], eps: float, sums: Tensor) -> None:
        self.sums = sums
        self._weight = weight
        self._states = states
        self._betas = betas
        self._eps = eps
        self._push = PushSums(*betas)
        self._decays = [decays(beta, weight.dtype).to(weight.device) for beta in betas]
        self._sums = self._rounded(sums)
        self._step = int(self._state["step"])
        self._kept: list[_Kept] = []
        last = self._state["last"]
        self._all_current = bool(((last == 0) | (last == self._step)).all())

    def gather(self, rows: Tensor, *, for_gradient: bool) -> tuple[Tensor, Any]:
        """Bring rows (n, F) up to date and sum them to (n, D)."""
        found = distinct(rows) if for_gradient or not self._all_current else None
        if found is not None and not self._all_current:
            self._catch_up(found[0])
        return summed_rows(self._weights(), rows), found

    def add_gradient(self, token: Any, gradient: Tensor) -> None:
        """Keep the gradient (n, D) of the sums; several add up until `discard`."""
        self._kept.append(_Kept(token[0], token[1], gradient.to(self._weight.dtype)))

    def discard(self) -> None:
        """Forget the gradients kept."""
        self._kept.clear()

    def has_gradient(self) -> bool:
        """Whether a gradient is kept."""
        return bool(self._kept)

    @torch.no_grad()
    def update(self, lr: float, whole: Tensor | None) -> None:
        """Take one step of Adam with the gradients kept and one (N, D) of weights that were read directly, or None."""
        if whole is not None and not self._all_current:
            raise RuntimeError("the loss read rows that lag behind: call catch_up() on the RowParameter before it")
        rows, g = self._summed(whole)
        self._catch_up(rows)  # a gradient may come from a forward pass before the last step
        self._step += 1
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
        self._state["step"].fill_(self._step)
        self._add_step(lr)
        self._all_current = whole is not None  # the other rows now lag one step

    @torch.no_grad()
    def catch_up_all(self) -> None:
        """Bring every row up to date."""
        if not self._all_current:
            self._catch_up(torch.arange(len(self._weight), device=self._weight.device))
            self._all_current = True

    @property
    def _state(self) -> dict[str, Tensor]:
        return self._states[self._weight]

    def _weights(self) -> Tensor:
        if self._weight.device != self._sums.device:
            raise RuntimeError("the model moved to another device after its ExactAdam was made")
        return self._weight.data  # not detached: what autograd has saved of the weights counts no change of them

    def _tables(self) -> tuple[Tensor, Tensor, Tensor]:
        return self._weights(), self._state["exp_avg"], self._state["exp_avg_sq"]

    def _rounded(self, sums: Tensor) -> Tensor:
        return sums.to(self._weight.dtype).to(self._weight.device)

    def _summed(self, whole: Tensor | None) -> tuple[Tensor, Tensor]:
        """The U distinct rows of all gradients kept, and the sum (U, D) of what each of them got."""
        kept = list(self._kept)
        if whole is not None:  # a loss that read the whole table gives every row a gradient
            every_row = torch.arange(len(whole), device=whole.device)
            kept.append(_Kept(every_row, every_row[:, None], whole))
        found, place = kept[0].distinct, kept[0].place.flatten()
        if len(kept) > 1:
            rows = torch.cat([one.distinct[one.place].flatten() for one in kept])
            found, place = distinct(rows)
        gradient = torch.cat([one.gradient.repeat_interleave(one.place.shape[1], dim=0) for one in kept])
        return found, gradient.new_zeros(len(found), gradient.shape[1]).index_add_(0, place, gradient)

    def _catch_up(self, rows: Tensor) -> None:
        """Bring distinct rows (U,) to the step: the pushes since they were touched, and the moments' decay."""
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

    def _add_step(self, lr: float) -> None:
        if self._step > self._push.capacity(self.sums):
            self.sums = torch.from_numpy(self._push.grown(self.sums.numpy(), 2 * self._step))
            self._sums = self._rounded(self.sums)
        changed = torch.from_numpy(self._push.add_step(self.sums.numpy(), self._step, lr))
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
