"""The labels of `llp.ops.transport` by the solvers of POT, bag by bag on the CPU: to check the closed forms."""

from collections.abc import Callable
from functools import partial

import numpy as np
import ot
import torch
from numpy.typing import NDArray
from torch import Tensor

MOST_ITERATIONS = 10_000  # of Sinkhorn's algorithm
TOLERANCE = 1e-9  # of the plan's sums, at which it stops

FloatArray = NDArray[np.float64]
Solver = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
"""Plan (2, k) from the masses of the classes (2,), those of the instances (k,) and the costs (2, k)."""


def transport_labels(scores: Tensor, segment: Tensor, size: Tensor, label_sum: Tensor) -> Tensor:
    """Labels of the unregularised problem, by `ot.emd`: the second row of its plan, times k."""
    return _plan_labels(scores, size, label_sum.round(), ot.emd)


def entropic_labels(scores: Tensor, segment: Tensor, size: Tensor, label_sum: Tensor, *, reg: float) -> Tensor:
    """Labels of the entropic problem, by `ot.sinkhorn` in the log domain: the second row of its plan, times k."""
    settings = {"method": "sinkhorn_log", "numItermax": MOST_ITERATIONS, "stopThr": TOLERANCE}
    return _plan_labels(scores, size, label_sum, partial(ot.sinkhorn, reg=reg, **settings))


@torch.no_grad()
def _plan_labels(scores: Tensor, size: Tensor, label_sum: Tensor, solve: Solver) -> Tensor:
    z = scores.double().cpu().numpy()
    labels = np.zeros(len(z))
    possible = label_sum.clamp(min=0).minimum(size)  # a noisy sum may lie outside
    starts = np.cumsum(size.cpu().numpy()) - size.cpu().numpy()
    for start, k, y in zip(starts.tolist(), size.tolist(), possible.tolist(), strict=True):
        of_bag = slice(start, start + k)
        if 0 < y < k:
            cost = np.stack([np.logaddexp(0, z[of_bag]), np.logaddexp(0, -z[of_bag])])  # -log P of both classes
            plan = solve(np.array([1 - y / k, y / k]), np.full(k, 1 / k), cost)
            labels[of_bag] = k * plan[1]
        else:
            labels[of_bag] = y / k
    return torch.from_numpy(labels).to(scores)
