"""Numbers with a mark between their thousands: read as what they are, and what they may be is said."""

import polars as pl
import pytest

from llp.datasets.files.kinds import find_kinds
from llp.datasets.files.options import check_files_options
from llp.datasets.files.values import number
from tests.helpers.own_files import default_options


def numbers(values, **reading):
    options = check_files_options(default_options(**reading))
    return pl.DataFrame({"x": values}).select(number("x", pl.String(), options.reading)).to_series().to_list()


@pytest.mark.parametrize(
    ("reading", "values", "expected"),
    [
        ({"thousands": "comma"}, ["5,300", "950", "-1,234,567.5", "0.25", "1e3"], [5300, 950, -1234567.5, 0.25, 1000]),
        ({"thousands": "point", "decimal": "comma"}, ["5.300", "950", "-1.234.567,5"], [5300, 950, -1234567.5]),
        ({"thousands": "space", "decimal": "comma"}, ["5 300", "5\u00a0300,5", "7\u202f000"], [5300, 5300.5, 7000]),
        ({"thousands": "apostrophe"}, ["5'300.25", "5\u2019300"], [5300.25, 5300]),
    ],
)
def test_marks_between_thousands_are_read(reading, values, expected):
    assert numbers(values, **reading) == expected


@pytest.mark.parametrize(
    ("reading", "values"),
    [
        ({"thousands": "comma"}, ["5,30", "53,00", "1,2345", "1234,567", ",300", "1,234,5"]),
        ({"thousands": "point", "decimal": "comma"}, ["5.3", "1.2345", "1234.567"]),
        ({}, ["5,300"]),
    ],
)
def test_marks_anywhere_else_make_no_number(reading, values):
    assert numbers(values, **reading) == [None] * len(values)


def note(values, **reading):
    options = check_files_options(default_options(label="y", **reading))
    lazy = pl.LazyFrame({"x": values * 5, "y": [0, 1] * (5 * len(values) // 2)})
    return find_kinds(lazy, options)[0].note


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["5,300", "12,000"], "numbers? thousands=comma or decimal=comma"),
        (["950", "1,234,567"], "numbers? thousands=comma"),
        (["950", "1,234.50"], "numbers? thousands=comma"),
        (["1,5", "12,000"], "numbers? decimal=comma"),
        (["1.234,50", "2,5"], "numbers? decimal=comma thousands=point"),
        (["5 300", "12 000"], "numbers? thousands=space"),
        (["5'300", "12"], "numbers? thousands=apostrophe"),
        (["5,300", "many"], ""),
    ],
)
def test_how_numbers_may_be_written_is_asked(values, expected):
    assert note(values) == expected


def test_a_decimal_comma_that_may_stand_between_thousands_is_asked():
    assert note(["5,300", "12,000"], decimal="comma") == "5,300 is 5.300, or 5300? thousands=comma"
    assert note(["5,30", "12,000"], decimal="comma") == ""
