"""What a user of plain torch would have: the same network, minibatches and rows, without Lightning and `llp.optim`.

`benchmarks.speed` sets ours beside it in one run. Minibatches and test rows are gathered before the clock starts, so
that the comparison leaves plain torch everything but the work itself.
"""

import time
from collections.abc import Callable, Sequence
from itertools import cycle, islice
from typing import Any

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.measuring import best_seconds
from llp.data.batch import BagBatch
from llp.models.mlp import MLP

SCORING_BATCHES = (1024, 4096, 16_384)
"""Rows of a batch; the quickest counts."""


def network(model: MLP) -> nn.Module:
    """The same network of torch's own layers, on the same weights: row numbers (n, Fc) to raw scores (n, 1)."""
    table = nn.EmbeddingBag.from_pretrained(model.first.weight.detach(), mode="sum", freeze=False)
    return nn.Sequential(table, _Bias(model.first.weight.shape[1]), model.body, model.score)


class _Bias(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, total: Tensor) -> Tensor:
        return total + self.bias


def steps_per_second(model: MLP, batches: Sequence[BagBatch], n_steps: int) -> float:
    """Steps of `dllp_bce` with torch's fused Adam, after one that makes its state."""
    net = network(model)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, fused=True)
    rows = [batch.categorical + model.first.offset for batch in batches]

    def step(batch: BagBatch, rows: Tensor) -> None:
        optimizer.zero_grad()
        h = torch.sigmoid(net(rows)).squeeze(1)
        mean = torch.zeros(len(batch.size)).index_add(0, batch.segment, h) / batch.size
        F.binary_cross_entropy(mean, batch.label_proportion).backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    step(batches[0], rows[0])
    begin = time.perf_counter()
    for batch, its_rows in islice(cycle(zip(batches, rows, strict=True)), n_steps):
        step(batch, its_rows)
    return n_steps / (time.perf_counter() - begin)


def rows_per_second(model: MLP, categorical: NDArray[np.int32]) -> float:
    """Scoring of rows (n, Fc) in the best of a few sizes of batches."""
    net, rows = network(model).eval(), torch.from_numpy(categorical) + model.first.offset

    def scoring(size: int) -> Callable[[], Any]:
        @torch.inference_mode()
        def score() -> Tensor:
            return torch.cat([net(rows[first : first + size]) for first in range(0, len(rows), size)])

        return score

    return len(rows) / min(best_seconds(scoring(size), 3) for size in SCORING_BATCHES)


@numba.njit(nogil=True)
def _copy(rows: NDArray[Any], source: NDArray[Any], target: NDArray[Any]) -> None:
    for i in range(len(rows)):
        for d in range(source.shape[1]):
            target[rows[i], d] = source[rows[i], d]


def copying_seconds(model: MLP, batches: Sequence[BagBatch]) -> float:
    """Time, on one thread, in which the bytes that a step must touch can be copied: the mean over some minibatches.

    The bytes are those of the distinct rows' weights and both moments; each is read once and written once.
    """
    touched = [np.unique((batch.categorical + model.first.offset).numpy()) for batch in batches]
    arrays = [torch.zeros_like(model.first.weight, requires_grad=False).numpy() for _ in range(4)]
    _copy(touched[0], arrays[0], arrays[1])  # compiled now

    def copy() -> None:
        for rows in touched:
            for source, target in zip(arrays, [*arrays[1:], arrays[0]], strict=True):
                _copy(rows, source, target)

    return best_seconds(copy) / len(touched) * 3 / len(arrays)
