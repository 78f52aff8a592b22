"""Operations per bag against a loop over the bags."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from llp.ops.segment import (
    mean_over_instances,
    pad_bags,
    rank_in_segment,
    segment_max,
    segment_mean,
    segment_sum,
    to_instances,
)

sizes_of_bags = st.lists(st.integers(1, 7), min_size=1, max_size=8)


def bags_of(sizes, *width, seed=0, ties=False):
    size = torch.tensor(sizes)
    segment = torch.repeat_interleave(torch.arange(len(sizes)), size)
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, 3, (sum(sizes), *width)) if ties else rng.normal(size=(sum(sizes), *width))
    return torch.tensor(drawn, dtype=torch.float64), segment, size


@settings(deadline=None)
@given(sizes_of_bags, st.integers(0, 9), st.sampled_from([(), (3,)]))
def test_sums_and_means_are_of_each_bag_and_leave_out_what_belongs_to_none(sizes, n_more, width):
    values, segment, size = bags_of([*sizes, n_more], *width)
    size, (*parts, _) = size[:-1], torch.split(values, [*sizes, n_more])
    torch.testing.assert_close(segment_sum(values, segment, len(sizes)), torch.stack([part.sum(0) for part in parts]))
    torch.testing.assert_close(segment_mean(values, segment, size), torch.stack([part.mean(0) for part in parts]))
    torch.testing.assert_close(mean_over_instances(values, segment, size), torch.cat(parts).mean(0))


@settings(deadline=None)
@given(sizes_of_bags, st.integers(0, 9), st.booleans())
def test_largest_value_and_place_in_a_stable_descending_sort(sizes, n_more, ties):
    values, segment, size = bags_of([*sizes, n_more], ties=ties)
    parts, expected = torch.split(values, [*sizes, n_more]), []
    for part in parts:
        order = sorted(range(len(part)), key=lambda i: (-part[i], i))
        expected += [order.index(i) for i in range(len(part))]
    assert rank_in_segment(values, segment, size[:-1]).tolist() == expected
    assert segment_max(values, segment, len(sizes)).tolist() == [float(part.max()) for part in parts[:-1]]


@pytest.mark.parametrize("width", [(), (3,)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.bool])
def test_each_instance_gets_its_bags_value_and_zero_without_a_bag(width, dtype):
    values = torch.arange(1, 1 + 2 * int(np.prod(width))).view(2, *width).to(dtype)
    given = to_instances(values, torch.tensor([0, 0, 1, 2, 2]))
    assert given.dtype == dtype
    assert torch.equal(given, torch.stack([values[0], values[0], values[1], *2 * [torch.zeros_like(values[0])]]))


def test_bag_without_instances_sums_to_zero():
    assert segment_sum(torch.ones(3), torch.tensor([0, 2, 2]), 3).tolist() == [1, 0, 2]


@pytest.mark.parametrize(
    "function",
    [
        lambda v, s, k: segment_sum(v, s, len(k)), segment_mean, pad_bags, mean_over_instances,
        lambda v, s, k: to_instances(v, s),
    ],
)  # fmt: skip
def test_gradients(function):
    values, segment, size = bags_of([2, 1, 4])
    assert torch.autograd.gradcheck(lambda v: function(v, segment, size), values.requires_grad_())


@settings(deadline=None)
@given(sizes_of_bags)
def test_padding_puts_each_bag_into_a_row(sizes):
    values, segment, size = bags_of(sizes)
    expected = torch.nn.utils.rnn.pad_sequence(torch.split(values, sizes), batch_first=True)
    assert torch.equal(pad_bags(values, segment, size), expected)
