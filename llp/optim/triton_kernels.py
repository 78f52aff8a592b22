"""Row-wise passes of the exact Adam as Triton kernels: no sort, no list of distinct rows, no host synchronisation.

Each position (instance, column) of a minibatch claims its row by an atomic maximum on ``last``; the one that finds an
older value there does the row. All scalars that change, the step and the learning rate, are read from device memory,
so the launches can be captured in a CUDA graph. Layout of ``constants`` (float64): beta1, beta2, log beta1, log beta2,
eps, lr. See `llp.optim.catch_up` for the mathematics and the layout of ``sums``.
"""

# Arguments of a kernel are pointers and scalars of Triton's own language: Python annotations would be wrong on them.
# ruff: noqa: ANN001, ANN201, ANN202
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"

import triton
import triton.language as tl

from llp.optim.catch_up import TERMS
from llp.optim.compiled import NEGLIGIBLE

_COLUMNS = tl.constexpr(1 + TERMS)
_TERMS = tl.constexpr(TERMS)
_NEGLIGIBLE = tl.constexpr(NEGLIGIBLE)


@triton.jit
def _pushed(weight, m, v, t0, k, sums, constants, WINDOW: tl.constexpr, N_BLOCKS: tl.constexpr):
    """Bring a row's weights and moments from step t0 to t0 + k."""
    dtype = weight.dtype
    eps = tl.load(constants + 4).to(dtype)
    block = tl.where(t0 < WINDOW, t0 * N_BLOCKS, WINDOW * (N_BLOCKS - 1) + t0)
    n_blocks = tl.where(t0 < WINDOW, N_BLOCKS, 1)
    root = tl.sqrt(v)
    for b in range(n_blocks):
        entry = sums + (block + b) * _COLUMNS
        w = root * tl.load(entry).to(dtype)
        inverse = 1 / (w + eps)
        u = w * inverse
        series = tl.zeros_like(w)
        for q in tl.static_range(_TERMS):
            series = series * u + tl.load(entry + _TERMS - q).to(dtype)
        weight -= m * inverse * series
    decay1 = tl.exp(k.to(tl.float64) * tl.load(constants + 2))
    decay2 = tl.exp(k.to(tl.float64) * tl.load(constants + 3))
    decay1 = tl.where(decay1 > _NEGLIGIBLE, decay1, 0.0)
    decay2 = tl.where(decay2 > _NEGLIGIBLE, decay2, 0.0)
    return weight, m * decay1.to(dtype), v * decay2.to(dtype)


@triton.jit
def catch_up(
    rows, weights, exp_avg, exp_avg_sq, last, step, sums, constants,
    D, WINDOW: tl.constexpr, N_BLOCKS: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """Bring the row at each position (one program each) to the steps taken so far."""
    row = tl.load(rows + tl.program_id(0)).to(tl.int64)
    now = tl.load(step).to(tl.int32)
    t0 = tl.load(last + row)
    if (t0 > 0) & (t0 < now):  # most positions leave here, without an atomic
        t0 = tl.atomic_max(last + row, now)
        if t0 < now:
            d = tl.arange(0, BLOCK_D)
            at = row * D + d
            inside = d < D
            weight = tl.load(weights + at, mask=inside, other=0)
            m = tl.load(exp_avg + at, mask=inside, other=0)
            v = tl.load(exp_avg_sq + at, mask=inside, other=0)
            weight, m, v = _pushed(weight, m, v, t0, now - t0, sums, constants, WINDOW, N_BLOCKS)
            tl.store(weights + at, weight, mask=inside)
            tl.store(exp_avg + at, m, mask=inside)
            tl.store(exp_avg_sq + at, v, mask=inside)


@triton.jit
def sum_rows(rows, weights, out, n_columns, D, BLOCK_D: tl.constexpr):
    """Sum the rows of each instance (one program each)."""
    i = tl.program_id(0).to(tl.int64)
    d = tl.arange(0, BLOCK_D)
    inside = d < D
    total = tl.zeros((BLOCK_D,), dtype=out.dtype.element_ty)
    for f in range(n_columns):
        row = tl.load(rows + i * n_columns + f).to(tl.int64)
        total += tl.load(weights + row * D + d, mask=inside, other=0)
    tl.store(out + i * D + d, total, mask=inside)


@triton.jit
def scatter(rows, gradient, buffer, n_columns, D, BLOCK_D: tl.constexpr):
    """Add each position's gradient into its row of the buffer (N × D), in whatever order the device takes."""
    p = tl.program_id(0).to(tl.int64)
    row = tl.load(rows + p).to(tl.int64)
    d = tl.arange(0, BLOCK_D)
    inside = d < D
    g = tl.load(gradient + (p // n_columns) * D + d, mask=inside, other=0)
    tl.atomic_add(buffer + row * D + d, g, mask=inside, sem="relaxed")


@triton.jit
def scatter_in_order(
    sorted_rows, order, gradient, buffer, n_positions, n_columns, D, BLOCK_D: tl.constexpr, TILE: tl.constexpr
):
    """Add the gradients of each row into the buffer in a fixed order: the first of a run of equal rows does the run."""
    p = tl.program_id(0)
    row = tl.load(sorted_rows + p).to(tl.int64)
    before = tl.load(sorted_rows + p - 1, mask=p > 0, other=-1).to(tl.int64)
    if row != before:
        d = tl.arange(0, BLOCK_D)
        inside = d < D
        total = tl.load(buffer + row * D + d, mask=inside, other=0)
        at = p
        goes_on = 1
        while goes_on > 0:
            positions = at + tl.arange(0, TILE)
            same = tl.load(sorted_rows + positions, mask=positions < n_positions, other=-1).to(tl.int64) == row
            instance = tl.load(order + positions, mask=same, other=0).to(tl.int64) // n_columns
            g = tl.load(gradient + instance[:, None] * D + d[None, :], mask=same[:, None] & inside[None, :], other=0)
            total += tl.sum(g, axis=0)
            goes_on = tl.sum(same.to(tl.int32), axis=0) // TILE
            at += TILE
        tl.store(buffer + row * D + d, total, mask=inside)


@triton.jit
def update(
    rows, buffer, weights, exp_avg, exp_avg_sq, last, step, sums, constants,
    D, WINDOW: tl.constexpr, N_BLOCKS: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """Take Adam's step for the row at each position with its gradient in the buffer, and zero that gradient."""
    row = tl.load(rows + tl.program_id(0)).to(tl.int64)
    now = tl.load(step).to(tl.int32)  # steps taken before this one
    t0 = tl.atomic_max(last + row, now + 1)
    if t0 <= now:
        d = tl.arange(0, BLOCK_D)
        at = row * D + d
        inside = d < D
        weight = tl.load(weights + at, mask=inside, other=0)
        m = tl.load(exp_avg + at, mask=inside, other=0)
        v = tl.load(exp_avg_sq + at, mask=inside, other=0)
        g = tl.load(buffer + at, mask=inside, other=0)
        if (t0 > 0) & (t0 < now):  # a gradient may come from a forward pass before the last step
            weight, m, v = _pushed(weight, m, v, t0, now - t0, sums, constants, WINDOW, N_BLOCKS)
        dtype = weight.dtype
        beta1 = tl.load(constants)
        beta2 = tl.load(constants + 1)
        taken = (now + 1).to(tl.float64)
        rate = tl.load(constants + 5) / (1 - tl.exp(taken * tl.load(constants + 2)))
        inverse_root = 1 / tl.sqrt(1 - tl.exp(taken * tl.load(constants + 3)))
        m = beta1.to(dtype) * m + (1 - beta1).to(dtype) * g
        v = beta2.to(dtype) * v + (1 - beta2).to(dtype) * g * g
        weight -= rate.to(dtype) * m / (tl.sqrt(v) * inverse_root.to(dtype) + tl.load(constants + 4).to(dtype))
        tl.store(weights + at, weight, mask=inside)
        tl.store(exp_avg + at, m, mask=inside)
        tl.store(exp_avg_sq + at, v, mask=inside)
        tl.store(buffer + at, tl.zeros_like(g), mask=inside)


@triton.jit
def add_step(sums, block_of, step, constants, WINDOW: tl.constexpr, N_BLOCKS: tl.constexpr, BLOCK: tl.constexpr):
    """Add the push of the step being taken to the sums of every earlier t0: `PushSums.add_step` in one program."""
    taken = tl.load(step) + 1
    j = 1 + tl.arange(0, BLOCK)
    t0 = taken - j
    inside = (j <= WINDOW) & (t0 >= 1)
    early = t0 * N_BLOCKS + tl.load(block_of + j, mask=inside, other=0)
    entry = sums + tl.where(t0 < WINDOW, early, WINDOW * (N_BLOCKS - 1) + t0) * _COLUMNS
    centre = tl.load(entry, mask=inside, other=1)
    log1 = tl.load(constants + 2)
    log2 = tl.load(constants + 3)
    at = taken.to(tl.float64)
    age = j.to(tl.float64)
    term = tl.load(constants + 5) * tl.exp(age * log1) / (1 - tl.exp(at * log1))
    delta = 1 - tl.sqrt(tl.exp(age * log2) / (1 - tl.exp(at * log2))) / centre
    for q in tl.static_range(_TERMS):
        tl.store(entry + 1 + q, tl.load(entry + 1 + q, mask=inside, other=0) + term, mask=inside)
        term *= delta
