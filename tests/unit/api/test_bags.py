"""Proportions and sizes of bags in every form: the same bags, or one error that says how to write them."""

import random
from datetime import date, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llp.api.bags import bag_labels
from llp.errors import InputError

IDS = {
    "numbers from 0": lambda i: i,
    "numbers": lambda i: 7 * i - 20,
    "numbers with a point": lambda i: i / 2 + 0.25,
    "decimals": lambda i: Decimal(3 * i) / 2,
    "texts of numbers": str,
    "texts": lambda i: f"bag {i}",
    "dates": lambda i: date(2026, 1, 1) + timedelta(days=i),
    "moments": lambda i: pd.Timestamp(2026, 1, 1) + pd.Timedelta(minutes=100 * i + 1),
    "truth": lambda i: bool(i % 2),
}
BAGS = {
    "list": list,
    "array": np.array,
    "objects": lambda ids: np.array(ids, dtype=object),
    "pandas": pd.Series,
    "pandas, other rows": lambda ids: pd.Series(ids, index=[3 * i + 2 for i in range(len(ids))]),
    "pandas, nullable": lambda ids: pd.Series(ids).convert_dtypes(),
    "polars": pl.Series,
}
# by form: the numbers of bags by id {id: number}, for the ids of the instances in the form that they are given in
BY_ID = {
    "mapping": lambda of_bag, ids, rows: of_bag,
    "mapping of texts": lambda of_bag, ids, rows: {str(one): of_bag[one] for one in of_bag},
    "mapping of more bags": lambda of_bag, ids, rows: {**of_bag, "another": 0.123},
    "Series by id": lambda of_bag, ids, rows: pd.Series(of_bag),
    "Series by id, shuffled": lambda of_bag, ids, rows: pd.Series(of_bag).sample(frac=1, random_state=1),
    "Series by groupby": lambda of_bag, ids, rows: pd.Series([of_bag[one] for one in ids]).groupby(list(ids)).first(),
}
BY_POSITION = {
    "of sorted bags": lambda of_bag, ids, rows: [of_bag[one] for one in sorted(of_bag)],
    "array of sorted bags": lambda of_bag, ids, rows: np.array([of_bag[one] for one in sorted(of_bag)]),
    "of each instance": lambda of_bag, ids, rows: [of_bag[one] for one in ids],
    "array of each instance": lambda of_bag, ids, rows: np.array([of_bag[one] for one in ids]),
    "polars of each instance": lambda of_bag, ids, rows: pl.Series([of_bag[one] for one in ids]),
    "Series of each instance": lambda of_bag, ids, rows: pd.Series([of_bag[one] for one in ids]),
    "column beside the bags": lambda of_bag, ids, rows: pd.Series([of_bag[one] for one in ids], index=rows),
    "Series of each instance, other rows": lambda of_bag, ids, rows: pd.Series(
        [of_bag[one] for one in ids], index=[-4 - i for i in range(len(ids))]
    ),
    "Series of each instance by bag": lambda of_bag, ids, rows: pd.Series(
        [of_bag[one] for one in ids], index=list(ids)
    ),
}


@st.composite
def given_bags(draw):
    """Ids of the instances, their bags as they are given, and a form of the bags' numbers."""
    number = draw(st.lists(st.integers(0, draw(st.integers(0, 15))), min_size=1, max_size=20))
    if draw(st.booleans()):
        number = list(dict.fromkeys(number))  # each its own bag
    kind = draw(st.sampled_from(sorted(IDS)))
    bags = BAGS[draw(st.sampled_from(sorted(BAGS)))]
    return [IDS[kind](i) for i in number], bags, draw(st.sampled_from(sorted({**BY_ID, **BY_POSITION})))


def or_error(work):
    try:
        return work()
    except InputError as error:
        return error


@settings(max_examples=150, deadline=None)
@given(given_bags(), st.integers(0, 2**31))
def test_every_form_of_proportions_and_sizes_gives_the_same_bags_or_one_error(case, seed):
    ids, form_of_bags, form = case
    bags, numbers = form_of_bags(ids), random.Random(seed)
    of_bag = {one: numbers.choice([0.0, 0.25, numbers.random()]) for one in ids}
    rows = bags.index if isinstance(bags, pd.Series) else None
    expected = bag_labels(len(ids), None, bags, {str(one): value for one, value in of_bag.items()}, None)
    np.testing.assert_array_equal(expected.label_sum[expected.number], [of_bag[one] * ids.count(one) for one in ids])
    sizes = {one: ids.count(one) for one in ids}
    make = {**BY_ID, **BY_POSITION}[form]
    found = or_error(lambda: bag_labels(len(ids), None, bags, make(of_bag, ids, rows), make(sizes, ids, rows)))
    if isinstance(found, InputError):  # the same numbers would be another's under another reading
        each_its_own, by_row_number = len(of_bag) == len(ids), isinstance(ids[0], int | float) and "Series" in form
        beside_nothing = form == "column beside the bags" and rows is None
        of_each = "Series of each" in form or beside_nothing
        assert of_each or (each_its_own and (form in BY_POSITION or by_row_number)), found
        assert "to_dict()" in str(found) or "dict(zip(bags" in str(found)
        return
    for name in ("number", "size", "label_sum"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=f"{form}: {name}")


def test_a_series_of_a_number_for_each_instance_is_not_read_by_its_row_number():
    bags, of_bag = [2, 0, 1, 2, 1], {0: 0.1, 1: 0.2, 2: 0.9}
    frame = pd.DataFrame({"bag": bags, "share": [of_bag[one] for one in bags]})
    beside = bag_labels(5, None, frame["bag"], frame["share"], None)
    np.testing.assert_allclose(beside.proportion, [0.1, 0.2, 0.9])
    part = frame[frame["bag"] != 0]  # as a cross-validation hands it over
    np.testing.assert_allclose(bag_labels(4, None, part["bag"], part["share"], None).proportion, [0.2, 0.9])
    with pytest.raises(InputError, match=r"proportions.to_dict\(\) if the index names bags, proportions.to_numpy"):
        bag_labels(5, None, np.array(bags), frame["share"], None)
    sizes = pd.Series([2, 1, 2, 2, 2])
    assert bag_labels(5, None, frame["bag"], of_bag, sizes).size.tolist() == [1, 2, 2]
    with pytest.raises(InputError, match=r"bag_sizes.to_dict\(\)"):
        bag_labels(5, None, bags, of_bag, sizes)


def test_numbers_of_bags_of_one_instance_are_taken_by_id_or_where_the_order_is_clear():
    with pytest.raises(InputError, match=r"write dict\(zip\(bags, proportions\)\) if it is in the order of the inst"):
        bag_labels(3, None, [30, 10, 20], [0.3, 0.1, 0.2], None)
    np.testing.assert_array_equal(bag_labels(3, None, [10, 20, 30], [0.1, 0.2, 0.3], None).label_sum, [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(bag_labels(2, None, [20, 10], {10: 0.1, 20: 0.2}, [1, 1]).label_sum, [0.1, 0.2])


def test_ids_that_are_floats_are_known_by_whole_numbers_and_those_too_large_for_floats_are_told_apart():
    bags = np.array([10.0, 2.0, 10.0, 2.0], dtype=object)
    for form in ({10: 0.1, 2: 0.2}, {"10": 0.1, "2": 0.2}, [0.2, 0.1], pd.Series([0.1, 0.2], index=[10, 2])):
        found = bag_labels(4, None, bags, form, None)
        assert dict(zip(found.ids, found.proportion.tolist(), strict=True)) == {"10": 0.1, "2": 0.2}
    large = [Decimal(2**53), Decimal(2**53 + 1)]
    assert len(bag_labels(2, None, large, dict.fromkeys(large, 0.5), None).ids) == 2


def test_numbers_of_each_instance_where_every_instance_names_one_bag_in_a_list():
    found = bag_labels(3, None, [["b"], ["a"], ["b"]], [0.5, 1, 0.5], None)
    np.testing.assert_array_equal(found.label_sum, [1, 1])
    with pytest.raises(InputError, match=r"has the shape \(3,\), expected a number for each of the 2 bags$"):
        bag_labels(3, None, [["b"], ["a", "b"], ["b"]], [0.5, 1, 0.5], None)


@pytest.mark.parametrize(
    ("proportions", "message"),
    [
        ({"a": 0.5}, "proportions lacks 1 of the bags, such as b"),
        (pd.Series([0.5, 0.5], index=["a", "c"]), "proportions lacks 1 of the bags, such as b"),
        (pd.Series([0.5, 0.4], index=["A", "B"]), "proportions lacks 2 of the bags, such as a"),
        ([0.5, 0.4, 0.3, 0.4], "proportions differs within the bag a"),
        ([0.5, 0.4, 0.1], "proportions has the shape (3,), expected a number for each of the 2 bags or of the 4 ins"),
        (pd.DataFrame({"a": [0.1], "b": [0.2]}), "proportions has the shape (1, 2), expected a number"),
        ({"a": 0.5, "b": None}, "proportions of bag b is no finite number"),
        ({"a": 0.5, "b": pd.NA}, "proportions holds something else than a number for each bag"),
        (pd.Series([0.5, 0.4, 0.3], index=["a", "b", "b"]), "proportions names the bag b more than once"),
        ("half", "proportions holds something else than a number for each bag"),
        ({0.5, 0.4}, "proportions holds something else than a number for each bag"),
    ],
)
def test_wrong_proportions_are_refused(proportions, message):
    with pytest.raises(InputError) as raised:
        bag_labels(4, None, ["a", "b", "a", "b"], proportions, None)
    assert message in str(raised.value)


@pytest.mark.parametrize("kind", [pl.DataFrame, pd.DataFrame])
def test_a_frame_of_bags_is_refused_by_its_shape(kind):
    with pytest.raises(
        InputError, match=r"^bags has the shape \(3, 1\), expected \(3,\): the bag of each instance of X$"
    ):
        bag_labels(3, None, kind({"bag": [1, 2, 1]}), {1: 0.5, 2: 0.5}, None)


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT])
def test_a_missing_bag_is_refused(missing):
    with pytest.raises(InputError, match="name the bag of each instance"):
        bag_labels(2, None, np.array(["a", missing], dtype=object), {"a": 1}, None)
