"""Adam that moves every weight as `torch.optim.Adam` does, at the cost of the rows that a minibatch touches.

Notable:

- Rows of a `RowParameter` that get no gradient are not rewritten at every step. Untouched rows still move under dense
  Adam, by their decaying moments; that movement is applied in closed form (`llp.optim.catch_up`) when the row is read
  next. `torch.optim.SparseAdam` leaves it out: it is another algorithm.
- The state holds, for each row, the step up to which it is current. Weights and state belong together as they lie:
  saving them brings no row up to date, which would round differently.
- All other parameters go to torch's fused Adam.
- Weight decay, amsgrad and gradient clipping are left out: a row's movement would then depend on more than its moments.
"""

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

import torch
from torch import Tensor
from torch.optim.adam import adam

from llp.errors import InputError, invalid
from llp.optim.catch_up import WORST_ERROR, PushSums
from llp.optim.row_gradient import RowParameter, TouchedRows
from llp.optim.rows_on_cpu import RowsOnCpu

FIRST_CAPACITY = 4096
"""Steps that the table of sums has room for at first; it doubles when full."""


class ExactAdam(torch.optim.Optimizer):
    """Adam (Kingma & Ba, 2015) with the weights of the dense algorithm and the cost of the touched rows.

    Each `RowParameter` among the parameters keeps, beside its moments, the step up to which a row is current. The
    learning rate may change between steps. Gradients of several backward passes add up until `zero_grad`. On CUDA,
    sums of gradients are in a fixed order if `torch.use_deterministic_algorithms` is on; on the CPU they always are.

    Parameters
    ----------
    params : iterable of Parameter or of groups
        What to train; `RowParameter`s lie on the device on which they will be trained.
    lr : float
        Learning rate.
    betas : tuple of float
        Decay of the first and second moment.
    eps : float
        Added to the root of the second moment.

    Raises
    ------
    InputError
        A value is out of its range, or the closed form is not exact for these betas.
    """

    def __init__(self, params: Iterable[Any], *, lr: float, betas: tuple[float, float], eps: float) -> None:
        if not lr >= 0:
            raise invalid("optimizer.lr", lr, "a number >= 0", 0.001)
        if not eps > 0:
            raise invalid("optimizer.eps", eps, "a number > 0", 1e-8)
        if not all(0 < beta < 1 for beta in betas) or not PushSums(*betas).error() <= WORST_ERROR:
            raise invalid("optimizer.betas", betas, "[0.9,0.999], or dense Adam for others", "optimizer=adam")
        # "fused" makes torch keep the other parameters' step counters on their device when a state is loaded
        super().__init__(params, {"lr": lr, "betas": tuple(betas), "eps": eps, "fused": True})

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters; see `torch.optim.Optimizer.add_param_group`."""
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        for weight in group["params"]:
            if isinstance(weight, RowParameter):
                self.state[weight] = _new_state(weight, PushSums(*group["betas"]))
                self._attach(weight, group)

    def _attach(self, weight: RowParameter, group: dict[str, Any]) -> None:
        rows_on_device: Callable[..., TouchedRows] = RowsOnCpu
        if weight.device.type == "cuda":
            from llp.optim.rows_on_gpu import RowsOnGpu  # needs Triton, which CPU builds of torch come without

            rows_on_device = RowsOnGpu
        weight.touched_rows = rows_on_device(weight, self.state, betas=group["betas"], eps=group["eps"])

    def _tables(self) -> list[RowParameter]:
        return [p for group in self.param_groups for p in group["params"] if isinstance(p, RowParameter)]

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take one step; parameters without a gradient are left alone, as by torch.

        Parameters
        ----------
        closure : callable, optional
            Computes the loss and its gradients; called first.

        Returns
        -------
        object
            What the closure returned.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            self._step_ordinary(group)
            for weight in group["params"]:
                if isinstance(weight, RowParameter):
                    _step_rows(weight, group["lr"])
        return loss

    def _step_ordinary(self, group: dict[str, Any]) -> None:
        weights = [p for p in group["params"] if not isinstance(p, RowParameter) and p.grad is not None]
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
        for weight in self._tables():
            _touched(weight).discard()

    @torch.no_grad()
    def catch_up_all(self) -> None:
        """Bring every row up to date, so that the weights can be read as they lie."""
        for weight in self._tables():
            weight.catch_up()

    def reserve(self, steps: int) -> None:
        """Reserve memory for this many steps in all, so that none of them moves a table that a CUDA graph reads."""
        for weight in self._tables():
            _touched(weight).reserve(steps)

    def before_replay(self) -> None:
        """Count, on the host, a step that a CUDA graph is about to replay."""
        for weight in self._tables():
            _touched(weight).before_replay()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a copy of a state; see `torch.optim.Optimizer.load_state_dict`.

        Raises
        ------
        InputError
            If another optimizer wrote the state.
        """
        numbers = chain.from_iterable(group["params"] for group in state_dict["param_groups"])
        weights = chain.from_iterable(group["params"] for group in self.param_groups)
        saved = {
            weight: state_dict["state"].get(number, {})
            for number, weight in zip(numbers, weights, strict=True)
            if isinstance(weight, RowParameter)
        }
        if any(set(state) != {"step", "exp_avg", "exp_avg_sq", "last", "sums"} for state in saved.values()):
            raise InputError("the saved state is not one of exact Adam: go on with the optimizer that wrote it")
        super().load_state_dict(state_dict)
        for group in self.param_groups:
            for weight in group["params"]:
                if isinstance(weight, RowParameter):
                    # torch would have turned the integers into floats
                    state = {name: value.to(weight.device, copy=True) for name, value in saved[weight].items()}
                    self.state[weight] = state
                    self._attach(weight, group)


def _new_state(weight: RowParameter, push: PushSums) -> dict[str, Tensor]:
    if weight.dtype not in (torch.float32, torch.float64) or weight.ndim != 2 or not weight.is_contiguous():
        raise InputError(f"exact Adam got a {weight.dtype} table {tuple(weight.shape)}: give float32 or float64, N × D")
    device = weight.device
    return {
        "step": torch.zeros((), dtype=torch.int64, device=device),
        "exp_avg": torch.zeros_like(weight, requires_grad=False),
        "exp_avg_sq": torch.zeros_like(weight, requires_grad=False),
        "last": torch.zeros(len(weight), dtype=torch.int32, device=device),
        "sums": torch.from_numpy(push.table(FIRST_CAPACITY)).to(device),
    }


def _touched(weight: RowParameter) -> TouchedRows:
    assert weight.touched_rows is not None, "attached in add_param_group"
    return weight.touched_rows


def _step_rows(weight: RowParameter, lr: float) -> None:
    if weight.grad is not None or _touched(weight).has_gradient():
        _touched(weight).update(float(lr), weight.grad)
