"""Coding rows in blocks, by remembered values, against coding each value of the whole column in the plain way."""

import datetime
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest

from llp.datasets.encode import encode
from llp.datasets.files import recipe as coder_module
from llp.datasets.files.features import Feature, fit_features, plan_features, value_of
from llp.datasets.files.kinds import find_kinds
from llp.datasets.files.options import check_files_options
from llp.datasets.files.read import normalised
from llp.datasets.files.recipe import RowCoder
from llp.datasets.files.remembered import FREE
from tests.helpers.own_files import default_options

pytestmark = pytest.mark.run  # prepares data

N = 3000
RNG = np.random.default_rng(0)
DAYS = [datetime.date(2020, 1, 1) + datetime.timedelta(days=int(i)) for i in RNG.integers(0, 900, N)]


def with_nulls(values, every):
    return [None if i % every == 1 else value for i, value in enumerate(values)]


def text(values):
    return [f"value {i}" for i in values]


FRAME = pl.DataFrame(
    {
        "text": with_nulls([f" {one}" if i % 3 else one for i, one in enumerate(text(RNG.zipf(1.5, N) % 300))], 17),
        "category": pl.Series(with_nulls(text(RNG.integers(0, 40, N)), 31), dtype=pl.Categorical),
        "whole": with_nulls(RNG.integers(-20, 20, N).tolist(), 13),
        "yes": with_nulls((RNG.random(N) < 0.3).tolist(), 19),
        "signed": with_nulls(RNG.choice([0.0, -0.0, 1.5, np.nan], N).tolist(), 29),
        "day": with_nulls(DAYS, 41),
        "day as text": with_nulls([str(day) for day in DAYS], 43),
        "price": with_nulls(RNG.lognormal(size=N).tolist(), 11),
        "price as text": with_nulls([str(one) for one in RNG.normal(size=N).round(3)], 23),
        "count": RNG.integers(0, 50, N).astype(np.int16),
        "exact": pl.Series(RNG.integers(0, 9, N)).cast(pl.Decimal(10, 2)),
    }
)
TEXTS = ["text", "category", "whole", "yes", "signed"]


def options_of(**coding):
    return check_files_options(default_options(categorical=TEXTS, missing=["?", "value 7"], rare_threshold=9, **coding))


@pytest.fixture(scope="module", params=["both", "standardised"])
def fitted(request):
    """Features, vocabularies and options of two thirds of the rows: the others hold unseen values too."""
    options = options_of(numeric_as=request.param)
    lazy = normalised(FRAME[: 2 * N // 3], options.reading).lazy()
    return *fit_features(lazy, plan_features(find_kinds(lazy, options), options.coding), options), options


def plainly(features, vocabularies, options):
    """Codes (Fc, n) and numbers (n, Fn) of all rows, each column as a whole."""
    frame, codes, numbers = normalised(FRAME, options.reading), [], []
    for one in features:
        x = frame.select(value_of(one, frame.schema[one.column], options)).to_series()
        if one.has_vocabulary:
            codes.append(encode(x, vocabularies[one.name]))
        elif one.value == "bins":
            placed = 1 + np.searchsorted(one.edges, x.fill_null(0).to_numpy())
            codes.append(np.where(x.is_null().to_numpy(), 0, placed))
        else:
            numbers.append((x.fill_null(one.mean).to_numpy() - one.mean) / one.std)
    return np.stack(codes), np.stack(numbers, axis=1).astype(np.float32)


@pytest.mark.parametrize(("block", "raw"), [(N, True), (700, True), (1, True), (700, False)])
def test_blocks_of_rows_are_coded_as_the_whole_columns(fitted, block, raw):
    """As they stand in the file, or normalised."""
    frame = FRAME if raw else normalised(FRAME, fitted[2].reading)
    frame = frame[:50] if block == 1 else frame
    coder = RowCoder(*fitted)
    found = [coder.encode(frame.slice(start, block)) for start in range(0, frame.height, block)]
    codes, numbers = plainly(*fitted)
    np.testing.assert_array_equal(np.concatenate([one for one, _, _ in found], axis=1), codes[:, : frame.height])
    np.testing.assert_array_equal(np.concatenate([one for _, one, _ in found]), numbers[: frame.height])


def test_threads_share_what_is_remembered(fitted):
    coder = RowCoder(*fitted)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda start: coder.encode(FRAME.slice(start, 100))[0], range(0, N, 100)))
    np.testing.assert_array_equal(np.concatenate(found, axis=1), plainly(*fitted)[0])


def test_values_beyond_the_memory_s_bound_are_coded_anew(monkeypatch):
    """A column of ids: what is remembered is bounded, and the codes are right all the same."""
    monkeypatch.setattr(coder_module, "REMEMBERED", 500)
    frame = pl.DataFrame({"id": [f"id {i % 4000}" for i in range(8000)]})
    known = pl.Series(["id 3", "id 3999", None], dtype=pl.String)
    coder = RowCoder([Feature(name="id", column="id", value="text")], {"id": known}, options_of())
    codes = np.concatenate([coder.encode(frame.slice(start, 1000))[0][0] for start in range(0, 8000, 1000)])
    np.testing.assert_array_equal(codes, encode(frame["id"], known))
    (memory,) = coder._remembered.values()
    keys, known = memory._table
    assert np.count_nonzero(known != FREE) == 500 + 2 * 3
    assert len(keys) <= 4096
