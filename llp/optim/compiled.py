"""Row-wise passes of the exact Adam on the CPU, compiled: each reads and writes a touched row once.

Every pass works on a range of rows and each of these is computed by itself: ranges can run side by side without
changing a bit of the result. Their parameters are many because numba compiles functions of arrays and numbers alone.
"""

import math

import numpy as np
from numpy.typing import NDArray

from llp.compiled import compiled

Floats = NDArray[np.floating]
Ints = NDArray[np.integer]

NEGLIGIBLE = 1e-24
"""A decay below this is taken as zero: it changes no digit, and denormal numbers would cost a hundred cycles each."""


@compiled
def find_distinct(rows: Ints, mark: Ints, distinct: Ints) -> int:
    """List the U distinct of ``rows`` (P) by first position; gives U, or −1 for a row number not in 0 … N − 1.

    ``mark`` int32 (N) is all −1 before, and 0 at the distinct rows after; `group_positions` sets it back.
    """
    n_distinct = 0
    for p in range(len(rows)):
        row = rows[p]
        if row < 0 or row >= len(mark):
            for i in range(n_distinct):
                mark[distinct[i]] = -1
            return -1
        if mark[row] < 0:
            mark[row] = 0
            distinct[n_distinct] = row
            n_distinct += 1
    return n_distinct


@compiled
def find_lagging(first: int, stop: int, rows: Ints, lags: Ints, lagging: Ints) -> int:
    """List the lagging (``lags`` uint8 (N) is 1) of ``rows[first:stop]``, once each; gives how many, or −1."""
    n_lagging = 0
    for p in range(first, stop):
        row = rows[p]
        if row < 0 or row >= len(lags):
            return -1
        if lags[row]:
            lags[row] = 0
            lagging[first + n_lagging] = row
            n_lagging += 1
    return n_lagging


@compiled
def group_positions(rows: Ints, mark: Ints, distinct: Ints, start: Ints, position: Ints) -> None:
    """Group the positions by row, rising within a row: a counting sort.

    Row ``distinct[i]`` stands at ``position[start[i]:start[i + 1]]``; ``mark`` of `find_distinct` is −1 again after.
    """
    start[:] = 0
    for i in range(len(distinct)):
        mark[distinct[i]] = i
    for p in range(len(rows)):
        start[mark[rows[p]]] += 1
    for i in range(1, len(start)):  # counts become ends; going backwards below turns them into starts
        start[i] += start[i - 1]
    for p in range(len(rows) - 1, -1, -1):
        i = mark[rows[p]]
        start[i] -= 1
        position[start[i]] = p
    for i in range(len(distinct)):
        mark[distinct[i]] = -1


@compiled
def _push(
    row: int, weight: Floats, m: Floats, v: Floats, t0: int, k: int, sums: Floats, window: int, n_blocks: int,
    eps: float, log_beta1: float, log_beta2: float,
) -> None:  # fmt: skip
    # The closed form of llp.optim.catch_up for one row, in the weights' own precision.
    c = np.empty(sums.shape[1] + 2, weight.dtype)
    if t0 < window:
        block, n = t0 * n_blocks, n_blocks
    else:
        block, n = window * (n_blocks - 1) + t0, 1
    for b in range(block, block + n):
        if sums[b, 1] == 0:  # the gap ends before this block
            break
        for q in range(sums.shape[1]):
            c[q] = sums[b, q]
        c[9] = eps
        c[10] = 1
        centre, epsilon, one = c[0], c[9], c[10]
        s0, s1, s2, s3, s4, s5, s6, s7 = c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8]
        for d in range(weight.shape[1]):
            w = np.sqrt(v[row, d]) * centre
            inverse = one / (w + epsilon)
            u = w * inverse
            series = ((((((s7 * u + s6) * u + s5) * u + s4) * u + s3) * u + s2) * u + s1) * u + s0
            weight[row, d] -= m[row, d] * inverse * series
    decay1, decay2 = math.exp(k * log_beta1), math.exp(k * log_beta2)
    c[0] = decay1 if decay1 > NEGLIGIBLE else 0.0
    c[1] = decay2 if decay2 > NEGLIGIBLE else 0.0
    factor1, factor2 = c[0], c[1]
    for d in range(weight.shape[1]):
        m[row, d] *= factor1
        v[row, d] *= factor2


@compiled
def catch_up(
    first: int, stop: int, rows: Ints, weight: Floats, m: Floats, v: Floats, last: Ints, step: int, sums: Floats,
    window: int, n_blocks: int, eps: float, log_beta1: float, log_beta2: float,
) -> None:  # fmt: skip
    """Bring the distinct ``rows[first:stop]`` to ``step``: pushes since ``last[row]``, the moments' decay, in place."""
    for i in range(first, stop):
        row = rows[i]
        t0 = last[row]
        if 0 < t0 < step:
            _push(row, weight, m, v, t0, step - t0, sums, window, n_blocks, eps, log_beta1, log_beta2)
            last[row] = step


@compiled
def update(
    first: int, stop: int, rows: Ints, gradient: Floats,
    weight: Floats, m: Floats, v: Floats, last: Ints, step: int, lr: float, beta1: float, beta2: float, eps: float,
) -> None:  # fmt: skip
    """Take Adam's ``step`` for the distinct, current ``rows[first:stop]``, with ``gradient[i]`` (D) for ``rows[i]``."""
    c = np.empty(7, weight.dtype)
    c[0], c[1], c[2], c[3] = beta1, 1 - beta1, beta2, 1 - beta2
    c[4], c[5], c[6] = lr / (1 - beta1**step), 1 / math.sqrt(1 - beta2**step), eps
    keep1, new1, keep2, new2, rate, inverse_root, epsilon = c[0], c[1], c[2], c[3], c[4], c[5], c[6]
    for i in range(first, stop):
        row = rows[i]
        for d in range(weight.shape[1]):
            m[row, d] = keep1 * m[row, d] + new1 * gradient[i, d]
            v[row, d] = keep2 * v[row, d] + new2 * gradient[i, d] * gradient[i, d]
            weight[row, d] -= rate * m[row, d] / (np.sqrt(v[row, d]) * inverse_root + epsilon)
        last[row] = step
