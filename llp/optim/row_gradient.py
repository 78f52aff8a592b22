"""Sums of rows of a large table, whose gradient stays with the rows that were touched.

A minibatch touches some thousand of a million rows. Autograd would write a dense gradient of the whole table, and
dense Adam would read it; here the backward pass hands (row numbers, gradient of the sums) to the optimizer, and
whoever reads rows first brings them up to date. See `llp.optim.exact_adam`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from llp.optim.catch_up import PushSums

States = Mapping[Tensor, dict[str, Tensor]]


class TouchedRows(ABC):
    """The optimizer's part of a `RowParameter`: the table's moments, and their use on its device.

    ``weight``, float32 or float64 (N, D), is changed in place, as its state in ``states``: `exp_avg` and `exp_avg_sq`
    (N, D), `last` int32 (N) and `step` int64 (). That dict is looked up at each use, as a trainer may put another in
    its place. ``sums``, float64, on the host, is a table of `PushSums`; it is replaced when it is full.
    """

    def __init__(self, weight: Tensor, states: States, *, betas: tuple[float, float], eps: float, sums: Tensor) -> None:
        self.sums = sums
        self._weight = weight
        self._states = states
        self._betas = betas
        self._eps = eps
        self._push = PushSums(*betas)
        self._device = weight.device
        self._step = int(self._state["step"])
        self._kept: list[tuple[Any, Tensor]] = []
        # dense Adam moves every row in every step, touched or not. A row that no minibatch touches is left behind and
        # moved the whole way when it is next read; while none is behind, that search is saved
        last = self._state["last"]  # the step to which a row is up to date; 0 while it has no moments to be moved by
        self._all_current = bool(((last == 0) | (last == self._step)).all())

    @abstractmethod
    def gather(self, rows: Tensor, *, for_gradient: bool) -> tuple[Tensor, Any]:
        """Bring rows (n, F) up to date and sum them to (n, D); the second value goes to `add_gradient`, if anything."""

    @abstractmethod
    def _every_row(self) -> Any:
        """The token of `gather` for the gradient (N, D) of all rows as they lie."""

    @abstractmethod
    def _summed(self, kept: list[tuple[Any, Tensor]]) -> tuple[Any, Any]:
        """The U distinct rows of all gradients kept, and the sum (U, D) of what each of them got."""

    @abstractmethod
    def _catch_up(self, rows: Any) -> None:
        """Bring distinct rows (U,) to the step: the pushes since they were touched, and the moments' decay."""

    @abstractmethod
    def _take_step(self, rows: Any, gradient: Any, lr: float) -> None:
        """Take Adam's step for distinct rows (U,) with their gradient (U, D)."""

    def _sums_changed(self, rows: NDArray[np.int64] | None) -> None:  # noqa: B027, the CPU reads the sums themselves
        """Take note that rows of the sums have changed, or all of them."""

    def add_gradient(self, token: Any, gradient: Tensor) -> None:
        """Keep the gradient (n, D) of the sums; several add up until `discard`."""
        self._kept.append((token, gradient.to(self._weight.dtype)))

    def discard(self) -> None:
        """Forget the gradients kept."""
        self._kept.clear()

    @torch.no_grad()
    def update(self, lr: float, whole: Tensor | None) -> None:
        """Take one step of Adam, if there is a gradient: those kept, and `whole` (N, D) of weights read directly."""
        if whole is None and not self._kept:
            return
        if whole is not None and not self._all_current:
            raise RuntimeError("the loss read rows that lag behind: call catch_up() on the RowParameter before it")
        every = [] if whole is None else [(self._every_row(), whole)]
        rows, gradient = self._summed(self._kept + every)
        self._catch_up(rows)  # a gradient may come from a forward pass before the last step
        self._step += 1
        self._take_step(rows, gradient, lr)
        self._state["step"].fill_(self._step)
        if self._step > self._push.capacity(self.sums):
            self.sums = torch.from_numpy(self._push.grown(self.sums.numpy(), 2 * self._step))  # seldom copied
            self._sums_changed(None)
        self._sums_changed(self._push.add_step(self.sums.numpy(), self._step, lr))
        self._all_current = whole is not None  # the other rows now lag one step

    @torch.no_grad()
    def catch_up_all(self) -> None:
        """Bring every row up to date."""
        if not self._all_current:
            self._catch_up(self._every_row()[0])
            self._all_current = True

    @property
    def _state(self) -> dict[str, Tensor]:
        return self._states[self._weight]

    def _weights(self) -> Tensor:
        """The weights as they lie, on the device on which they are trained."""
        if self._weight.device != self._device:
            raise RuntimeError("the model moved to another device after its ExactAdam was made")
        return self._weight.data  # not detached: what autograd has saved of the weights counts no change of them


class RowParameter(nn.Parameter):
    """Weights N × D of which a minibatch reads few rows; read them with `sum_rows`.

    Under `ExactAdam` rows lag behind until they are read, and ``grad`` stays None. A loss that reads the weights
    directly must do so at every step (no row lags then), or call `catch_up` before it does. Under any other optimizer
    this is an ordinary parameter with a dense gradient.
    """

    touched_rows: TouchedRows | None = None

    def catch_up(self) -> None:
        """Bring every row up to date, before anything but `sum_rows` reads or replaces the weights."""
        if self.touched_rows is not None:
            self.touched_rows.catch_up_all()


def keep_current(layer: nn.Module) -> None:
    """Make sure that whoever reads or replaces the layer's weights as a whole finds no row that lags behind."""
    layer.register_state_dict_pre_hook(_catch_up)  # type: ignore[no-untyped-call]
    layer.register_load_state_dict_pre_hook(_catch_up)  # type: ignore[no-untyped-call]


_as_they_lie: ContextVar[bool] = ContextVar("rows may lag behind", default=False)


@contextmanager
def rows_as_they_lie() -> Iterator[None]:
    """Let `state_dict` give rows that lag behind, with the optimizer's state: catching up would round else."""
    before = _as_they_lie.set(True)
    try:
        yield
    finally:
        _as_they_lie.reset(before)


def _catch_up(layer: nn.Module, *_: object) -> None:
    if _as_they_lie.get():
        return
    for weight in layer.parameters(recurse=False):
        if isinstance(weight, RowParameter):
            weight.catch_up()


class _SumRows(torch.autograd.Function):
    """Sum of rows whose backward pass leaves the gradient with the optimizer."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, rows: Tensor, touched: TouchedRows) -> Tensor:
        total, ctx.token = touched.gather(rows, for_gradient=True)
        ctx.touched = touched
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, None, None]:
        ctx.touched.add_gradient(ctx.token, gradients[0])
        return None, None, None


def sum_rows(weight: Tensor, rows: Tensor) -> Tensor:
    """Sum rows (n, F), int32 or int64, of a table (N, D) for each instance: (n, D).

    Rows are brought up to date where it is a `RowParameter` of an `ExactAdam`; there, on the CPU, a row number that is
    not in 0 … N − 1 is an IndexError.
    """
    touched = weight.touched_rows if isinstance(weight, RowParameter) else None
    if touched is None:
        return summed_rows(weight, rows)
    if not torch.is_grad_enabled():
        return touched.gather(rows, for_gradient=False)[0]
    total: Tensor = _SumRows.apply(weight, rows, touched)  # type: ignore[no-untyped-call]
    return total


def summed_rows(weight: Tensor, rows: Tensor) -> Tensor:
    """Sum rows (n, F) of a table as it lies: (n, D)."""
    ordered = weight.is_cuda and torch.are_deterministic_algorithms_enabled()  # embedding_bag's gradient is not, there
    if ordered or weight.device.type not in ("cpu", "cuda"):  # not every device has embedding_bag
        return F.embedding(rows, weight).sum(dim=1)
    return F.embedding_bag(rows, weight, mode="sum")
