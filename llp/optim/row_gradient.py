"""Sums of rows of a large table, whose gradient stays with the rows that were touched.

A minibatch touches some thousand of a million rows. Autograd would write a dense gradient of the whole table, and
dense Adam would read it; here the backward pass hands (row numbers, gradient of the sums) to the optimizer, and
whoever reads rows first brings them up to date. See `llp.optim.exact_adam`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class TouchedRows(Protocol):
    """What the optimizer attaches to a `RowParameter`: the table's moments and how to use them on its device.

    Attributes
    ----------
    sums : Tensor
        The sums of the steps taken (`llp.optim.catch_up`), on the host: float64, which not every device has.
    """

    sums: Tensor

    def gather(self, rows: Tensor, *, for_gradient: bool) -> tuple[Tensor, Any]:
        """Bring rows (n, F) up to date and sum them to (n, D); the second value goes to `add_gradient`, if anything."""

    def add_gradient(self, token: Any, gradient: Tensor) -> None:
        """Keep the gradient (n, D) of the sums; several add up until `discard`."""

    def discard(self) -> None:
        """Forget the gradients kept."""

    def has_gradient(self) -> bool:
        """Whether a gradient is kept."""

    def update(self, lr: float, whole: Tensor | None) -> None:
        """Take one step of Adam with the gradients kept and one (N, D) of weights that were read directly, or None."""

    def catch_up_all(self) -> None:
        """Bring every row up to date."""


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
    """Let `state_dict` give rows that lag behind, for one who saves the optimizer's state beside them.

    Bringing them up to date in between would round differently: the run would be another one from there on.
    """
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
    """Sum rows of a table for each instance.

    Parameters
    ----------
    weight : Tensor, float (N, D)
        The table; its rows are brought up to date where it is a `RowParameter` of an `ExactAdam`.
    rows : Tensor, int32 or int64 (n, F)
        Row numbers.

    Returns
    -------
    Tensor, float (n, D)

    Raises
    ------
    IndexError
        On the CPU, if a row number is not in 0 … N − 1.
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
