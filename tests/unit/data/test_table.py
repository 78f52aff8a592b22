"""A table on disk: what was written is read, and what is damaged, foreign or unfinished is refused."""

import json
import os
import sys
import tempfile
from contextlib import contextmanager

import numpy as np
import polars as pl
import pytest

from llp.data.table import Column, InstanceTable
from llp.data.table_place import check_replaceable, put_in_place, remove_unfinished, table_folder
from llp.data.table_writer import TableWriter
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
        Column("b", "categorical", 4),
    ]
    with TableWriter(tmp_path / "t", columns, label_kind="binary", rows=3) as writer:
        writer.write(0, categorical[:2], numeric[:2], label[:2])
        writer.write(2, categorical[2:], numeric[2:], label[2:])
        assert not (tmp_path / "t").exists()
        writer.finish(made_by={"f": 1}, source={"bytes": 7}, facts={"rate": 0.5})
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


def test_leftovers_of_killed_writers_are_removed_and_no_other_folder(tmp_path):
    others = [
        ".visits.v2.7.tmp",
        ".visits.v2.7.raw.tmp",
        ".visits2.7.tmp",
        ".visits.tmp",
        "visits.7.tmp",
        ".visits.x.tmp",
    ]
    for name in (*others, ".visits.7.tmp", ".visits.7.raw.tmp", ".visits.7.old.tmp", "visits"):
        (tmp_path / name).mkdir()
    remove_unfinished(tmp_path / "visits")
    assert {path.name for path in tmp_path.iterdir()} == {*others, "visits"}


def test_a_table_moved_away_by_a_killed_writer_is_put_back(tmp_path):
    write_one(tmp_path / "t")
    (tmp_path / "t").rename(tmp_path / ".t.7.old.tmp")
    (tmp_path / ".t.7.tmp").mkdir()
    remove_unfinished(tmp_path / "t")
    assert InstanceTable.open(tmp_path / "t").n_rows == 2
    assert [path.name for path in tmp_path.iterdir()] == ["t"]


@pytest.mark.parametrize(
    "name", [None, "", " ", ".", "..", "../x", "a/b", "/tmp/x", "a\\b", ".hidden", "a\0b", "a\nb", "a" * 201, "ä" * 101]
)
def test_a_table_has_one_name_and_one_that_leaves_the_data_folder_is_refused(tmp_path, name):
    with pytest.raises(InputError, match=r"Invalid dataset\.table=.*expected one name.*such as dataset\.table=visits"):
        table_folder(tmp_path, name)
    for name in ("v", "visits.v2", "a b", "criteo_ctr-2", "a" * 200):
        assert table_folder(tmp_path, name) == tmp_path / name


# what may not be replaced: where a table is, if any, and the files at t, of which one may be t itself
NO_TABLES = {
    "own work": (None, {"thesis.tex": "years"}),
    "a table with notes": ("t", {"notes.txt": "mine"}),
    "a file named like a table's": ("t", {"measurements.parquet": "mine"}),
    "work in a folder named like a table's": ("t", {"vocabulary/thesis.docx": "mine"}),
    "a schema of something else": (None, {"schema.json": '{"$schema": "draft"}', "label.npy": "mine"}),
    "a schema that is no JSON": (None, {"schema.json": "mine"}),
    "a link to a table": ("elsewhere", {}),
    "a plain file": (None, {"": "a file"}),
}


@pytest.mark.parametrize(("table", "files"), NO_TABLES.values(), ids=NO_TABLES)
def test_only_a_table_is_replaced(tmp_path, table, files):
    place = tmp_path / "t"
    if table:
        write_one(tmp_path / table)
    if table == "elsewhere":
        place.symlink_to(tmp_path / table)
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    before = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*"))
    for replace in (
        lambda: check_replaceable(place),
        lambda: write_one(place),
        lambda: put_in_place(tmp_path / "nothing", place),
    ):
        with pytest.raises(InputError, match=r"stays as it is.*dataset\.table=NAME"):
            replace()
    assert sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*")) == before


def truncate(path):
    path.write_bytes(path.read_bytes()[:-4])


def edit_schema(folder, **changes):
    path = folder / "schema.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


DAMAGE = {
    "no folder": (lambda f: f.rename(f.with_name("elsewhere")), "is not there: prepare the dataset, or name another"),
    "no schema": (lambda f: (f / "schema.json").unlink(), "holds no prepared table .*remove it"),
    "schema is no JSON": (lambda f: (f / "schema.json").write_text("{"), "schema.json is not a table's schema"),
    "schema of something else": (lambda f: (f / "schema.json").write_text('{"a": 1}'), "is not a table's schema"),
    "another format": (lambda f: edit_schema(f, format_version=99), "has table format 99, this version reads 1"),
    "a schema without rows": (lambda f: edit_schema(f, rows=None), r"is not a table's schema \(rows: Input should be"),
    "a column that is none": (lambda f: edit_schema(f, columns=[3]), r"is not a table's schema \(columns\.0"),
    "nested too deeply": (lambda f: (f / "schema.json").write_text("[" * 10**5), "is not a table's schema"),
    "schema that is no text": (lambda f: (f / "schema.json").write_bytes(b"\xff"), "is not a table's schema"),
    "empty label": (lambda f: (f / "label.npy").write_bytes(b""), "label.npy is damaged"),
    "fewer rows": (lambda f: edit_schema(f, rows=449), r"is int32 \(450, 2\), schema.json says int32 \(449, 2\)"),
    "truncated label": (lambda f: truncate(f / "label.npy"), "label.npy is damaged"),
    "no numbers": (lambda f: (f / "numeric.npy").unlink(), "numeric.npy is damaged"),
    "label as integers": (lambda f: np.save(f / "label.npy", np.zeros(450, int)), "label.npy is int64"),
    "no columns": (lambda f: (f / "columns.parquet").unlink(), "columns.parquet is damaged"),
    "truncated columns": (lambda f: truncate(f / "columns.parquet"), "columns.parquet is damaged"),
    "other columns": (
        lambda f: pl.DataFrame({"a": [1], "c": [1]}).write_parquet(f / "columns.parquet"),
        "holds other columns than schema",
    ),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_damaged_table_is_refused(folder, case):
    damage, message = DAMAGE[case]
    damage(folder)
    with pytest.raises(InputError, match=message) as error:
        InstanceTable.open(folder)
    assert str(folder) in str(error.value)
    assert "\n" not in str(error.value)


@contextmanager
def as_another_user():
    """A superuser may read everything; a user may not read a file of mode 0."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("name", ["schema.json", "categorical.npy", "label.npy", "columns.parquet", "."])
def test_a_table_that_may_not_be_read_is_not_called_damaged(folder, name):
    for path in (folder, *folder.parents):
        if os.geteuid() == 0 and path.is_relative_to(tempfile.gettempdir()):
            path.chmod(path.stat().st_mode | 0o055)
    mode = (folder / name).stat().st_mode
    (folder / name).chmod(0)
    with as_another_user(), pytest.raises(PermissionError, match=rf"Permission denied: '{folder / name}") as error:
        InstanceTable.open(folder)
    (folder / name).chmod(mode)
    assert "\n" not in str(error.value)
    assert "remove" not in str(error.value)


def test_table_made_by_something_else_is_refused_with_what_differs(folder):
    with pytest.raises(InputError, match=r'made by \{"seed": 0\}, this run asks for \{"seed": 1\}\. Make it again'):
        InstanceTable.open(folder, {"_target_": "made", "seed": 1})
    with pytest.raises(InputError, match=r'made by \{\}, this run asks for \{"reading.decimal": "comma"\}\.'):
        InstanceTable.open(folder, {"_target_": "made", "seed": 0, "reading": {"decimal": "comma"}})


def test_fingerprint_follows_the_content(tmp_path):
    tables = {"a": {}, "b": {"seed": 1}, "c": {"n": 501}, "d": {"sizes": (5, 7, 4)}, "e": {"facts": {"a": 1}}}
    prints = {make_table(tmp_path / name, **options).fingerprint for name, options in tables.items()}
    assert len(prints) == 5
    assert make_table(tmp_path / "again").fingerprint in prints


def test_fingerprint_outlives_new_fields(tmp_path):
    """A run's identity holds it: a table keeps the one that it had before encodings, test rows and weights."""
    folder = make_table(tmp_path / "t", n_numeric=1).folder
    assert InstanceTable.open(folder).fingerprint == "a1e8ae142c64ebba"
    path = folder / "schema.json"
    content = json.loads(path.read_text())
    for name in ("encodings", "test_rows", "weighted"):
        del content[name]
    path.write_text(json.dumps(content))
    assert InstanceTable.open(folder).fingerprint == "a1e8ae142c64ebba"
    edit_schema(folder, encodings={"a": {"kind": "vocabulary", "version": 1, "missing": []}})
    assert InstanceTable.open(folder).fingerprint == "a1e8ae142c64ebba"
    edit_schema(folder, test_rows=7)
    assert InstanceTable.open(folder).fingerprint != "a1e8ae142c64ebba"


def write_one(folder, *, size=2, rows=2):
    columns = [Column("a", "categorical", size), Column("x", "numeric", None)]
    with TableWriter(folder, columns, label_kind="binary", rows=rows) as writer:
        writer.write(0, np.array([[0], [1]]), np.array([[0.0], [1.0]]), np.array([0, 1]))
        writer.finish(made_by={}, source={}, facts={})


def test_table_stays_until_its_successor_is_whole(tmp_path):
    write_one(tmp_path / "t")
    for wrong, message in (
        ({"rows": 0}, "the source is empty"),
        ({"rows": 3}, "2 rows were written to .*, which was said to have 3"),
        ({"size": None}, r"row 0 .* has the code 0 in column a, whose vocab_size is None"),
    ):
        with pytest.raises(InputError, match=message):
            write_one(tmp_path / "t", **wrong)
    assert InstanceTable.open(tmp_path / "t").vocab_sizes == [2]
    write_one(tmp_path / "t", size=3)
    assert InstanceTable.open(tmp_path / "t").vocab_sizes == [3]
    assert [path.name for path in tmp_path.iterdir()] == ["t"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux reserves the room")
def test_disk_without_room_is_told_at_once(tmp_path, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full)
    with pytest.raises(OSError, match=rf"No space left on device; make room there, .*: '{tmp_path / 't'}'"):
        write_one(tmp_path / "t")
    assert list(tmp_path.iterdir()) == []


def test_table_larger_than_what_is_free_takes_nothing_of_it(tmp_path, monkeypatch):
    taken = []
    monkeypatch.setattr("numpy.lib.format.open_memmap", lambda *args, **named: taken.append(args))
    with pytest.raises(OSError, match=rf"No space left on device; make room there, .*: '{tmp_path / 't'}'"):
        TableWriter(tmp_path / "t", [Column("a", "categorical", 3)], label_kind="binary", rows=10**13)
    assert taken == []
    assert list(tmp_path.iterdir()) == []


def rows(n, *, codes=1, numbers=1):
    return np.zeros((n, codes), int), np.zeros((n, numbers)), np.zeros(n)


def labelled(*labels):
    """Three rows, then three with these labels."""
    return [(0, *rows(3)), (3, *rows(3)[:2], np.array(labels))]


WRONG_ROWS = {
    "a label of another class": (labelled(0, 1, 2), r"row 5 \(from 0\) has the label 2: a label is 0 or 1"),
    "a label between": (labelled(0, 0.5, 1), r"row 4 .* label 0.5: a label is 0 or 1"),
    "a label that is missing": (labelled(np.nan, 0, 1), r"row 3 .* label nan"),
    "an infinite label": (labelled(0.5, np.inf, 1), r"row 4 .* label inf: a label is a finite number", "real"),
    "a label beyond float32": (labelled(0.5, 1, 1e39), r"row 5 .* label 1e\+39: a label is a finite number", "real"),
    "a code beyond the last": (
        [(0, np.array([[0], [3]]), *rows(2)[1:])],
        r"row 1 .* has the code 3 in column a, whose vocab_size is 3: codes are 0..vocab_size-1",
    ),
    "a code below 0": ([(0, rows(6)[0] - 1, *rows(6)[1:])], r"row 0 .* the code -1 in column a, whose vocab_size is 3"),
    "a number that is missing": (
        [(0, rows(2)[0], np.array([[0.0], [np.nan]]), rows(2)[2])],
        r"row 1 \(from 0\) has nan in numeric column 0: write a finite number",
    ),
    "a range written twice": ([(0, *rows(3)), (0, *rows(3))], r"rows 0 to 2 .* after 3 of 6 rows: .* in order, each"),
    "ranges that overlap": ([(0, *rows(3)), (2, *rows(4))], r"rows 2 to 5 .* after 3 of 6"),
    "a gap": ([(0, *rows(2)), (3, *rows(3))], r"rows 3 to 5 .* after 2 of 6"),
    "more than there are": ([(0, *rows(7))], r"rows 0 to 6 .* after 0 of 6 rows"),
    "codes of a column too many": ([(0, *rows(6, codes=2))], r"codes have the shape \(6, 2\), expected \(6, 1\)"),
    "codes of one row for all": ([(0, rows(1)[0], *rows(6)[1:])], r"codes have the shape \(1, 1\), expected \(6, 1\)"),
    "codes without columns": ([(0, rows(6)[0][:, 0], *rows(6)[1:])], r"codes have the shape \(6,\)"),
    "codes that are no integers": ([(0, rows(6)[0] + 0.5, *rows(6)[1:])], r"codes are integers, these are float64"),
    "codes that are truths": ([(0, rows(6)[0] > 0, *rows(6)[1:])], r"codes are integers, these are bool"),
    "codes beyond 32 bits": ([(0, rows(6)[0] + 2**32, *rows(6)[1:])], r"row 0 .* the code 4294967296 in column a"),
    "numbers of another shape": ([(0, rows(6)[0], rows(6, numbers=2)[1], rows(6)[2])], r"numbers have .* \(6, 2\)"),
    "no numbers": ([(0, rows(6)[0], None, rows(6)[2])], r"numbers have the shape \(6, 0\), expected \(6, 1\)"),
    "numbers beyond float32": ([(0, rows(6)[0], rows(6)[1] + 1e39, rows(6)[2])], r"row 0 .* 1e\+39 in numeric colum"),
    "labels of another shape": ([(0, *rows(6)[:2], np.zeros((6, 1)))], r"labels have .* \(6, 1\), expected \(6,\)"),
}


@pytest.mark.parametrize("case", WRONG_ROWS)
def test_rows_that_do_not_follow_or_have_another_form_are_refused(tmp_path, case):
    (*before, wrong), message, *kind = WRONG_ROWS[case]
    columns = [Column("a", "categorical", 3), Column("x", "numeric", None)]
    with TableWriter(tmp_path / "t", columns, label_kind=(kind or ["binary"])[0], rows=6) as writer:
        for chunk in before:
            writer.write(*chunk)
        with pytest.raises(InputError, match=message):
            writer.write(*wrong)
    assert list(tmp_path.iterdir()) == []
