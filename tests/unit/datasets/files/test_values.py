"""One canonical text, number and date for a value, whatever the file's type: the same table and the same scores."""

import datetime
import decimal
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from llp.datasets.files import kinds
from llp.datasets.files.features import fit_features, plan_features
from llp.datasets.files.kinds import FIRST_ROWS, find_kinds
from llp.datasets.files.options import check_files_options
from llp.datasets.files.read import FilesReader, normalised
from llp.datasets.files.recipe import Recipe
from llp.datasets.files.values import date, number_text, text
from llp.datasets.reading.files import Files
from llp.datasets.reading.find import find_files
from llp.datasets.reading.records import BadLines
from tests.helpers.own_files import default_options

pytestmark = pytest.mark.run  # prepares data


def reading(**given):
    return check_files_options(default_options(**given)).reading


READING = reading()


def texts_of(series, **given):
    return series.to_frame("x").select(text("x", series.dtype, reading(**given))).to_series().to_list()


@pytest.mark.parametrize(
    "written",
    [
        ["1", "1.0", "1.00", pl.Series([1]), pl.Series([1.0]), pl.Series([1], dtype=pl.Float32),
         pl.Series([decimal.Decimal("1.00")])],
        ["0", "-0.0", "0.0", pl.Series([-0.0])],
        ["9007199254740993", pl.Series([2**53 + 1])],
        ["10000000000000000", pl.Series([1e16])],
        ["true", "True", "TRUE", pl.Series([True])],
        ["false", "False", pl.Series([False])],
        ["2024-01-05", "2024-01-05 00:00:00", "2024-01-05T00:00", "2024-01-05T00:00:00.000Z",
         pl.Series([datetime.date(2024, 1, 5)]), pl.Series([datetime.datetime(2024, 1, 5)])],
        ["2024-01-05 10:20:00", "2024-01-05T10:20", "2024-01-05 10:20:00+01:00", "2024-01-05T10:20:00.000000",
         pl.Series([datetime.datetime(2024, 1, 5, 10, 20)]),
         pl.Series([datetime.datetime(2024, 1, 5, 10, 20)]).dt.replace_time_zone("Europe/Berlin"),
         pl.Series([datetime.datetime(2024, 1, 5, 10, 20)]).cast(pl.Datetime("ns"))],
        ["2024-01-05 10:20:00.05", "2024-01-05T10:20:00.050000",
         pl.Series([datetime.datetime(2024, 1, 5, 10, 20, 0, 50_000)])],
    ],
)  # fmt: skip
def test_one_text_for_a_value_however_it_is_written(written):
    series = [pl.Series([one]) if isinstance(one, str) else one for one in written]
    assert [texts_of(one) for one in series] == [[written[0]]] * len(written)


@pytest.mark.parametrize(
    "other", ["01", "1.10", "007", "1.0.0", "1,0", "truely", "2024-13", "2024-01-05 x", "", "A 1.0"]
)
def test_other_texts_stay_as_they_are(other):
    assert texts_of(pl.Series([other])) == [other]


def test_a_decimal_comma_is_a_point():
    assert texts_of(pl.Series(["1,0", "1,5"]), decimal="comma") == ["1", "1,5"]
    found = pl.DataFrame({"x": ["1,50", "7", "a"]}).select(number_text(pl.col("x"), reading(decimal="comma")))
    assert found["x"].to_list() == ["1.5", "7", "a"]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**6), 10**6).map(float), min_size=1))
def test_the_text_of_a_number_is_the_number_and_canonical(x):
    shown = texts_of(pl.Series("x", x, dtype=pl.Float64))
    assert [float(one) for one in shown] == x
    assert texts_of(pl.Series(shown)) == shown
    other = pl.DataFrame({"x": [repr(one) for one in x]}).select(number_text(pl.col("x"), READING))["x"]
    assert [a for a, b in zip(other, x, strict=True) if b % 1] == [a for a, b in zip(shown, x, strict=True) if b % 1]


FORMATS = {
    "%y%m%d%H": ("24010510", datetime.datetime(2024, 1, 5, 10)),
    "%Y%m": ("202403", datetime.datetime(2024, 3, 1)),
    "%Y": ("2024", datetime.datetime(2024, 1, 1)),
    "%d.%m.%Y": ("05.01.2024", datetime.datetime(2024, 1, 5)),
    "%d.%m.%Y %H:%M": ("05.01.2024 10:30", datetime.datetime(2024, 1, 5, 10, 30)),
    "%Y-%m-%d %I %p": ("2024-01-05 3 PM", datetime.datetime(2024, 1, 5, 15)),
    "%Y-%m-%dT%H": ("2024-01-05T23", datetime.datetime(2024, 1, 5, 23)),
}


@pytest.mark.parametrize("pattern", FORMATS)
def test_a_date_needs_no_minutes_day_or_month(pattern):
    written, meant = FORMATS[pattern]
    series = [pl.Series([written])] + ([pl.Series([int(written)])] if written.isdigit() else [])
    for one in series:
        assert one.to_frame("x").select(date("x", one.dtype, date_format=pattern))["x"].to_list() == [meant]
        (found,) = find_kinds(one.to_frame("x").lazy(), check_files_options(default_options(date_format=pattern)))
        assert found.kind == "date"


def test_all_rows_are_read_as_dates_only_where_the_first_ones_are(monkeypatch):
    parsed = Counter()

    def counted(name, *arguments, **options):
        def note(values):
            parsed[name] += len(values)
            return values

        return date(name, *arguments, **options).map_batches(note)

    monkeypatch.setattr(kinds, "date", counted)
    days = [f"2024-01-{1 + i % 28:02d}" for i in range(2 * FIRST_ROWS)]
    frame = pl.DataFrame({"day": days, "text": ["none", *days[1:]], "late": [*days[:-1], "none"]})
    found = find_kinds(frame.lazy(), check_files_options(default_options()))
    assert [one.kind for one in found] == ["date", "categorical", "categorical"]
    assert parsed["text"] < 2 * FIRST_ROWS < min(parsed["day"], parsed["late"])


@pytest.mark.parametrize(
    ("texts", "known"), [(["1e3", "2.50"], ["1000", "2.5"]), (["3.1", "3.10"], None), (["007", "7"], None)]
)
def test_texts_are_compared_as_numbers_where_all_are_and_no_two_are_one(texts, known):
    options = check_files_options(default_options(categorical=["x"]))
    lazy = pl.LazyFrame({"x": texts * 20})
    (feature,), found = fit_features(lazy, plan_features(find_kinds(lazy, options), options.coding), options)
    assert (feature.numbers, found["x"].to_list()) == (known is not None, known or texts)


def test_durations_are_numbers_of_seconds():
    frame = pl.DataFrame({"x": [datetime.timedelta(minutes=1.5), None]})
    assert normalised(frame, READING)["x"].to_list() == [90.0, None]


N = 60
INTEGERS = st.integers(-3, 3) | st.integers(-(2**53), 2**53)
DATETIMES = st.datetimes(datetime.datetime(1990, 1, 1), datetime.datetime(2100, 1, 1))
COLUMNS = {
    "whole": (INTEGERS, pl.Int64),
    "real": (st.floats(-1e30, 1e30, allow_subnormal=False).map(lambda x: float(f"{x:.9g}")), pl.Float64),
    "money": (st.decimals(-999, 999, places=2), pl.Decimal(10, 2)),
    "truth": (st.booleans(), pl.Boolean),
    "day": (st.dates(datetime.date(1990, 1, 1), datetime.date(2100, 1, 1)), pl.Date),
    "at": (DATETIMES | DATETIMES.map(lambda at: at.replace(hour=0, minute=0, second=0, microsecond=0)), pl.Datetime),
    "hour": (st.times(), pl.Time),
    "words": (st.sampled_from(["a", "b c", "1", "1.0", "01", "3.10", "3.1", "True", "2024-01-05"]), pl.String),
}


@st.composite
def frames(draw):
    """Rows with a column of each kind: few different values, some missing."""
    rng, columns = np.random.default_rng(draw(st.integers(0, 99))), []
    for name, (values, kind) in COLUMNS.items():
        few = [*draw(st.lists(values, min_size=2, max_size=4)), *[None] * int(rng.integers(2))]
        columns.append(pl.Series(name, [few[i] for i in rng.integers(0, len(few), N)], dtype=kind))
    return pl.DataFrame(columns)


FORMS = {
    "mine.csv": lambda frame, path: frame.write_csv(path),
    "mine.parquet": lambda frame, path: frame.write_parquet(path),
    "zoned.arrow": lambda frame, path: frame.with_columns(pl.col("at").dt.replace_time_zone("UTC")).write_ipc(path),
    "floats.parquet": lambda frame, path: frame.cast({"whole": pl.Float64, "money": pl.Float64}).write_parquet(path),
    "floats.csv": lambda frame, path: frame.cast({"whole": pl.Float64, "money": pl.Float64}).write_csv(path),
    "texts.parquet": lambda frame, path: (
        frame.with_columns(pl.col("hour").dt.to_string("%H:%M:%S%.f")).cast(pl.String).write_parquet(path)
    ),
}


def fitted(path, options):
    """How the rows of a file are coded by themselves."""
    lazy = pl.concat(frames_of(path, options, raw=False)).lazy()
    planned = plan_features(find_kinds(lazy, options), options.coding)
    return Recipe(options, None, *fit_features(lazy, planned, options))


def frames_of(path, options, raw):
    files = Files(find_files([str(path)]), lambda n: None)
    return FilesReader(files, options.reading, BadLines("stop"), lambda name, columns: columns, raw=raw).frames()


@settings(max_examples=6, deadline=None, phases=[Phase.generate])
@given(frame=frames(), categorical=st.booleans())
def test_rows_are_coded_alike_whatever_the_form_of_their_file(frame, categorical, tmp_path_factory):
    """The form of training may differ from that of scoring, and the table from either is the same."""
    given = list(COLUMNS) if categorical else []
    options = check_files_options(default_options(categorical=given, rare_threshold=2))
    folder = tmp_path_factory.mktemp("forms")
    for name, write in FORMS.items():
        write(frame, folder / name)
    recipes = {name: fitted(folder / name, options) for name in FORMS}
    first, *others = recipes.values()
    for other in others:
        for one, expected in zip(other.features, first.features, strict=True):
            assert one == expected
        for name, known in first.vocabularies.items():
            assert other.vocabularies[name].to_list() == known.to_list()
    coded = [
        recipe.coder().encode(*frames_of(folder / name, options, raw=True))
        for recipe in (first, others[0])
        for name in FORMS
    ]
    for one in coded[1:]:
        np.testing.assert_array_equal(one.codes, coded[0].codes)
        np.testing.assert_array_equal(one.numbers, coded[0].numbers)
        np.testing.assert_array_equal(one.unknown, coded[0].unknown)
