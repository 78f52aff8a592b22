"""The touched rows of a table on the CPU."""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from llp.optim import compiled
from llp.optim.pages import UPDATES_TO_HUGE, make_huge
from llp.optim.row_gradient import States, TouchedRows


class _Index(NamedTuple):
    """The U distinct rows of a minibatch, rising, and the positions of each: see `compiled.group_positions`."""

    distinct: NDArray[np.int32]
    start: NDArray[np.int32]
    position: NDArray[np.int32]


class RowsOnCpu(TouchedRows):
    """`TouchedRows` in compiled passes, on `torch.get_num_threads()` threads; their number changes no result."""

    def __init__(self, weight: Tensor, states: States, *, betas: tuple[float, float], eps: float, sums: Tensor) -> None:
        super().__init__(weight, states, betas=betas, eps=eps, sums=sums)
        self._mark = np.full(len(weight), -1, dtype=np.int32)  # scratch of `compiled`, which leaves it as it was
        self._lags: NDArray[np.uint8] | None = None  # 1 where a row lags; a byte a row stays in a processor's cache
        self._until_huge = UPDATES_TO_HUGE * len(weight)
        self._pool: ThreadPoolExecutor | None = None

    def gather(self, rows: Tensor, *, for_gradient: bool) -> tuple[Tensor, Any]:
        """See `TouchedRows`."""
        row_numbers = rows.contiguous().numpy()
        index = None
        if not self._all_current:
            if for_gradient:
                index = self._index(row_numbers)
            self._catch_up(self._lagging(row_numbers) if index is None else index.distinct)
        elif rows.numel() and not (rows.min() >= 0 and rows.max() < len(self._weight)):
            raise self._out_of_range()
        total = F.embedding_bag(rows, self._weights(), mode="sum")
        return total, (row_numbers, index)  # the token: the update need not search the distinct rows again

    def _every_row(self) -> tuple[NDArray[np.int32], None]:
        return np.arange(len(self._weight), dtype=np.int32)[:, None], None

    def _take_step(self, rows: NDArray[np.int32], gradient: NDArray[Any], lr: float) -> None:
        self._lags = None
        if 0 < self._until_huge <= len(rows):
            for table in (self._weight.detach(), self._state["exp_avg"], self._state["exp_avg_sq"]):
                make_huge(table)
        self._until_huge -= len(rows)
        self._in_ranges(
            compiled.update, len(rows), rows, gradient,
            self._weights().numpy(), *self._moments(), self._step, lr, *self._betas, self._eps,
        )  # fmt: skip

    def _moments(self) -> list[NDArray[Any]]:
        return [self._state[name].numpy() for name in ("exp_avg", "exp_avg_sq", "last")]

    def _lagging(self, row_numbers: NDArray[Any]) -> NDArray[np.int32]:
        """The distinct rows that are to be brought up to date, rising."""
        flat, last = row_numbers.reshape(-1), self._state["last"].numpy()
        if self._lags is None:
            self._lags = ((last > 0) & (last < self._step)).view(np.uint8)
        found = np.empty(flat.size, dtype=np.int32)
        counts = self._in_ranges(compiled.find_lagging, flat.size, flat, self._lags, found)
        if min(counts) < 0:
            self._lags = None
            raise self._out_of_range()
        firsts = self._bounds(flat.size)
        return np.unique(np.concatenate([found[i : i + n] for i, n in zip(firsts, counts, strict=False)]))

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

    def _summed(self, kept: list[tuple[Any, Tensor]]) -> tuple[NDArray[np.int32], NDArray[Any]]:
        row_numbers, index = kept[0][0]
        summands = torch.cat([part for _, part in kept]) if len(kept) > 1 else kept[0][1].contiguous()
        if len(kept) == 1:
            index = index or self._index(row_numbers)
            owner = index.position // row_numbers.shape[1]
        else:
            index = self._index(np.concatenate([rows.reshape(-1) for (rows, _), _ in kept]))
            columns = np.concatenate([np.full(len(rows), rows.shape[1]) for (rows, _), _ in kept])
            # minibatches may differ in their number of columns: each position points to its row of the joint gradient
            owner = np.repeat(np.arange(len(columns), dtype=np.int32), columns)[index.position]
        found, start = torch.from_numpy(owner), torch.from_numpy(index.start)
        sums = F.embedding_bag(found, summands, start, mode="sum", include_last_offset=True)
        return index.distinct, sums.numpy()

    def _out_of_range(self) -> IndexError:
        return IndexError(f"a row number is not in 0 … {len(self._weight) - 1}")

    def _catch_up(self, rows: NDArray[np.int32]) -> None:
        distinct = rows.reshape(-1)
        self._in_ranges(
            compiled.catch_up, len(distinct), distinct, self._weights().numpy(), *self._moments(),
            self._step, self.sums.numpy(), self._push.window, self._push.n_blocks,
            self._eps, math.log(self._betas[0]), math.log(self._betas[1]),
        )  # fmt: skip

    def _in_ranges(self, run: Callable[..., Any], count: int, *arguments: Any) -> list[Any]:
        bounds = self._bounds(count)  # each thread takes a range, of distinct rows where it writes them
        if len(bounds) == 2:
            return [run(0, count, *arguments)]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(len(bounds) - 1)
        tasks = [self._pool.submit(run, first, stop, *arguments) for first, stop in pairwise(bounds)]
        return [task.result() for task in tasks]

    @staticmethod
    def _bounds(count: int) -> list[int]:
        threads = torch.get_num_threads()
        return [count * i // threads for i in range(threads + 1)]
