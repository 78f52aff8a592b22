"""What is held out of bags that overlap shares no row with what is trained on."""

from dataclasses import replace

import numpy as np
import pytest

from llp.data.bag_order import BagOrder
from llp.data.bags import Bags
from llp.data.datamodule import Batching, HeldOut, LLPDataModule
from llp.data.keys import FoldBags, GivenKey
from llp.data.overlap import hold_out, sharing, split_bags
from llp.errors import InputError
from tests.helpers.tables import make_table


def bags_of(*rows):
    """Given bags of these rows."""
    offsets = np.cumsum([0, *map(len, rows)])
    return Bags(np.concatenate(rows).astype(np.int64), offsets, np.zeros(len(rows)), np.arange(len(rows)))


def random_bags(rng):
    return bags_of(*(rng.choice(400, rng.integers(1, 12), replace=False) for _ in range(rng.integers(4, 60))))


def by_two(n_regions, n_days):
    """A report by region and by day: a row is in a bag of both kinds."""
    rows = np.arange(n_regions * n_days).reshape(n_regions, n_days)
    return bags_of(*rows, *rows.T)


def shared(bags, kept, held):
    return set(bags.select(kept).rows) & set(bags.select(held).rows)


@pytest.mark.parametrize("seed", range(30))
def test_no_row_of_a_held_out_bag_is_trained_on(seed):
    bags = random_bags(np.random.default_rng(seed))
    kept, held = split_bags(bags, 0.2, seed)
    assert len(kept) > 0
    assert 1 <= len(held) <= max(1, round(0.2 * len(bags)))
    assert not shared(bags, kept, held)
    left_out = np.setdiff1d(np.arange(len(bags)), [*kept, *held])
    touched = sharing(bags)(held)
    assert set(left_out) <= set(touched)
    assert len(touched) <= len(bags) // 2 or len(held) == 1
    assert split_bags(bags, 0.2, seed)[1].tolist() == held.tolist()


def test_bags_without_a_common_row_are_held_out_as_ever():
    apart = bags_of(*np.arange(120).reshape(40, 3))
    assert not apart.overlap
    kept, held = split_bags(apart, 0.1, 3)
    assert (len(kept), len(held)) == (36, 4)
    assert not replace(apart, number=None).overlap
    order = np.random.default_rng(0).permutation(40)
    np.testing.assert_array_equal(np.sort(order[:4]), hold_out(apart, order, 4)[1])


def test_of_a_report_by_two_keys_bags_of_one_key_are_held_out():
    """A region shares rows with every day: with one held out no day would be left, so some days are."""
    bags = by_two(n_regions=5, n_days=30)
    for seed in range(5):
        kept, held = split_bags(bags, 0.1, seed)
        assert len(held) == 4
        assert (held >= 5).all()
        assert kept.tolist() == sorted({*range(5, 35)} - {*held.tolist()})


def test_the_bag_that_shares_rows_with_the_fewest_is_held_out_where_all_share_with_most():
    bags = bags_of([0, 1, 2, 3], [0, 4], [1, 4, 5], [2, 5], [3, 6])  # the last one with the first alone
    for seed in range(5):
        kept, held = split_bags(bags, 0.2, seed)
        assert (kept.tolist(), held.tolist()) == ([1, 2, 3], [4])
    three = bags_of([0, 1], [1, 2, 4], [2, 3], [3, 4, 1])
    kept, held = split_bags(three, 0.2, 0)
    assert len(held) == 1
    assert not shared(three, kept, held)


def test_bags_that_all_share_a_row_are_refused():
    with pytest.raises(InputError, match=r"^Invalid protocol=holdout: each of the 6 train bags shares rows with"):
        split_bags(bags_of(*([0, i] for i in range(1, 7))), 0.1, 0)


def test_a_copy_in_the_bags_order_is_split_as_the_table(tmp_path):
    """In the copy a row of two bags lies twice: what overlaps is told by the table's rows."""
    table, bags = make_table(tmp_path / "t", n=400), by_two(n_regions=10, n_days=40)
    key, fold_bags = GivenKey(n_folds=1), FoldBags(bags, np.empty(0, np.int64))
    order = BagOrder.of(table, fold_bags, "given")
    given = table, key, fold_bags, HeldOut("holdout", 0.1, 1.0), Batching(3, 10, False, seed=0, num_workers=0)
    plain = LLPDataModule(*given)
    copied = LLPDataModule(*given, bag_order=order)
    assert plain.bags_overlap
    assert copied.bags_overlap
    assert plain.n_left_out_bags == copied.n_left_out_bags > 0
    for one, other in ((plain.train_bags, copied.train_bags), (plain.held_out_bags, copied.held_out_bags)):
        np.testing.assert_array_equal(one.number, other.number)
        np.testing.assert_array_equal(one.rows, order.order[other.rows])
