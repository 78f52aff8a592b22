"""Counting and the measures of bag sizes and label proportions, against plain loops and scipy."""

import warnings
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from llp.analysis import counting
from llp.analysis.counting import CodeColumn, GroupCounts, count_groups
from llp.analysis.hardness import hardness, value_at
from llp.analyze import is_kept

VOCAB = 5


def counts_of(size, label_sum, n_instances=None):
    size, label_sum = np.array(size, np.int64), np.array(label_sum, np.float64)
    return GroupCounts(n_instances or int(size.sum()), len(size), size, label_sum)


def measures_of(size, label_sum, label_kind="binary", low=None, high=None, n_instances=None):
    return hardness(counts_of(size, label_sum, n_instances), label_kind, low_thresh=low, high_thresh=high)


def groups_by_loop(codes, label):
    groups = defaultdict(list)
    for row, y in zip(codes.tolist(), label.tolist(), strict=True):
        groups[tuple(row)].append(y)
    return sorted((len(ys), sum(ys)) for ys in groups.values())


@pytest.mark.parametrize("direct_limit", [0, 2**22], ids=["sorted", "direct"])
@pytest.mark.parametrize("label_kind", ["binary", "real"])
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_groups_are_those_of_a_loop(direct_limit, label_kind, data):
    shape = (data.draw(st.integers(1, 60)), data.draw(st.integers(1, 3)))
    codes = data.draw(hnp.arrays(np.int32, shape, elements=st.integers(0, VOCAB - 1)))
    values = st.integers(0, 1) if label_kind == "binary" else st.integers(-8, 8)
    label = data.draw(hnp.arrays(np.float32, shape[0], elements=values.map(float)))
    smallest = data.draw(st.integers(1, 4))
    columns = [CodeColumn(f"C{j}", codes[:, j].astype(np.uint8), VOCAB) for j in range(shape[1])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "DIRECT_LIMIT", direct_limit)
        found = count_groups(columns, label, label_kind, smallest)
    expected = groups_by_loop(codes, label)
    assert found.n_instances == shape[0]
    assert found.n_groups == len(expected)
    listed = sorted(zip(found.size.tolist(), found.label_sum.tolist(), strict=True))
    assert listed == [group for group in expected if group[0] >= smallest]


def test_large_vocabularies_do_not_overflow():
    """Codes at the top of two vocabularies whose product needs more than 32 bits, in the narrow types."""
    first = CodeColumn("A", np.array([65535, 65535, 0, 65535], np.uint16), 2**16)
    second = CodeColumn("B", np.array([2**20 - 1, 2**20 - 1, 2**20 - 1, 0], np.int32), 2**20)
    found = count_groups([first, second], np.array([1, 0, 1, 1], np.float32), "binary", smallest=1)
    assert found.n_groups == 3
    assert sorted(zip(found.size.tolist(), found.label_sum.tolist(), strict=True)) == [(1, 1), (1, 1), (2, 1)]


def test_size_filter_counts_the_thresholds_in():
    measures = measures_of([49, 50, 2500, 2501], [1, 1, 1, 1], low=50, high=2500, n_instances=5200)
    assert (measures["n_bags"], measures["n_bags_kept"], measures["n_instances_kept"]) == (4, 2, 2550)
    assert measures["percent_instances_kept"] == pytest.approx(100 * 2550 / 5200)
    assert (measures["min_bag_size"], measures["max_bag_size"], measures["mean_bag_size"]) == (50, 2500, 1275)
    assert measures["std_bag_size"] == 1225  # of the population


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(0, 40)), min_size=2, max_size=12))
@settings(max_examples=60, deadline=None)
def test_association_and_likelihood_are_scipys(bags):
    size = np.array([k for k, _ in bags])
    label_sum = np.array([min(k, y) for k, y in bags])
    measures, real = measures_of(size, label_sum), measures_of(size, label_sum, label_kind="real")
    of_counts = ("log_likelihood", "chi2", "cramers_v", "percent_in_large_skewed_0.1")
    assert np.isnan([real[name] for name in of_counts]).all()
    assert real["label_bias"] == measures["label_bias"]
    p = label_sum.sum() / size.sum()
    assert measures["log_likelihood"] == pytest.approx(stats.binom.logpmf(label_sum, size, p).mean(), rel=1e-9)
    if p in (0, 1):
        assert np.isnan(measures["cramers_v"])
        assert np.isnan(measures["chi2"])
        return
    table = np.column_stack([label_sum, size - label_sum])
    assert measures["chi2"] == pytest.approx(stats.chi2_contingency(table, correction=False).statistic, abs=1e-9)
    expected = stats.contingency.association(table, method="cramer")
    assert measures["cramers_v"] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_large_skewed_bags_lie_strictly_beyond_the_limits_and_are_a_share_of_all_instances():
    measures = measures_of([200, 201, 400, 300, 100], [0, 20.1, 390, 15, 50], low=50, high=200, n_instances=1000)
    # 200 is not above the limit; 0.1 is not below 0.1; 0.975 is above 0.9; 0.05 is below 0.1 and not below 0.05
    assert measures["percent_in_large_skewed_0.1"] == pytest.approx(70)
    assert measures["percent_in_large_skewed_0.05"] == pytest.approx(40)


def test_one_bag_and_no_bag_are_undefined_not_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one = measures_of([60], [20])
        none = measures_of([10], [5], low=50, n_instances=10)
    assert np.isnan(one["cramers_v"])
    assert one["std_label_proportion"] == 0
    assert (none["n_bags"], none["n_bags_kept"], none["percent_instances_kept"]) == (1, 0, 0)
    undefined = {name for name, value in none.items() if np.isnan(value)}
    assert {"mean_bag_size", "bag_size_p50", "label_bias", "std_label_proportion", "log_likelihood"} <= undefined


def test_percentiles_are_the_values_at_the_floor_of_their_share_of_n():
    ordered = np.arange(100, 190)  # 0.7 · 90 is below 63 in floating point
    assert [value_at(ordered, q) - 100 for q in (0, 11, 12, 500, 700, 999)] == [0, 0, 1, 45, 63, 89]
    assert measures_of(ordered[::-1], np.zeros(90))["bag_size_p70"] == 163
    of_twenty = measures_of([20] * 20, range(19, -1, -1))
    assert [of_twenty[f"label_proportion_p{q}"] for q in (5, 25, 50, 75, 95)] == [0.05, 0.25, 0.5, 0.75, 0.95]


@pytest.mark.parametrize(
    ("kept", "percent", "expected"), [(3, 30.0, True), (3, 29.999, False), (0, 30.0, False), (1, 31.0, True)]
)
def test_a_key_that_keeps_exactly_the_share_is_kept_and_one_without_bags_is_not(kept, percent, expected):
    assert is_kept({"n_bags_kept": kept, "percent_instances_kept": percent}, 30.0) is expected
    assert not is_kept({"n_bags_kept": 0, "percent_instances_kept": 0.0}, 0.0)
