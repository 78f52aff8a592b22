"""The touched rows of a table on the CPU."""

import math
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from llp.optim import compiled
from llp.optim.catch_up import PushSums

States = Mapping[Tensor, dict[str, Tensor]]


class _Index(NamedTuple):
    """The U distinct rows of a minibatch, rising, and the positions of each: see `compiled.group_positions`."""

    distinct: NDArray[np.int32]
    start: NDArray[np.int32]
    position: NDArray[np.int32]


_Kept = tuple[NDArray[Any], _Index | None, NDArray[Any]]  # rows (n, F), their index, gradient (n, D) of their sums


class RowsOnCpu:
    """`TouchedRows` in compiled passes, on `torch.get_num_threads()` threads; their number changes no result.

    Parameters
    ----------
    weight : Tensor, float32 or float64 (N, D)
        The table, changed in place.
    states : mapping
        The optimizer's states. That of the weight, a dict, holds `exp_avg` and `exp_avg_sq` (N, D), `last` int32 (N)
        and `step` int64 (). They are changed in place; the dict is looked up at each use, as a trainer may put another
        in its place.
    betas : tuple of float
        Decay of the first and second moment.
    eps : float
        Added to the root of the second moment.
    sums : Tensor
        float64, the table of `PushSums`; replaced when it is full.
    """

    def __init__(self, weight: Tensor, states: States, *, betas: tuple[float, float], eps: float, sums: Tensor) -> None:
        self.sums = sums
        self._weight = weight
        self._states = states
        self._betas = betas
        self._eps = eps
        self._push = PushSums(*betas)
        self._mark = np.full(len(weight), -1, dtype=np.int32)  # scratch of `compiled`, which leaves it as it was
        self._kept: list[_Kept] = []
        # dense Adam moves every row in every step, touched or not. A row that no minibatch touches is left behind and
        # moved the whole way when it is next read; while none is behind, that search is saved
        last = self._state["last"]  # the step to which a row is up to date; 0 while it has no moments to be moved by
        self._all_current = bool(((last == 0) | (last == self._state["step"])).all())
        self._pool: ThreadPoolExecutor | None = None

    def gather(self, rows: Tensor, *, for_gradient: bool) -> tuple[Tensor, Any]:
        """Bring rows (n, F) up to date and sum them to (n, D)."""
        row_numbers = rows.contiguous().numpy()
        index = None
        if not self._all_current:
            if for_gradient:
                index = self._index(row_numbers)
            self._catch_up(self._lagging(row_numbers) if index is None else index.distinct)
        elif rows.numel() and not (rows.min() >= 0 and rows.max() < len(self._weight)):
            raise self._out_of_range()
        total = F.embedding_bag(rows, torch.from_numpy(self._weights()), mode="sum")
        return total, (row_numbers, index)  # the token: the update need not search the distinct rows again

    def add_gradient(self, token: Any, gradient: Tensor) -> None:
        """Keep the gradient (n, D) of the sums; several add up until `discard`."""
        row_numbers, index = token
        self._kept.append((row_numbers, index, gradient.to(self._weight.dtype).contiguous().numpy()))

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
        if whole is not None:  # a loss that read the whole table gives every row a gradient
            every_row = np.arange(len(whole), dtype=np.int32)[:, None]
            kept.append((every_row, None, whole.contiguous().numpy()))
        index, gradient = self._summed(kept)
        self._catch_up(index.distinct)  # a gradient may come from a forward pass before the last step
        step = int(self._state["step"]) + 1
        self._in_ranges(
            compiled.update, len(index.distinct), index.distinct, gradient,
            self._weights(), *self._moments(), step, lr, *self._betas, self._eps,
        )  # fmt: skip
        self._add_step(step, lr)
        self._all_current = whole is not None  # the other rows now lag one step

    def catch_up_all(self) -> None:
        """Bring every row up to date."""
        if not self._all_current:
            self._catch_up(np.arange(len(self._weight), dtype=np.int32))
            self._all_current = True

    @property
    def _state(self) -> dict[str, Tensor]:
        return self._states[self._weight]

    def _weights(self) -> NDArray[Any]:
        if self._weight.device.type != "cpu":
            raise RuntimeError("the model moved to another device after its ExactAdam was made")
        weights: NDArray[Any] = self._weight.detach().numpy()
        return weights

    def _moments(self) -> list[NDArray[Any]]:
        return [self._state[name].numpy() for name in ("exp_avg", "exp_avg_sq", "last")]

    def _lagging(self, row_numbers: NDArray[Any]) -> NDArray[np.int32]:
        """The distinct rows that are to be brought up to date, rising."""
        flat = row_numbers.reshape(-1)
        found = np.empty(flat.size, dtype=np.int32)
        last, step = self._state["last"].numpy(), int(self._state["step"])
        n_found = compiled.find_lagging(flat, last, step, self._mark, found)
        if n_found < 0:
            raise self._out_of_range()
        return np.sort(found[:n_found])

    def _index(self, row_numbers: NDArray[Any]) -> _Index:
        flat = row_numbers.reshape(-1)
        distinct = np.empty(flat.size, dtype=np.int32)
        n_distinct = compiled.find_distinct(flat, self._mark, distinct)
        if n_distinct < 0:
            raise self._out_of_range()
        distinct = np.sort(distinct[:n_distinct])  # rising addresses: fewer cache and page misses in every pass
        start = np.empty(n_distinct + 1, dtype=np.int32)
        position = np.empty(flat.size, dtype=np.int32)
        compiled.group_positions(flat, self._mark, distinct, start, position)
        return _Index(distinct, start, position)

    def _summed(self, kept: list[_Kept]) -> tuple[_Index, NDArray[Any]]:
        """The U distinct rows of all gradients kept, and the sum (U, D) of what each of them got."""
        if len(kept) == 1:
            row_numbers, index, gradient = kept[0]
            index = index or self._index(row_numbers)
            owner = index.position // row_numbers.shape[1]
        else:
            index = self._index(np.concatenate([rows.reshape(-1) for rows, _, _ in kept]))
            columns = np.concatenate([np.full(len(rows), rows.shape[1]) for rows, _, _ in kept])
            # minibatches may differ in their number of columns: each position points to its row of the joint gradient
            owner = np.repeat(np.arange(len(columns), dtype=np.int32), columns)[index.position]
            gradient = np.concatenate([part for _, _, part in kept])
        owner, summands, start = (torch.from_numpy(part) for part in (owner, gradient, index.start))
        return index, F.embedding_bag(owner, summands, start, mode="sum", include_last_offset=True).numpy()

    def _out_of_range(self) -> IndexError:
        return IndexError(f"a row number is not in 0 … {len(self._weight) - 1}")

    def _catch_up(self, distinct: NDArray[np.int32]) -> None:
        self._in_ranges(
            compiled.catch_up, len(distinct), distinct, self._weights(), *self._moments(),
            int(self._state["step"]), self.sums.numpy(), self._push.window, self._push.n_blocks,
            self._eps, math.log(self._betas[0]), math.log(self._betas[1]),
        )  # fmt: skip

    def _add_step(self, step: int, lr: float) -> None:
        if step > self._push.capacity(self.sums):
            self.sums = torch.from_numpy(self._push.grown(self.sums.numpy(), 2 * step))  # doubling: seldom copied
        self._push.add_step(self.sums.numpy(), step, lr)
        self._state["step"].fill_(step)

    def _in_ranges(self, run: Callable[..., None], count: int, *arguments: Any) -> None:
        threads = torch.get_num_threads()  # each takes a range of distinct rows, so no two write the same one
        if threads == 1:
            run(0, count, *arguments)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(threads)
        bounds = [count * i // threads for i in range(threads + 1)]
        tasks = [self._pool.submit(run, first, stop, *arguments) for first, stop in pairwise(bounds)]
        for task in tasks:
            task.result()
