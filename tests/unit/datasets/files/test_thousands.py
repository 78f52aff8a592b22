"""Numbers with a mark between their thousands: read as what they are, and what they may be is said."""

import polars as pl
import pytest

from llp.datasets.files.kinds import find_kinds
from llp.datasets.files.options import check_files_options
from llp.datasets.files.values import number
from tests.helpers.own_files import default_options


@pytest.mark.parametrize(
    ("reading", "values", "expected"),
    [
        ({"thousands": "comma"}, ["5,300", "950", "-1,234,567.5", "0.25", "1e3"], [5300, 950, -1234567.5, 0.25, 1000]),
        ({"thousands": "point", "decimal": "comma"}, ["5.300", "950", "-1.234.567,5"], [5300, 950, -1234567.5]),
        ({"thousands": "space", "decimal": "comma"}, ["5 300", "5\u00a0300,5", "7\u202f000"], [5300, 5300.5, 7000]),
        ({"thousands": "apostrophe"}, ["5'300.25", "5\u2019300"], [5300.25, 5300]),
        ({"thousands": "comma"}, ["5,30", "53,00", "1,2345", "1234,567", ",300", "1,234,5"], [None] * 6),
        ({"thousands": "point", "decimal": "comma"}, ["5.3", "1.2345", "1234.567"], [None] * 3),
        ({}, ["5,300"], [None]),
    ],
)
def test_marks_between_thousands_are_read_and_anywhere_else_make_no_number(reading, values, expected):
    options = check_files_options(default_options(**reading))
    found = pl.DataFrame({"x": values}).select(number("x", pl.String(), options.reading))
    assert found.to_series().to_list() == expected


@pytest.mark.parametrize(
    ("values", "expected", "decimal"),
    [
        (["5,300", "12,000"], "numbers? thousands=comma or decimal=comma", "point"),
        (["950", "1,234,567"], "numbers? thousands=comma", "point"),
        (["950", "1,234.50"], "numbers? thousands=comma", "point"),
        (["1,5", "12,000"], "numbers? decimal=comma", "point"),
        (["1.234,50", "2,5"], "numbers? decimal=comma thousands=point", "point"),
        (["5 300", "12 000"], "numbers? thousands=space", "point"),
        (["5'300", "12"], "numbers? thousands=apostrophe", "point"),
        (["5,300", "many"], "", "point"),
        (["5,300", "12,000"], "5,300 is 5.300, or 5300? thousands=comma", "comma"),
        (["5,30", "12,000"], "", "comma"),
    ],
)
def test_how_numbers_may_be_written_is_asked(values, expected, decimal):
    options = check_files_options(default_options(label="y", decimal=decimal))
    lazy = pl.LazyFrame({"x": values * 5, "y": [0, 1] * (5 * len(values) // 2)})
    assert find_kinds(lazy, options)[0].note == expected
