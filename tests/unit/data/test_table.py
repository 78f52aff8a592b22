"""A table on disk: what was written is read, and what is damaged, foreign or unfinished is refused."""

import json
import sys

import numpy as np
import pytest

from llp.data.table import Column, InstanceTable
from llp.data.table_writer import TableWriter, remove_unfinished
from llp.errors import InputError
from tests.helpers.tables import make_table


@pytest.fixture
def folder(tmp_path):
    return make_table(tmp_path / "t", n=450, sizes=(5, 7), n_numeric=2).folder


def test_what_is_written_is_read(tmp_path):
    categorical = np.array([[0, 3], [1, 0], [1, 2]])
    numeric = np.array([[0.5], [-1.0], [2.0]])
    label = np.array([0, 1, 1])
    columns = [
        Column("x", "numeric", None),
        Column("a", "categorical", 2, "rare merged"),
        Column("b", "categorical", None),
    ]
    with TableWriter(tmp_path / "t", columns, label_kind="binary", rows=3) as writer:
        writer.write(0, categorical[:2], numeric[:2], label[:2])
        writer.write(2, categorical[2:], numeric[2:], label[2:])
        assert not (tmp_path / "t").exists()
        writer.finish(made_by={"f": 1}, source={"bytes": 7}, facts={"rate": 0.5}, vocab_sizes={"b": 4})
    table = InstanceTable.open(tmp_path / "t", {"f": 1})
    np.testing.assert_array_equal(table.categorical, categorical)
    np.testing.assert_array_equal(table.numeric, numeric)
    np.testing.assert_array_equal(table.label, label)
    np.testing.assert_array_equal(table.codes("b"), categorical[:, 1])
    assert (table.categorical.dtype, table.numeric.dtype, table.label.dtype) == (np.int32, np.float32, np.float32)
    assert isinstance(table.categorical, np.memmap)
    assert (table.n_rows, table.n_numeric, table.label_kind) == (3, 1, "binary")
    assert (table.categorical_names, table.vocab_sizes) == (["a", "b"], [2, 4])
    assert [column.name for column in table.schema.columns] == ["x", "a", "b"]
    assert table.schema.columns[1].transform == "rare merged"
    assert table.schema.source == {"bytes": 7}
    assert table.schema.facts == {"rate": 0.5}


def test_table_without_numeric_columns(tmp_path):
    table = make_table(tmp_path / "t", n=300)
    assert table.numeric.shape == (300, 0)


def test_writer_that_fails_leaves_nothing(tmp_path):
    writer = TableWriter(tmp_path / "t", [Column("a", "categorical", 2)], label_kind="binary", rows=2)
    with pytest.raises(InputError), writer:
        writer.write(0, np.zeros((1, 1)), None, np.full(1, 7))
    assert list(tmp_path.iterdir()) == []


def test_leftovers_of_killed_writers_are_removed_and_no_other_folder(tmp_path):
    TableWriter(tmp_path / "t", [Column("a", "categorical", 2)], label_kind="binary", rows=2)
    TableWriter(tmp_path / "tt", [Column("a", "categorical", 2)], label_kind="binary", rows=2)
    remove_unfinished(tmp_path / "t")
    assert [path.name.split(".")[1] for path in tmp_path.iterdir()] == ["tt"]


def test_empty_source_is_refused(tmp_path):
    with pytest.raises(InputError, match="the source is empty"):
        TableWriter(tmp_path / "t", [Column("a", "categorical", 2)], label_kind="binary", rows=0)


@pytest.mark.parametrize(
    ("kind", "label", "message"),
    [
        ("binary", [0, 1, 2], r"row 12 \(from 0\) has the label 2: a label is 0 or 1"),
        ("binary", [0, 0.5, 1], r"row 11 .* label 0.5: a label is 0 or 1"),
        ("binary", [np.nan, 0, 1], r"row 10 .* label nan"),
        ("real", [0.5, np.inf, 1], r"row 11 .* label inf: a label is a finite number"),
    ],
)
def test_label_that_does_not_fit_is_named(tmp_path, kind, label, message):
    with (
        pytest.raises(InputError, match=message),
        TableWriter(tmp_path / "t", [Column("a", "categorical", 2)], label_kind=kind, rows=13) as writer,
    ):
        writer.write(10, np.zeros((3, 1)), None, np.array(label))
    assert not (tmp_path / "t").exists()


def truncate(path):
    path.write_bytes(path.read_bytes()[:-4])


def edit_schema(folder, **changes):
    path = folder / "schema.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


DAMAGE = {
    "no schema": (lambda f: (f / "schema.json").unlink(), "holds no prepared table .*remove it"),
    "schema is no JSON": (lambda f: (f / "schema.json").write_text("{"), "schema.json is not a table's schema"),
    "schema of something else": (lambda f: (f / "schema.json").write_text('{"a": 1}'), "is not a table's schema"),
    "schema is a list": (lambda f: (f / "schema.json").write_text("[]"), "is not a table's schema"),
    "another format": (lambda f: edit_schema(f, format_version=99), "has table format 99, this version reads 1"),
    "fewer rows": (lambda f: edit_schema(f, rows=449), r"is int32 \(450, 2\), schema.json says int32 \(449, 2\)"),
    "truncated label": (lambda f: truncate(f / "label.npy"), "label.npy is damaged"),
    "truncated codes": (lambda f: truncate(f / "categorical.npy"), "categorical.npy is damaged"),
    "no numbers": (lambda f: (f / "numeric.npy").unlink(), "numeric.npy is damaged"),
    "label as integers": (lambda f: np.save(f / "label.npy", np.zeros(450, int)), "label.npy is int64"),
    "no columns": (lambda f: (f / "columns.parquet").unlink(), "columns.parquet is damaged"),
    "truncated columns": (lambda f: truncate(f / "columns.parquet"), "columns.parquet is damaged"),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_damaged_table_is_refused(folder, case):
    damage, message = DAMAGE[case]
    damage(folder)
    with pytest.raises(InputError, match=message) as error:
        InstanceTable.open(folder)
    assert str(folder) in str(error.value)
    assert "\n" not in str(error.value)


def test_columns_of_another_table_are_refused(tmp_path, folder):
    other = make_table(tmp_path / "other", sizes=(5, 7, 2)).folder
    (other / "columns.parquet").replace(folder / "columns.parquet")
    with pytest.raises(InputError, match="holds other columns than schema"):
        InstanceTable.open(folder)


def test_table_made_by_something_else_is_refused(folder):
    with pytest.raises(InputError, match=r'made by \{"_target_": "made", "seed": 0\}, this run asks for .*"seed": 1'):
        InstanceTable.open(folder, {"_target_": "made", "seed": 1})


def test_fingerprint_follows_the_content(tmp_path):
    prints = {
        make_table(tmp_path / name, **options).fingerprint
        for name, options in {
            "a": {},
            "seed": {"seed": 1},
            "rows": {"n": 501},
            "sizes": {"sizes": (5, 7, 4)},
            "facts": {"facts": {"a": 1}},
        }.items()
    }
    assert len(prints) == 5
    assert make_table(tmp_path / "b").fingerprint == make_table(tmp_path / "c").fingerprint


def write_one(folder, *, codes=(0, 1), size=2, numeric=(0.0, 1.0), rows=2):
    columns = [Column("a", "categorical", size), Column("x", "numeric", None)]
    with TableWriter(folder, columns, label_kind="binary", rows=rows) as writer:
        writer.write(0, np.array([codes]).T, np.array([numeric]).T, np.array([0, 1]))
        writer.finish(made_by={}, source={}, facts={})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"codes": (0, 2)}, r"column a holds codes 0..2, its vocab_size is 2: codes are 0..vocab_size-1"),
        ({"codes": (-1, 1)}, r"column a holds codes -1..1, its vocab_size is 2"),
        ({"size": None}, r"column a holds codes 0..1, its vocab_size is None"),
        ({"numeric": (0, np.nan)}, r"row 1 \(from 0\) has nan in numeric column 0: write a finite number"),
        ({"rows": 3}, r"was said to have 3 rows|2 rows were written"),
    ],
)
def test_table_that_could_not_be_trained_on_is_not_written(tmp_path, wrong, message):
    with pytest.raises(InputError, match=message):
        write_one(tmp_path / "t", **wrong)
    assert list(tmp_path.iterdir()) == []


def test_table_stays_until_its_successor_is_whole(tmp_path):
    write_one(tmp_path / "t")
    with pytest.raises(InputError):
        write_one(tmp_path / "t", codes=(0, 9))
    assert InstanceTable.open(tmp_path / "t").vocab_sizes == [2]
    write_one(tmp_path / "t", size=3)
    assert InstanceTable.open(tmp_path / "t").vocab_sizes == [3]
    assert [path.name for path in tmp_path.iterdir()] == ["t"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux reserves the room")
def test_disk_without_room_is_told_at_once(tmp_path, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full)
    with pytest.raises(OSError, match=rf"No space left on device: '{tmp_path / 't'}'"):
        write_one(tmp_path / "t")
    assert list(tmp_path.iterdir()) == []
