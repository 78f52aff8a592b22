"""Finite numbers, against torch's own test of each."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from llp.ops.finite import all_finite


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
@given(st.lists(st.floats(width=16), max_size=9))
def test_one_number_tells(dtype, numbers):
    tensor = torch.tensor(numbers, dtype=dtype).view(-1, 1)
    assert all_finite(tensor) == bool(torch.isfinite(tensor).all())
    assert all_finite(torch.full((3,), torch.finfo(dtype).max, dtype=dtype))
