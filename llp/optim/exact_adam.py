"""Adam that moves every weight as `torch.optim.Adam` does, at the cost of the rows that a minibatch touches.

Notable:

- Rows of a `RowParameter` that get no gradient are not rewritten at every step. Untouched rows still move under dense
  Adam, by their decaying moments; that movement is applied in closed form (`llp.optim.catch_up`) when the row is read
  next. `torch.optim.SparseAdam` leaves it out: it is another algorithm.
- The state holds, for each row, the step up to which it is current. Weights and state belong together as they lie:
  saving them brings no row up to date, which would round differently.
- All other parameters go to torch's fused Adam.
- On the CPU the rows' passes are compiled (`llp.optim.rows_on_cpu`), on any other device they are torch's operations
  (`llp.optim.rows_in_torch`). There a few steps on a small table are first compared with dense Adam's; where they
  differ, the rows are trained by dense Adam, which is said once.
- Weight decay, amsgrad and gradient clipping are left out: a row's movement would then depend on more than its moments.
"""

import functools
import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.adam import adam

from llp.errors import InputError, first_line, invalid
from llp.optim.catch_up import WORST_ERROR, PushSums
from llp.optim.pages import lazy_zeros
from llp.optim.row_gradient import RowParameter, TouchedRows, sum_rows
from llp.optim.rows_in_torch import RowsInTorch
from llp.optim.rows_on_cpu import RowsOnCpu

log = logging.getLogger(__name__)

FIRST_CAPACITY = 4096
"""Steps that the table of sums has room for at first; it doubles when full."""
SUMS = "sums"
"""Of the rows, in a saved state: no part of the optimizer's, which a trainer moves to the device as a whole."""
LARGEST_DIFFERENCE = 0.01
"""Share of a step's length by which the first steps on a device may differ from dense Adam's."""


class ExactAdam(torch.optim.Optimizer):
    """Adam (Kingma & Ba, 2015) with the weights of the dense algorithm and the cost of the touched rows.

    Each `RowParameter` among the parameters, on the device on which it will be trained, keeps beside its moments the
    step up to which a row is current. The learning rate may change between steps. Gradients of several backward passes
    add up until `zero_grad`. On CUDA, sums of gradients are in a fixed order if `torch.use_deterministic_algorithms` is
    on; on the CPU they always are.
    """

    def __init__(self, params: Iterable[Any], *, lr: float, betas: tuple[float, float], eps: float) -> None:
        if not lr >= 0:
            raise invalid("optimizer.lr", lr, "a number >= 0", 0.001)
        if not eps > 0:
            raise invalid("optimizer.eps", eps, "a number > 0", 1e-8)
        if not all(0 < beta < 1 for beta in betas) or not PushSums(*betas).error() <= WORST_ERROR:
            raise invalid("optimizer.betas", betas, "[0.9,0.999], or dense Adam for others", "optimizer=adam")
        self._rows: dict[Tensor, TouchedRows] = {}  # a weight's own are those of the optimizer that was made last
        # "fused" makes torch keep the other parameters' step counters on their device when a state is loaded
        super().__init__(params, {"lr": lr, "betas": tuple(betas), "eps": eps, "fused": True})

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters; see `torch.optim.Optimizer.add_param_group`."""
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        for weight in group["params"]:
            if isinstance(weight, RowParameter):
                rows, betas, eps = _rows_on(weight.device), group["betas"], group["eps"]
                if rows is RowsInTorch and not _steps_as_dense(weight.device, weight.dtype, betas, eps):
                    continue
                self.state[weight] = _new_state(weight)
                sums = torch.from_numpy(PushSums(*betas).table(FIRST_CAPACITY))
                self._rows[weight] = weight.touched_rows = rows(weight, self.state, betas=betas, eps=eps, sums=sums)

    def _tables(self) -> Iterator[tuple[int, RowParameter, TouchedRows, dict[str, Any]]]:
        """Number, weights, rows and group of each table whose rows are kept here."""
        numbered = enumerate((weight, group) for group in self.param_groups for weight in group["params"])
        for number, (weight, group) in numbered:
            if weight in self._rows:
                yield number, weight, self._rows[weight], group

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take one step, after the closure if any; parameters without a gradient are left alone, as by torch."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            self._step_ordinary(group)
        for _, weight, rows, group in self._tables():
            rows.update(float(group["lr"]), weight.grad)
        return loss

    def _step_ordinary(self, group: dict[str, Any]) -> None:
        weights = [p for p in group["params"] if p not in self._rows and p.grad is not None]
        if not weights:
            return
        for weight in weights:
            if not self.state[weight]:
                self.state[weight] = {
                    "step": torch.zeros((), dtype=torch.float32, device=weight.device),
                    "exp_avg": torch.zeros_like(weight),
                    "exp_avg_sq": torch.zeros_like(weight),
                }
        states = [self.state[weight] for weight in weights]
        beta1, beta2 = group["betas"]
        adam(
            weights, [weight.grad for weight in weights],
            [state["exp_avg"] for state in states], [state["exp_avg_sq"] for state in states], [],
            [state["step"] for state in states],
            fused=True, amsgrad=False, beta1=beta1, beta2=beta2, lr=group["lr"], weight_decay=0.0,
            eps=group["eps"], maximize=False,
        )  # fmt: skip

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients."""
        super().zero_grad(set_to_none)
        for _, _, rows, _ in self._tables():
            rows.discard()

    @torch.no_grad()
    def catch_up_all(self) -> None:
        """Bring every row up to date, so that the weights can be read as they lie."""
        for _, _, rows, _ in self._tables():
            rows.catch_up_all()

    def state_dict(self) -> dict[str, Any]:
        """Give the state, with the rows' sums; see `torch.optim.Optimizer.state_dict`."""
        content = super().state_dict()
        for number, _, rows, _ in self._tables():
            content["state"][number] = content["state"][number] | {SUMS: rows.sums}
        return content

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a copy of a state; InputError where another optimizer wrote it."""
        saved = [state_dict["state"].get(n, {}) for group in state_dict["param_groups"] for n in group["params"]]
        tables = [*self._tables()]
        if any(saved[number].keys() != {"step", "exp_avg", "exp_avg_sq", "last", SUMS} for number, *_ in tables):
            raise InputError("the saved state is not one of exact Adam: resume with the optimizer that wrote it")
        super().load_state_dict(state_dict)
        for number, weight, rows, group in tables:
            # torch would have turned the integers into floats
            state = {name: value.to(weight.device, copy=True) for name, value in saved[number].items() if name != SUMS}
            self.state[weight] = state
            sums = saved[number][SUMS].to("cpu", copy=True)
            settings = {"betas": group["betas"], "eps": group["eps"]}
            self._rows[weight] = weight.touched_rows = type(rows)(weight, self.state, **settings, sums=sums)


def _new_state(weight: RowParameter) -> dict[str, Tensor]:
    if weight.dtype not in (torch.float32, torch.float64) or weight.ndim != 2 or not weight.is_contiguous():
        raise InputError(f"exact Adam got a {weight.dtype} table {tuple(weight.shape)}: give float32 or float64, N × D")
    return {
        "step": torch.zeros((), dtype=torch.int64, device=weight.device),
        "exp_avg": lazy_zeros(weight),
        "exp_avg_sq": lazy_zeros(weight),
        "last": torch.zeros(len(weight), dtype=torch.int32, device=weight.device),
    }


def _rows_on(device: torch.device) -> type[RowsOnCpu] | type[RowsInTorch]:
    return RowsOnCpu if device.type == "cpu" else RowsInTorch


@functools.cache
def _steps_as_dense(device: torch.device, dtype: torch.dtype, betas: tuple[float, float], eps: float) -> bool:
    """Whether a few steps on a small table are dense Adam's on this device; says so where they are not."""
    lr = 1e-3
    start = torch.linspace(-0.01, 0.01, 24, dtype=dtype).reshape(8, 3)
    dense, exact = nn.Parameter(start.to(device, copy=True)), RowParameter(start.to(device, copy=True))
    adam = torch.optim.Adam([dense], lr=lr, betas=betas, eps=eps)
    try:
        sums = torch.from_numpy(PushSums(*betas).table(FIRST_CAPACITY))
        rows = RowsInTorch(exact, {exact: _new_state(exact)}, betas=betas, eps=eps, sums=sums)
        exact.touched_rows = rows
        for first, second in ((0, 1), (1, 1), (2, 7), (0, 3), (2, 2), (1, 0)):  # rows lag behind, and come twice
            touched = torch.tensor([[first, second], [second, 4]], dtype=torch.int32, device=device)
            for weight in (dense, exact):
                weight.grad = None
                torch.tanh(sum_rows(weight, touched) - 1).sum().backward()  # type: ignore[no-untyped-call]
            adam.step()
            rows.update(lr, None)
            rows.discard()
        exact.catch_up()
        furthest = float((exact - dense).detach().abs().max())
        problem = "" if furthest <= LARGEST_DIFFERENCE * lr else f"they differ by {furthest / lr:.2g} of a step"
    except (RuntimeError, TypeError) as error:  # NotImplementedError is one: the device lacks an operation
        problem = first_line(error)
    if problem:
        log.warning("exact Adam's rows are trained by dense Adam on %s, more slowly: %s", device, problem)
    return not problem
