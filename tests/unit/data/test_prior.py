"""Curated bags: the best of all partitions by size, without a look at a label, inside the folds."""

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llp.data.keys import PriorKey, RandomKey
from llp.data.keys.prior import curated_runs, scores_digest
from llp.data.table import InstanceTable
from llp.errors import InputError
from tests.helpers.tables import make_table

pytestmark = pytest.mark.run  # trains


def within(prior, bags):
    """Sum of squares of the prior around the bags' means."""
    return sum(((prior[list(bag)] - prior[list(bag)].mean()) ** 2).sum() for bag in bags)


def partitions(members, sizes):
    """Every partition of members into bags of these sizes."""
    if not sizes:
        yield []
        return
    for bag in itertools.combinations(members, sizes[0]):
        for others in partitions([one for one in members if one not in bag], sizes[1:]):
            yield [bag, *others]


def members(order, offsets):
    return [order[start:stop] for start, stop in itertools.pairwise(offsets)]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-20, 20), min_size=1, max_size=7), st.integers(1, 4), st.integers(0, 3))
def test_no_partition_with_these_sizes_is_tighter(values, bag_size, seed):
    prior = np.array(values, np.float64)
    order, offsets = curated_runs(prior, bag_size, np.random.default_rng(seed))
    bags = members(order, offsets)
    n_full, rest = divmod(len(values), bag_size)
    assert sorted(map(len, bags)) == sorted([bag_size] * n_full + [rest] * bool(rest))
    assert sorted(order.tolist()) == list(range(len(values)))
    sizes = [len(bag) for bag in bags]
    best = min(within(prior, partition) for partition in partitions(range(len(values)), sizes))
    assert within(prior, bags) == pytest.approx(best, abs=1e-9)


def test_equal_priors_lie_in_a_drawn_order():
    one, other = (curated_runs(np.zeros(40), 8, np.random.default_rng(seed))[0] for seed in (0, 1))
    assert one.tolist() != other.tolist() != list(range(40))


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return make_table(tmp_path_factory.mktemp("prior") / "t", n=700, n_numeric=2)


KEY = PriorKey(bag_size=16, seed=0, column="x1", scores=None)


@pytest.mark.parametrize("fold", [0, 3])
def test_bags_lie_inside_the_fold_and_rise_in_the_prior(table, fold):
    folds = KEY.fold_bags(table, fold)
    bags = folds.train
    assert np.array_equal(folds.test_rows, RandomKey(bag_size=16, seed=0).fold_bags(table, fold).test_rows)
    prior = table.numeric[bags.rows, 1]
    assert (np.diff(prior) >= 0).all()
    assert len(KEY.all_bags(table).rows) == 700


def test_labels_play_no_part_in_the_bags(table, tmp_path):
    unlabelled = make_table(tmp_path / "t", n=700, n_numeric=2)
    label = np.load(unlabelled.folder / "label.npy")
    np.save(unlabelled.folder / "label.npy", 1 - label)
    one, other = (KEY.fold_bags(each, 2).train for each in (table, InstanceTable.open(unlabelled.folder)))
    assert np.array_equal(one.rows, other.rows)
    assert np.array_equal(one.offsets, other.offsets)
    assert np.array_equal(other.label_sum, other.sizes - one.label_sum)


@pytest.mark.parametrize(
    ("ending", "name"), [("parquet", "probability"), ("csv", "prediction"), ("arrow", "prediction")]
)
def test_scores_of_a_file_are_read_by_row(table, tmp_path, ending, name):
    path = tmp_path / f"scores.{ending}"
    frame = pl.DataFrame({"id": range(700), name: table.numeric[:, 1].astype(np.float64)})
    {"parquet": frame.write_parquet, "csv": frame.write_csv, "arrow": frame.write_ipc}[ending](path)
    by_file = PriorKey(bag_size=16, seed=0, scores=str(path), column=None).fold_bags(table, 0).train
    assert np.array_equal(by_file.rows, KEY.fold_bags(table, 0).train.rows)
    before = scores_digest(str(path))
    frame.with_columns(pl.col(name) * 2).write_csv(path)
    assert scores_digest(str(path)) != before


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("probability\n0.5\n", r"a score for each of the 700 rows of t, it has 1$"),
        ("other\n0.5\n", "a column probability or prediction of finite numbers"),
        ("probability\nnan\n", "a column probability or prediction of finite numbers"),
        ("probability\nx\n", "cannot be read: conversion"),
        ("probability\n" + "0.5\n" * 701, r"a score for each of the 700 rows of t, it has 701$"),
        ("row,probability\n" + "1,0.5\n" * 699 + "1,\n", "a column probability or prediction of finite numbers"),
        (None, "a file of scores that ends in .parquet, .arrow, .csv"),
    ],
)
def test_wrong_scores_are_told_in_a_line(table, tmp_path, content, told):
    path = tmp_path / "scores.csv"
    if content:
        path.write_text(content)
    with pytest.raises(InputError, match=told) as error:
        PriorKey(bag_size=16, scores=str(path), seed=0, column=None).values(table)
    assert "\n" not in str(error.value)


def test_column_that_is_no_number_is_told(table):
    with pytest.raises(InputError, match=r"column='a': expected a numeric column of t, which has x0, x1, such as"):
        PriorKey(bag_size=16, column="a", seed=0, scores=None).values(table)
