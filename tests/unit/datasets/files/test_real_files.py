"""Own files as other programs leave them: folders of Spark and Hive, archives of a Mac, parts whose types differ."""

import os

import numpy as np
import polars as pl
import pytest

from llp.datasets.files.recipe import Recipe
from llp.errors import InputError
from llp.scoring.rows import FilesRows
from tests.helpers.own_files import prepare_files, values_of
from tests.helpers.raw import zipped

pytestmark = pytest.mark.run  # prepares data

N = 60
FRAME = pl.DataFrame(
    {"shop": [f"s{i % 3}" for i in range(N)], "price": np.arange(N) / 8, "y": [i % 2 for i in range(N)]}
)
HALVES = FRAME[: N // 2], FRAME[N // 2 :]


def csv(frame):
    return frame.write_csv().encode()


def write(folder, contents):
    """Write bytes, and frames in the form that their name ends with."""
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".csv") and isinstance(content, pl.DataFrame):
            content.write_csv(folder / name)
        elif isinstance(content, pl.DataFrame):
            content.write_parquet(folder / name)
        else:
            (folder / name).write_bytes(content)
    return folder


def prepare(tmp_path, files, *options, name="mine", **given):
    given = {"label": "y", "rare_threshold": 0} | given
    return prepare_files(tmp_path / "data", files, *options, name=name, **given)


FOLDERS = {
    "Spark's CSV": {
        "_SUCCESS": b"",
        "._SUCCESS.crc": b"crc",
        ".part-00000.csv.crc": b"crc",
        "part-00000.csv": HALVES[0],
        "part-00001.csv": HALVES[1],
        "part-00002.csv": FRAME[:0],
    },
    "Spark's Parquet": {
        "_SUCCESS": b"",
        "_committed_1": b"{}",
        "part-00000.parquet": HALVES[0],
        "part-00001.parquet": HALVES[1],
    },
    "a zip": {"mine.zip": zipped({"a/1.csv": csv(HALVES[0]), "a/2.csv": csv(HALVES[1]), ".DS_Store": b"\0\0"})},
    "a download": {"readme.md": b"# Shops", "SHA256SUMS": b"ab  mine.csv", "mine.csv": FRAME},
}


@pytest.mark.parametrize("folder", FOLDERS)
def test_what_lies_beside_the_data_is_left_out(tmp_path, folder):
    table = prepare(tmp_path, write(tmp_path / "in", FOLDERS[folder]))
    assert values_of(table, "shop") == FRAME["shop"].to_list()
    assert table.label.tolist() == FRAME["y"].to_list()
    assert table.schema.facts["repeated_headers"] == 0


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("given", ["", "/day=*", "/*/*/*.*"])
def test_the_folders_of_hive_are_columns_of_new_rows_too(tmp_path, kind, given):
    parts = {
        "day=2026-01-01/town=a%2Fb": HALVES[0], "day=2026-01-02/town=c": HALVES[1][:10],
        "day=2026-01-02/town=__HIVE_DEFAULT_PARTITION__": HALVES[1][10:], "day=2026-01-03/town=c": HALVES[1][:10],
    }  # fmt: skip
    root = write(tmp_path / "in", {f"{folder}/part-0.{kind}": part for folder, part in parts.items()})
    table = prepare(tmp_path, f"{root}{given}", date_parts="[day]")
    rows = zip(values_of(table, "day.day"), values_of(table, "town"), strict=True)
    expected = [("1", "a/b")] * 30 + [("2", None)] * 20 + [("2", "c")] * 10 + [("3", "c")] * 10
    assert [*rows] == expected
    new = FilesRows([str(root / "day=2026-01-03")], Recipe.load(table.folder), lambda n: None)
    codes = np.concatenate([block().categorical for block in new.blocks()])
    np.testing.assert_array_equal(codes, table.categorical[-10:])


@pytest.mark.parametrize("kinds", [(pl.Int64, pl.Float64), (pl.Float64, pl.Int64), (pl.Null, pl.Float64)])
def test_a_column_of_other_numbers_or_of_none_in_one_part(tmp_path, kinds):
    """Integers in one and floats in another, in either order; no value at all."""
    parts = [FRAME[:30].with_columns(price=None if kinds[0] == pl.Null else "price"), FRAME[30:]]
    parts = [part.cast({"price": kind}) for part, kind in zip(parts, kinds, strict=True)]
    root = write(tmp_path / "in", {f"{i}.parquet": part for i, part in enumerate(parts)})
    table = prepare(tmp_path, root, numeric_as="standardised", missing_as="mean")
    price = pl.concat([part.cast({"price": pl.Float64}) for part in parts])["price"]
    expected = ((price - price.mean()) / price.std(ddof=0)).fill_null(0)
    np.testing.assert_allclose(table.numeric[:, 0], expected, rtol=1e-5, atol=1e-6)


def test_a_column_that_is_text_in_one_part_and_a_number_in_another_is_refused(tmp_path):
    text = FRAME[30:].with_columns(pl.col("price").cast(pl.String))
    root = write(tmp_path / "in", {"0.parquet": FRAME[:30], "1.parquet": text})
    with pytest.raises(InputError, match=r"^column 'price' is Float64 in one file and String in .*1\.parquet: write"):
        prepare(tmp_path, root)


@pytest.mark.parametrize("has", ["files", "test_files", "the second of files"])
def test_an_ignored_column_may_be_in_some_of_the_files_alone(tmp_path, has):
    more = FRAME.with_columns(pl.lit("x").alias("note"))
    parts = {
        "1.csv": more[:20] if has == "files" else FRAME[:20],
        "2.csv": more[20:40] if has != "test_files" else FRAME[20:40],
        "3.csv": more[40:] if has == "test_files" else FRAME[40:],
    }
    root = write(tmp_path / "in", parts)
    table = prepare(tmp_path, f"{root}/[12].csv", "ignore=[note]", test_files=f"'{root}/3.csv'")
    assert (table.n_rows, table.schema.test_rows) == (N, 20)
    with pytest.raises(InputError, match=r"^Invalid ignore=nota: the files have no such column; they have shop"):
        prepare(tmp_path, f"{root}/[12].csv", "ignore=[note,nota]", name="typo", test_files=f"'{root}/3.csv'")


def listed(*paths):
    return "[" + ",".join(f"'{path}'" for path in paths) + "]"


TWICE = {
    "by one name": lambda root: [root / "a.csv", root / "a.csv"],
    "by a link": lambda root: [root / "a.csv", root / "link.csv"],
    "by its folder": lambda root: [root / "a.csv", root],
    "by a glob": lambda root: [root / "a.csv", f"{root}/a*.csv"],
    "a copy": lambda root: [root / "a.csv", root / "copy.txt"],
    "a packed copy": lambda root: [root / "a.csv", root / "a.zip"],
}


@pytest.mark.parametrize("way", TWICE)
@pytest.mark.parametrize("typed", [False, True])
def test_the_same_rows_twice_are_refused(tmp_path, way, typed):
    root = write(tmp_path / "in", {"a.csv": FRAME, "a.zip": zipped({"b.csv": csv(FRAME)})})
    if typed and way != "a packed copy":
        FRAME.write_parquet(root / "a.csv")
    (root / "copy.txt").write_bytes((root / "a.csv").read_bytes())
    os.symlink(root / "a.csv", root / "link.csv")
    first, second = TWICE[way](root)
    with pytest.raises(InputError, match=r"twice|holds the same lines as"):
        prepare_files(tmp_path / "data", "", f"files={listed(first, second)}", label="y")
    with pytest.raises(InputError, match=r"which files= names too|twice|holds the same lines as"):
        prepare(tmp_path, first, test_files=f"'{second}'")
    assert not (tmp_path / "data" / "mine").exists()


@pytest.mark.parametrize("name", ["label of the row", "bags of the row", "row of the sample", "value", "id", "label"])
def test_a_column_of_any_name_keeps_its_values(tmp_path, name):
    frame = FRAME.rename({"shop": name}).with_columns(bag=pl.int_range(N) // 6)
    table = prepare(tmp_path, write(tmp_path / "in", {"a.csv": frame}), bag_column="bag")
    assert values_of(table, name) == FRAME["shop"].to_list()


@pytest.mark.parametrize("name", ["*", "^price.*$", "\0"])
def test_a_name_that_means_other_columns_is_refused_and_may_be_ignored(tmp_path, name):
    root = write(tmp_path / "in", {"a.parquet": pl.DataFrame(FRAME.to_dict() | {name: [1] * N})})
    with pytest.raises(InputError, match=r"has a name that means other columns: rename it, or write ignore="):
        prepare(tmp_path, root)
    if name != "\0":
        assert prepare(tmp_path, root, f"ignore=['{name}']").n_rows == N


def test_folders_in_a_folder_are_said_to_be_left_out_or_asked_for(tmp_path, caplog):
    root = write(tmp_path / "in", {"a.csv": FRAME, "old/b.csv": FRAME})
    assert prepare(tmp_path, f"{root}/*").n_rows == N
    assert "the folder old in it is not read" in caplog.text
    with pytest.raises(InputError, match=r"it holds no file, but folders; expected files=.*/old$"):
        prepare(tmp_path, f"{root}/o*", name="folders")
