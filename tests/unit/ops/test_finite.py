"""Finite numbers, against torch's own test of each."""

import pytest
import torch

from llp.ops.finite import all_finite


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
@pytest.mark.parametrize("bad", [None, float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("place", [0, 6, 41])
def test_one_number_tells(dtype, bad, place):
    numbers = torch.randn(6, 7, generator=torch.Generator().manual_seed(0)).to(dtype)
    if bad is not None:
        numbers.view(-1)[place] = bad
    assert all_finite(numbers) == (bad is None) == bool(torch.isfinite(numbers).all())


def test_no_numbers_are_finite_and_the_largest_are():
    assert all_finite(torch.empty(0, 3))
    assert all_finite(torch.full((3,), torch.finfo(torch.float32).max))
