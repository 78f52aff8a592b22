"""Operations per bag against a loop over the bags."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from llp.ops.padding import pad_bags
from llp.ops.segment import rank_in_segment, segment_max, segment_mean, segment_sum

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


def test_bag_without_instances_sums_to_zero():
    assert segment_sum(torch.ones(3), torch.tensor([0, 2, 2]), 3).tolist() == [1, 0, 2]


@pytest.mark.parametrize("function", [lambda v, s, k: segment_sum(v, s, len(k)), segment_mean, pad_bags])
def test_gradients(function):
    values, segment, size = bags_of([2, 1, 4])
    assert torch.autograd.gradcheck(lambda v: function(v, segment, size), values.requires_grad_())


@settings(deadline=None)
@given(sizes_of_bags)
def test_padding_puts_each_bag_into_a_row(sizes):
    values, segment, size = bags_of(sizes)
    expected = torch.nn.utils.rnn.pad_sequence(torch.split(values, sizes), batch_first=True)
    assert torch.equal(pad_bags(values, segment, size), expected)
