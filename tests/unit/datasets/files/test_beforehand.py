"""`llp.train dataset=files ...`: the table is prepared before Hydra composes, and named in its place."""

import polars as pl
import pytest

from llp.config.composition import register
from llp.data.table import read_schema
from llp.errors import InputError
from llp.train import prepare_beforehand

pytestmark = pytest.mark.run  # prepares data


@pytest.fixture
def words(tmp_path):
    register()
    rows = pl.DataFrame({"shop": ["a", "b"] * 30, "price": range(60), "bought": [0, 0, 1] * 20})
    rows.write_csv(tmp_path / "mine.csv", separator=";")
    files = ["name=mine", f"files='{tmp_path}/mine.csv'", "label=bought", "rare_threshold=2", "separator=semicolon"]
    return ["-m", "dataset=files", *files, f"data_dir={tmp_path}/data", "method=upm,dllp_bce", "seed=1"]


def test_table_is_prepared_and_named(words, tmp_path):
    expected = ["-m", f"data_dir={tmp_path}/data", "method=upm,dllp_bce", "seed=1", "dataset=mine"]
    assert prepare_beforehand(words) == expected
    schema = tmp_path / "data" / "mine" / "schema.json"
    assert read_schema(schema.parent).rows == 60
    made = schema.stat().st_mtime_ns
    assert prepare_beforehand(words) == expected
    assert schema.stat().st_mtime_ns == made, "it was prepared again"


def test_what_differs_from_the_table_that_is_there_is_told(words):
    prepare_beforehand(words)
    with pytest.raises(InputError, match=r'made by \{"coding.bins": 32\}, this run asks for \{"coding.bins": 8\}'):
        prepare_beforehand([*words, "bins=8"])


@pytest.mark.parametrize(
    ("left_out", "message"), [("name=", r"^Missing name: expected"), ("label=", r"^Missing label: expected its column")]
)
def test_what_is_missing_is_told_and_nothing_is_made(words, tmp_path, left_out, message):
    with pytest.raises(InputError, match=message):
        prepare_beforehand([word for word in words if not word.startswith(left_out)])
    assert not list((tmp_path / "data").glob("[!.]*"))


@pytest.mark.parametrize("change", [["--help"], ["--cfg", "job"]])
def test_nothing_is_prepared_where_something_is_shown(words, tmp_path, change):
    assert prepare_beforehand([*words, *change]) == [*words, *change]
    assert not (tmp_path / "data").exists()


def test_other_datasets_are_left_alone():
    given = ["-m", "dataset=flights", "name=mine", "method=upm"]
    assert prepare_beforehand(given) == given
