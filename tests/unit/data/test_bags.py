"""Bags partition the train rows, for every kind of key."""

import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from llp.data.bags import Bags, GroupingKey, group_rows, key_codes, positions_of
from llp.data.build_bags import build_fold
from llp.errors import InputError
from tests.helpers.tables import make_table

KINDS = ("feature", "random", "fixed")


def key_of(kind, columns=("a", "c"), bag_size=16, low=5, high=40, seed=0):
    if kind == "feature":
        return GroupingKey("feature", columns, low_thresh=low, high_thresh=high)
    return GroupingKey(kind, () if kind == "random" else columns, bag_size=bag_size, seed=seed)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return make_table(tmp_path_factory.mktemp("bags") / "t", n=700)


def members(bags):
    return [bags.rows[start:stop] for start, stop in zip(bags.offsets[:-1], bags.offsets[1:], strict=True)]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    kind=st.sampled_from(KINDS),
    n=st.integers(60, 400),
    sizes=st.tuples(st.integers(1, 12), st.integers(1, 6)),
    columns=st.sampled_from([("a",), ("b",), ("a", "b")]),
    bag_size=st.integers(1, 80),
    low=st.integers(0, 8),
    fold=st.integers(0, 4),
    seed=st.integers(0, 3),
)
def test_bags_partition_the_train_rows(kind, n, sizes, columns, bag_size, low, fold, seed):
    with tempfile.TemporaryDirectory() as folder:
        table = make_table(Path(folder) / "t", n=n, sizes=sizes, seed=seed)
        key = key_of(kind, columns, bag_size, low, high=n // 2, seed=seed)
        values = [tuple(row) for row in np.asarray(table.categorical)[:, ["ab".index(c) for c in columns]]]
        count = Counter(values)
        rows = [i for i in range(n) if kind != "feature" or low <= count[values[i]] <= n // 2]
        if len(rows) < 10:
            with pytest.raises(InputError, match=f"leaves {len(rows)} rows"):
                build_fold(table, key, fold)
            return
        folds = build_fold(table, key, fold)
        bags = folds.train
        # train bags and test rows hold every row of the bag dataset exactly once
        np.testing.assert_array_equal(np.sort(np.concatenate([bags.rows, folds.test_rows])), rows)
        assert bags.offsets[0] == 0
        assert bags.offsets[-1] == len(bags.rows)
        assert (bags.sizes > 0).all()
        assert len(bags) == len(bags.offsets) - 1
        for bag, label_sum in zip(members(bags), bags.label_sum, strict=True):
            assert label_sum == table.label[bag].sum(dtype=np.float64)
        if kind == "feature":
            keys = [{values[row] for row in bag} for bag in members(bags)]
            assert all(len(key) == 1 for key in keys)
            assert len(set.union(*keys)) == len(keys)
        else:
            assert set(bags.sizes[:-1]) <= {bag_size}
            assert bags.sizes[-1] <= bag_size


@pytest.mark.parametrize("kind", KINDS)
def test_bags_are_the_same_each_time_and_other_in_another_fold(table, kind):
    first, again, other = (build_fold(table, key_of(kind), fold).train for fold in (0, 0, 1))
    np.testing.assert_array_equal(first.rows, again.rows)
    np.testing.assert_array_equal(first.offsets, again.offsets)
    assert not np.array_equal(first.rows, other.rows)


@pytest.mark.parametrize("kind", ["random", "fixed"])
def test_seed_of_the_key_changes_the_order(table, kind):
    first, other = (build_fold(table, key_of(kind, seed=seed), 0).train for seed in (0, 1))
    assert not np.array_equal(first.rows, other.rows)
    np.testing.assert_array_equal(np.sort(first.rows), np.sort(other.rows))


def test_fixed_bags_keep_a_group_together_and_groups_in_random_order(table):
    bags = build_fold(table, key_of("fixed"), 0).train
    codes = key_codes(table, ("a", "c"))[bags.rows]
    runs = codes[np.flatnonzero(np.diff(codes, prepend=codes[0] + 1))]
    assert len(runs) == len(set(runs)) == 15
    assert not np.array_equal(runs, np.sort(runs))


def test_size_filter_counts_on_the_whole_table(table):
    codes, counts = np.unique(key_codes(table, ("a", "c")), return_counts=True)
    low = int(np.sort(counts)[-3])
    folds = build_fold(table, key_of("feature", low=low, high=None), 0)
    assert len(folds.train) == (counts >= low).sum()
    assert folds.train.sizes.min() < low  # the train part of a bag that was just large enough
    assert len(codes) > len(folds.train)


def test_bag_limits_include_their_ends(table):
    counts = np.unique(key_codes(table, ("a",)), return_counts=True)[1]
    for low, high, kept in (
        (counts.min(), counts.max(), 5),
        (counts.min() + 1, counts.max(), 4),
        (0, counts.max() - 1, 4),
    ):
        assert len(build_fold(table, key_of("feature", ("a",), low=int(low), high=int(high)), 0).train) == kept


def test_key_with_no_bag_left_says_what_to_do(table):
    with pytest.raises(InputError, match=r"grouping_key=a_c: it leaves 0 rows in bags of 5000 to 40 .* widen"):
        build_fold(table, key_of("feature", low=5000), 0)


def test_key_codes_tell_all_combinations_apart_in_the_columns_order(table):
    codes = key_codes(table, ("a", "b", "c"))
    tuples = [tuple(row) for row in table.categorical]
    assert len(set(codes.tolist())) == len(set(tuples))
    assert [tuples[i] for i in np.argsort(codes, kind="stable")] == sorted(tuples)


def test_key_with_too_many_combinations_is_refused(tmp_path):
    table = make_table(tmp_path / "t", n=20, sizes=(2**31 - 1, 2**31 - 1, 8))
    assert len(np.unique(key_codes(table, ("a", "b")))) == 20
    with pytest.raises(InputError, match=r"a_b_c has more value combinations than 2\^63"):
        key_codes(table, ("a", "b", "c"))


@given(
    st.lists(st.integers(0, 5), max_size=40),
    st.sampled_from([1, 2**20, 2**60]),  # the last does not fit into one integer with the row
    st.integers(1, 1000),
)
def test_group_rows_is_a_stable_sort(keys, factor, step):
    key = np.array(keys, np.uint64) * np.uint64(factor)
    rows = np.arange(len(keys)) * step
    ordered, offsets = group_rows(key, rows)
    np.testing.assert_array_equal(ordered, rows[np.argsort(key, kind="stable")])
    if keys:
        assert np.diff(offsets).tolist() == [count for _, count in sorted(Counter(keys).items())]


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 6)), max_size=10))
def test_positions_are_the_runs_one_after_another(runs):
    starts, sizes = (np.array([run[i] for run in runs], np.int64) for i in (0, 1))
    expected = [start + i for start, size in runs for i in range(size)]
    assert positions_of(starts, sizes).tolist() == expected


def test_select_takes_bags_in_the_given_order():
    bags = Bags(np.array([5, 3, 8, 1, 0, 9]), np.array([0, 2, 3, 6]), np.array([1.0, 0.0, 2.0]))
    chosen = bags.select(np.array([2, 0]))
    assert chosen.rows.tolist() == [1, 0, 9, 5, 3]
    assert chosen.offsets.tolist() == [0, 3, 5]
    assert chosen.label_sum.tolist() == [2.0, 1.0]


def test_label_mean_is_by_instances():
    bags = Bags(np.arange(10), np.array([0, 1, 10]), np.array([1.0, 0.0]))
    assert bags.label_mean == 0.1


@pytest.mark.parametrize(
    ("key", "name"),
    [
        (key_of("feature", ("a",)), "a"),
        (key_of("feature"), "a_c"),
        (key_of("random", bag_size=64), "random_64"),
        (key_of("fixed", bag_size=128), "fixed_a_c_128"),
    ],
)
def test_name_of_a_key(key, name):
    assert key.name == name
