"""Bags partition the train rows, for every kind of key."""

import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from llp.config.grouping_keys import read_option
from llp.data import bags
from llp.data.bags import Bags, group_rows, key_codes, positions_of
from llp.data.keys import KINDS, FeatureKey, read_name
from llp.data.keys.base import SizedKey
from llp.errors import InputError
from tests.helpers.tables import make_table

MADE = [kind for kind in KINDS if kind not in ("given", "report")]  # disjoint bags of any table's rows


def key_of(kind, columns=("a", "c"), bag_size=16, low=5, high=40, seed=0):
    """A key of any kind: the options of its YAML file, with those that a table of `make_table` has."""
    given = {"columns": columns, "bag_size": bag_size, "seed": seed}
    given |= {"low_thresh": low, "high_thresh": high, "column": "x0"}
    options = OmegaConf.to_container(read_option(f"grouping_key/{kind}"))
    given |= dict.fromkeys(set(KINDS[kind].integers()) - set(given), bag_size)
    return KINDS[kind](**{name: given.get(name, value) for name, value in options.items()})


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return make_table(tmp_path_factory.mktemp("bags") / "t", n=700, n_numeric=1)


def members(bags):
    return [bags.rows[start:stop] for start, stop in zip(bags.offsets[:-1], bags.offsets[1:], strict=True)]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    kind=st.sampled_from(MADE),
    n=st.integers(60, 400),
    sizes=st.tuples(st.integers(1, 12), st.integers(1, 6)),
    columns=st.sampled_from([("a",), ("b",), ("a", "b")]),
    bag_size=st.integers(1, 80),
    low=st.integers(1, 8),
    fold=st.integers(0, 4),
    seed=st.integers(0, 3),
)
def test_bags_partition_the_train_rows(kind, n, sizes, columns, bag_size, low, fold, seed):
    with tempfile.TemporaryDirectory() as folder:
        table = make_table(Path(folder) / "t", n=n, sizes=sizes, n_numeric=1, seed=seed)
        key = key_of(kind, columns, bag_size, low, high=n // 2, seed=seed)
        values = [tuple(row) for row in np.asarray(table.categorical)[:, ["ab".index(c) for c in columns]]]
        count = Counter(values)
        rows = [i for i in range(n) if kind != "feature" or low <= count[values[i]] <= n // 2]
        if len(rows) < 10:
            with pytest.raises(InputError, match=f"leaves {len(rows)} rows"):
                key.fold_bags(table, fold)
            return
        folds = key.fold_bags(table, fold)
        bags = folds.train
        # train bags and test rows hold every row of the bag dataset exactly once
        np.testing.assert_array_equal(np.sort(np.concatenate([bags.rows, folds.test_rows])), rows)
        assert bags.offsets[0] == 0
        assert bags.offsets[-1] == len(bags.rows)
        assert (bags.sizes > 0).all()
        assert len(bags) == len(bags.offsets) - 1
        whole = key.all_bags(table)
        np.testing.assert_array_equal(np.sort(whole.rows), rows)
        for every in (bags, whole):
            for bag, label_sum in zip(members(every), every.label_sum, strict=True):
                assert label_sum == table.label[bag].sum(dtype=np.float64)
        if isinstance(key, FeatureKey):
            keys = [{values[row] for row in bag} for bag in members(bags)]
            assert all(len(key) == 1 for key in keys)
            assert len(set.union(*keys)) == len(keys)
        if isinstance(key, SizedKey):
            assert bags.sizes.max() <= bag_size
            assert set(np.sort(bags.sizes)[1:]) <= {bag_size}


def test_fixed_bags_keep_a_group_together_and_groups_in_random_order(table):
    for made in (key_of("fixed").fold_bags(table, 0).train, key_of("fixed").all_bags(table)):
        codes = key_codes(table, ("a", "c"))[made.rows]
        runs = codes[np.flatnonzero(np.diff(codes, prepend=codes[0] + 1))]
        assert len(runs) == len(set(runs)) == 15
        assert not np.array_equal(runs, np.sort(runs))


def test_bag_limits_include_their_ends(table):
    counts = np.unique(key_codes(table, ("a",)), return_counts=True)[1]
    for low, high, kept in (
        (counts.min(), counts.max(), 5),
        (counts.min() + 1, counts.max(), 4),
        (1, counts.max() - 1, 4),
    ):
        assert len(key_of("feature", ("a",), low=int(low), high=int(high)).fold_bags(table, 0).train) == kept


def test_key_with_no_bag_left_says_what_to_do(table):
    with pytest.raises(InputError, match=r"grouping_key=a_c: it leaves 0 rows in bags of 5000 to 40 .* widen"):
        key_of("feature", low=5000).fold_bags(table, 0)


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
    for least in (bags.COUNTED, 1):  # from 1 row on, small keys are counted
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bags, "COUNTED", least)
            ordered, offsets = group_rows(key, rows)
        np.testing.assert_array_equal(ordered, rows[np.argsort(key, kind="stable")])
        assert {ordered.dtype, offsets.dtype} == {np.dtype(np.int64)}
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


@pytest.mark.parametrize("kind", KINDS)
def test_a_keys_name_is_read_as_its_kind_and_what_it_names(kind):
    key = key_of(kind)
    found, said = read_name(key.name)
    assert found == kind
    assert said == {name: list(key.columns) if name == "columns" else key.options[name] for name in said}
