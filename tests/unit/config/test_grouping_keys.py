"""Grouping keys by name."""

import pytest
from hydra.core.object_type import ObjectType
from omegaconf import OmegaConf

from llp.config.grouping_keys import GroupingKeySource, grouping_key_node, read_columns
from llp.config.points import _probe
from llp.data.keys import KINDS, GroupingKey, read_name
from tests.helpers.composed import composition, grouping_key


@pytest.mark.parametrize(
    ("name", "kind", "columns", "bag_size"),
    [
        ("C3", "feature", ["C3"], None),
        ("C1_C2_C3", "feature", ["C1", "C2", "C3"], None),
        ("random_1000", "random", [], 1000),
        ("fixed_C3_C11_512", "fixed", ["C3", "C11"], 512),
        ("prior_64", "prior", [], 64),
    ],
)
def test_key_by_name(tiny, name, kind, columns, bag_size):
    node = grouping_key_node(name)
    assert (node.kind, node.get("columns", []), node.get("bag_size")) == (kind, columns, bag_size)
    assert grouping_key(tiny(f"grouping_key={name}")).name == name


@pytest.mark.parametrize(
    ("known", "name", "columns"),
    [
        (["home_town", "age"], "home_town_age", ["home_town", "age"]),
        (["home_town", "age"], "fixed_home_town_64", ["home_town"]),
        (["age", "home_town", "is_1_2"], "age_home_town_is_1_2", ["age", "home_town", "is_1_2"]),
        (["home_town", "age"], "age_home_town", ["age", "home_town"]),  # in no table order, which is told
        (["home", "town", "home_town"], "home_town", ["home", "town"]),  # parts that are columns stay
        (["home_town", "home", "town_age", "age"], "home_town_age", ["home", "town", "age"]),  # two readings
        (["a__b", "_c"], "a__b__c", ["a__b", "_c"]),
        (["age"], "city_age", ["city", "age"]),
    ],
)
def test_names_of_keys_whose_columns_hold_underscores(tiny, known, name, columns):
    config = tiny(f"dataset.key_columns=[{','.join(known)}]", f"grouping_key={name}")
    assert list(config.grouping_key.columns) == columns


def test_columns_that_are_given_are_no_name(tiny):
    config = tiny("dataset.key_columns=[a_b,c]", "grouping_key=feature", "grouping_key.columns=[a,b]")
    assert list(config.grouping_key.columns) == ["a", "b"]


def test_lists_of_names_in_the_place_of_groups_are_left_alone():
    """As `llp.report dataset=[flights,diamonds]` has them."""
    names = {"dataset": ["a", "b"], "grouping_key": ["b_c", "d"]}
    for one in ({}, {"dataset": "a"}, {"grouping_key": {"columns": ["b", "c"]}}):
        config = OmegaConf.create(names | one)
        read_columns(config, "b_c")
        assert config == names | one


def test_thresholds_of_a_named_key_can_be_set(tiny):
    key = grouping_key(tiny("grouping_key=C1_C2", "grouping_key.low_thresh=7"))
    assert (key.low_thresh, key.high_thresh) == (7, 2500)


@pytest.mark.parametrize(
    ("dataset", "name"), [("flights", "month_dest"), ("synthetic", "C1_C23"), ("synthetic_sscl", "C11_C16")]
)
def test_dataset_has_a_default_key_which_the_user_replaces_on_either_side(dataset, name):
    chosen = ["grouping_key=random_64", f"dataset={dataset}"]
    assert grouping_key(composition("train", chosen[1])).name == name
    assert {grouping_key(composition("train", *order)).name for order in (chosen, chosen[::-1])} == {"random_64"}


def test_completion_lists_the_keys_of_the_shipped_datasets():
    names = GroupingKeySource("llp", "llp-keys://").list("grouping_key", ObjectType.CONFIG)
    assert {"month_dest", "C3_C11", "C7", "random_64", "random_512", "fixed_C3_C11_128"} <= set(names)
    assert "C11_C3" not in names


def test_integers_of_a_name_may_be_called_anything(monkeypatch):
    class StripesKey(GroupingKey):
        pattern = "stripes_{stripes}_{width}"
        stripes: int
        width: int

    monkeypatch.setitem(KINDS, "stripes", StripesKey)
    assert read_name("stripes_3_16") == ("stripes", {"stripes": 3, "width": 16})
    assert _probe("stripes_3_16") == "stripes_999983_999983"
    assert "stripes_64_64" in GroupingKeySource("llp", "llp-keys://").list("grouping_key", ObjectType.CONFIG)
