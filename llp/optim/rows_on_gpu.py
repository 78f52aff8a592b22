"""The touched rows of a table on a CUDA device."""

import math
from typing import Any

import torch
import triton
from torch import Tensor

from llp.optim import triton_kernels as kernels
from llp.optim.catch_up import PushSums
from llp.optim.rows_on_cpu import States

TILE = 16
"""Gradients that the ordered sum reads at once."""


class RowsOnGpu:
    """`TouchedRows` in Triton kernels, some five launches a step; the step's number stays on the device.

    A step can be captured in a CUDA graph: take a few steps, `reserve` room for all that will be replayed, capture, and
    call `before_replay` before each replay. The learning rate is that of the last step before the capture.

    Parameters
    ----------
    weight, states, betas, eps
        See `RowsOnCpu`.
    """

    def __init__(self, weight: Tensor, states: States, *, betas: tuple[float, float], eps: float) -> None:
        self._weight = weight
        self._states = states
        self._push = PushSums(*betas)
        self._betas = betas
        self._eps = eps
        self._lr: float | None = None
        constants = [*betas, math.log(betas[0]), math.log(betas[1]), eps, 0.0]
        self._constants = torch.tensor(constants, dtype=torch.float64, device=weight.device)
        self._block_of = torch.from_numpy(self._push.block_of).to(weight.device, torch.int32)
        self._buffer: Tensor | None = None
        self._kept: list[tuple[Tensor, Tensor]] = []
        last = self._state["last"]
        self._all_current = bool(((last == 0) | (last == self._state["step"])).all())
        self._steps_at_most = int(self._state["step"])

    def gather(self, rows: Tensor, *, for_gradient: bool) -> tuple[Tensor, Any]:
        """Bring rows (n, F) up to date and sum them to (n, D)."""
        rows = rows.contiguous()
        if not self._all_current:
            self._catch_up(rows)
        n, n_columns = rows.shape
        D = self._weight.shape[1]
        total = torch.empty(n, D, dtype=self._weight.dtype, device=self._weight.device)
        if n:
            kernels.sum_rows[(n,)](rows, self._weight, total, n_columns, D, BLOCK_D=self._block_d)
        return total, rows

    def add_gradient(self, token: Any, gradient: Tensor) -> None:
        """Keep the gradient (n, D) of the sums; several add up until `discard`."""
        self._kept.append((token, gradient.to(self._weight.dtype).contiguous()))

    def discard(self) -> None:
        """Forget the gradients kept."""
        self._kept.clear()

    def has_gradient(self) -> bool:
        """Whether a gradient is kept."""
        return bool(self._kept)

    def update(self, lr: float, whole: Tensor | None) -> None:
        """Take one step of Adam with the gradients kept and one (N, D) of weights that were read directly, or None."""
        if whole is not None and not self._all_current:
            raise RuntimeError("the loss read rows that lag behind: call catch_up() on the RowParameter before it")
        kept = list(self._kept)
        if whole is not None:
            kept.append((self._every_row()[:, None], whole.contiguous()))
        if lr != self._lr:
            self._constants[5] = self._lr = lr
        if self._buffer is None:
            self._buffer = torch.zeros_like(self._weight, requires_grad=False)
        self.reserve(self._steps_at_most + 1)
        self._steps_at_most += 1
        for rows, gradient in kept:
            self._scatter(rows, gradient, self._buffer)
        for rows, _ in kept:
            if rows.numel():
                kernels.update[(rows.numel(),)](
                    rows, self._buffer, *self._row_arguments(), BLOCK_D=self._block_d, **self._layout
                )
        kernels.add_step[(1,)](
            self._state["sums"], self._block_of, self._state["step"], self._constants,
            BLOCK=triton.next_power_of_2(self._push.window), **self._layout,
        )  # fmt: skip
        self._state["step"].add_(1)
        self._all_current = whole is not None

    def catch_up_all(self) -> None:
        """Bring every row up to date."""
        if not self._all_current:
            self._catch_up(self._every_row())
            self._all_current = True

    def reserve(self, steps: int) -> None:
        """Reserve memory for the sums of ``steps`` steps in all."""
        sums = self._state["sums"]
        if steps > self._push.capacity(sums):
            self._state["sums"] = torch.from_numpy(self._push.grown(sums.cpu().numpy(), 2 * steps)).to(sums.device)

    def before_replay(self) -> None:
        """Count, on the host, a captured update that is about to be replayed.

        Raises
        ------
        RuntimeError
            If `reserve` was given fewer steps.
        """
        if self._steps_at_most + 1 > self._push.capacity(self._state["sums"]):
            raise RuntimeError("no room for the sums of more steps: reserve them and capture the graph anew")
        self._steps_at_most += 1
        self._all_current = False

    @property
    def _state(self) -> dict[str, Tensor]:
        return self._states[self._weight]

    @property
    def _block_d(self) -> int:
        return int(triton.next_power_of_2(self._weight.shape[1]))

    @property
    def _layout(self) -> dict[str, int]:
        return {"WINDOW": self._push.window, "N_BLOCKS": self._push.n_blocks}

    def _every_row(self) -> Tensor:
        return torch.arange(len(self._weight), dtype=torch.int32, device=self._weight.device)

    def _row_arguments(self) -> list[Any]:
        names = ("exp_avg", "exp_avg_sq", "last", "step", "sums")
        return [self._weight, *(self._state[name] for name in names), self._constants, self._weight.shape[1]]

    def _catch_up(self, rows: Tensor) -> None:
        if self._weight.device != self._constants.device:
            raise RuntimeError("the model moved to another device after its ExactAdam was made")
        if rows.numel():
            kernels.catch_up[(rows.numel(),)](rows, *self._row_arguments(), BLOCK_D=self._block_d, **self._layout)

    def _scatter(self, rows: Tensor, gradient: Tensor, buffer: Tensor) -> None:
        n_columns, D = rows.shape[1], gradient.shape[1]
        if not rows.numel():
            return
        if not torch.are_deterministic_algorithms_enabled():
            kernels.scatter[(rows.numel(),)](rows, gradient, buffer, n_columns, D, BLOCK_D=self._block_d)
            return
        sorted_rows, order = torch.sort(rows.reshape(-1), stable=True)
        kernels.scatter_in_order[(rows.numel(),)](
            sorted_rows, order, gradient, buffer, rows.numel(), n_columns, D, BLOCK_D=self._block_d, TILE=TILE
        )
