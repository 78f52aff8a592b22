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
@given(sizes_of_bags, st.sampled_from([(), (3,)]))
def test_sum_mean_and_max_of_each_bag(sizes, width):
    values, segment, size = bags_of(sizes, *width)
    parts = torch.split(values, sizes)
    torch.testing.assert_close(segment_sum(values, segment, len(sizes)), torch.stack([part.sum(0) for part in parts]))
    torch.testing.assert_close(segment_mean(values, segment, size), torch.stack([part.mean(0) for part in parts]))
    if not width:
        assert segment_max(values, segment, len(sizes)).tolist() == [float(part.max()) for part in parts]


@settings(deadline=None)
@given(sizes_of_bags, st.booleans())
def test_rank_is_the_place_in_a_stable_descending_sort(sizes, ties):
    values, segment, size = bags_of(sizes, ties=ties)
    expected = []
    for part in torch.split(values, sizes):
        order = sorted(range(len(part)), key=lambda i: (-part[i], i))
        expected += [order.index(i) for i in range(len(part))]
    assert rank_in_segment(values, segment, size).tolist() == expected


@settings(deadline=None)
@given(sizes_of_bags, st.integers(0, 9))
def test_instances_that_belong_to_no_bag_are_left_out(sizes, n_more):
    n, n_bags = sum(sizes), len(sizes)
    values, segment, size = bags_of([*sizes, n_more])
    size = size[:-1]
    assert torch.equal(segment_sum(values, segment, n_bags), segment_sum(values[:n], segment[:n], n_bags))
    assert torch.equal(segment_mean(values, segment, size), segment_mean(values[:n], segment[:n], size))
    assert torch.equal(segment_max(values, segment, n_bags), segment_max(values[:n], segment[:n], n_bags))
    torch.testing.assert_close(mean_over_instances(values, segment, size), values[:n].mean())
    rank = rank_in_segment(values, segment, size)
    assert torch.equal(rank[:n], rank_in_segment(values[:n], segment[:n], size))
    assert sorted(rank[n:].tolist()) == list(range(n_more))


@pytest.mark.parametrize("width", [(), (3,)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.bool])
def test_each_instance_gets_its_bags_value_and_zero_without_a_bag(width, dtype):
    values = torch.arange(1, 1 + 2 * int(np.prod(width))).view(2, *width).to(dtype)
    given = to_instances(values, torch.tensor([0, 0, 1, 2, 2]))
    assert given.dtype == dtype
    assert torch.equal(given, torch.stack([values[0], values[0], values[1], *2 * [torch.zeros_like(values[0])]]))


def test_the_mean_over_instances_is_taken_column_by_column():
    values, segment, size = bags_of([2, 3, 4], 3)
    torch.testing.assert_close(mean_over_instances(values, segment, size[:2]), values[:5].mean(dim=0))


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
