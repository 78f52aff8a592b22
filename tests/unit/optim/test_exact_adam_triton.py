"""The Triton kernels against the compiled CPU passes: on a GPU if there is one, else in Triton's interpreter."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch

pytest.importorskip("triton")

from llp.optim.catch_up import PushSums
from llp.optim.rows_on_cpu import RowsOnCpu
from llp.optim.rows_on_gpu import RowsOnGpu

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
runs_kernels = pytest.mark.skipif(DEVICE == "cpu" and not INTERPRETED, reason="run by test_in_the_interpreter")

BETAS, EPS, LR = (0.9, 0.999), 1e-8, 1e-3
N, D, COLUMNS = 30, 6, 3


def new_state(dtype: torch.dtype, device: str, steps: int) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    weight = torch.randn(N, D, dtype=dtype, generator=torch.Generator().manual_seed(0)).to(device)
    return weight, {
        "step": torch.zeros((), dtype=torch.int64, device=device),
        "exp_avg": torch.zeros_like(weight),
        "exp_avg_sq": torch.zeros_like(weight),
        "last": torch.zeros(N, dtype=torch.int32, device=device),
        "sums": torch.from_numpy(PushSums(*BETAS).table(steps)).to(device),
    }


def minibatch(step: int, n: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(step)
    rows = (N * rng.random((n, COLUMNS)) ** 3).astype(np.int32)  # a few rows often, most seldom
    return torch.from_numpy(rows), torch.from_numpy(rng.standard_normal((n, D)) * 1e-3).to(dtype)


def run(rows_on_device, weight, state, device, steps):
    table = rows_on_device(weight, {weight: state}, betas=BETAS, eps=EPS)
    totals = []
    for step in steps:
        rows, gradient = minibatch(step, 4, weight.dtype)
        total, token = table.gather(rows.to(device), for_gradient=True)
        totals.append(total.cpu())
        table.add_gradient(token, gradient.to(device))
        if step % 3 == 0:  # gradients of two passes add up
            rows, gradient = minibatch(10_000 + step, 2, weight.dtype)
            table.add_gradient(table.gather(rows.to(device), for_gradient=True)[1], gradient.to(device))
        table.update(LR if step < 5 else LR / 3, None)
        table.discard()
    table.catch_up_all()
    table.update(LR, torch.ones_like(weight))  # the gradient of weights read directly
    return torch.stack(totals)


@pytest.mark.slow
@pytest.mark.skipif(DEVICE == "cuda" or INTERPRETED, reason="the tests below run the kernels themselves")
def test_in_the_interpreter():
    # triton reads the variable once, when something first imports it: a process of its own
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    done = subprocess.run(command, env=os.environ | {"TRITON_INTERPRET": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "5 passed" in done.stdout


@runs_kernels
@pytest.mark.parametrize(
    ("dtype", "deterministic"), [(torch.float32, False), (torch.float64, False), (torch.float64, True)]
)
def test_kernels_equal_the_compiled_passes(dtype, deterministic):
    steps = range(1, 9)
    w_cpu, cpu = new_state(dtype, "cpu", steps=8)
    w_gpu, gpu = new_state(dtype, DEVICE, steps=8)
    totals_cpu = run(RowsOnCpu, w_cpu, cpu, "cpu", steps)
    torch.use_deterministic_algorithms(deterministic)
    try:
        totals_gpu = run(RowsOnGpu, w_gpu, gpu, DEVICE, steps)
    finally:
        torch.use_deterministic_algorithms(False)
    close = {"rtol": 1e-4, "atol": 1e-6} if dtype == torch.float32 else {"rtol": 1e-11, "atol": 1e-14}
    torch.testing.assert_close(totals_gpu, totals_cpu, **close)
    torch.testing.assert_close(w_gpu.cpu(), w_cpu, **close)
    for name in ("step", "exp_avg", "exp_avg_sq", "last"):
        torch.testing.assert_close(gpu[name].cpu(), cpu[name], rtol=close["rtol"], atol=0 if name == "last" else 1e-15)


@runs_kernels
def test_sums_of_early_and_late_steps_equal_those_of_the_cpu():
    weight, state = new_state(torch.float64, DEVICE, steps=700)
    table = RowsOnGpu(weight, {weight: state}, betas=BETAS, eps=EPS)
    push = PushSums(*BETAS)
    sums = push.table(700)
    for step in range(1, 601):
        before = torch.from_numpy(sums.copy())
        push.add_step(sums, step, LR)
        if step in (1, 2, 3, 263, 264, 265, 600):
            state["step"].fill_(step - 1)
            state["sums"].copy_(before)
            rows, gradient = minibatch(step, 1, torch.float64)
            table.add_gradient(table.gather(rows.to(DEVICE), for_gradient=True)[1], gradient.to(DEVICE))
            table.update(LR, None)
            table.discard()
            np.testing.assert_allclose(state["sums"].cpu().numpy(), sums, rtol=1e-9, atol=1e-15)


@runs_kernels
def test_ordered_sums_of_long_runs():
    # 50 positions of one row: more than the kernel reads at once
    w_cpu, cpu = new_state(torch.float64, "cpu", steps=8)
    w_gpu, gpu = new_state(torch.float64, DEVICE, steps=8)
    rows = torch.full((50, 1), 7, dtype=torch.int32)
    gradient = torch.randn(50, D, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    torch.use_deterministic_algorithms(True)
    try:
        for rows_on_device, weight, state, device in ((RowsOnCpu, w_cpu, cpu, "cpu"), (RowsOnGpu, w_gpu, gpu, DEVICE)):
            table = rows_on_device(weight, {weight: state}, betas=BETAS, eps=EPS)
            table.add_gradient(table.gather(rows.to(device), for_gradient=True)[1], gradient.to(device))
            table.update(LR, None)
    finally:
        torch.use_deterministic_algorithms(False)
    torch.testing.assert_close(gpu["exp_avg"].cpu(), cpu["exp_avg"], rtol=1e-12, atol=0)
    torch.testing.assert_close(gpu["exp_avg"][7].cpu(), 0.1 * gradient.sum(0), rtol=1e-12, atol=0)
