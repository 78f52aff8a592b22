"""Codes and transforms against plain Python."""

import math
from collections import Counter

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from llp.datasets.encode import (
    category,
    eight_digits,
    encode_column,
    log2_squared,
    natural_log_squared,
    quantile_bins,
)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from(["a", "b", "c", "d", "aa", None]), min_size=1), st.integers(0, 4))
def test_codes_follow_count_then_value(values, rare_at_most):
    counts = Counter(values)
    frequent = [value for value in counts if counts[value] > rare_at_most]
    frequent.sort(key=lambda value: (-counts[value], value is not None, value or ""))
    codes, known = encode_column(pl.Series(values, dtype=pl.String), rare_at_most=rare_at_most)
    expected = [1 + frequent.index(value) if value in frequent else 0 for value in values]
    assert codes.tolist() == expected
    assert known.to_list() == frequent


@given(st.lists(st.one_of(st.none(), st.integers(0, 2**32 - 1))))
def test_eight_digits_are_the_numbers(numbers):
    text = eight_digits(pl.Series(numbers, dtype=pl.UInt32)).to_list()
    assert text == [None if number is None else f"{number:08x}" for number in numbers]


def test_missing_is_a_value_or_rare():
    counts = pl.DataFrame({"value": [7, None], "len": [20, 30]})
    as_value = category(counts, rare_at_most=10, missing_is_value=True)
    as_rare = category(counts, rare_at_most=10, missing_is_value=False)
    assert (as_value.known.to_list(), as_value.missing, as_value.any_rare) == ([None, 7], 30, False)
    assert (as_rare.known.to_list(), as_rare.missing, as_rare.any_rare) == ([7], 30, True)


def test_natural_log_squared_is_the_whole_part():
    values = [*range(-5, 2000), 10**5, 3 * 10**7]
    ours = pl.DataFrame({"x": values}).select(natural_log_squared("x"))["x"].to_list()
    assert ours == [int(math.log(x) ** 2) if x > 2 else x for x in values]


def test_log2_squared_leaves_small_numbers():
    ours = log2_squared(np.array([-3.0, 0.0, 2.0, 2.5, 1024.0]))
    np.testing.assert_allclose(ours, [-3, 0, 2, math.log2(2.5) ** 2, 100])


def test_quantile_bins_rise_with_the_value_and_keep_the_missing_apart():
    values = pl.Series([None, *np.random.default_rng(0).normal(size=1000)])
    codes, edges = quantile_bins(values, bins=10)
    assert codes[0] == 0
    assert len(edges) == 9
    order = np.argsort(values[1:].to_numpy())
    assert (np.diff(codes[1:][order]) >= 0).all()
    assert np.bincount(codes[1:], minlength=11)[1:].tolist() == [100] * 10


def test_equal_quantiles_are_one_edge():
    codes, edges = quantile_bins(pl.Series([0.0] * 90 + [1.0] * 10), bins=4)
    assert edges.tolist() == [0]
    assert set(codes[:90]) != set(codes[90:])
