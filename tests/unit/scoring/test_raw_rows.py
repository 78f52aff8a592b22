"""Scores of Criteo's raw lines against those of the tables that were made from them, in every form that lines have."""

import bz2
import dataclasses
import gzip
import random

import numpy as np
import polars as pl
import pytest
import zstandard

from benchmarks import raw_synthetic
from llp import predict
from llp.data.table import InstanceTable
from llp.datasets.files.recipe import Recipe
from llp.datasets.preparation import prepare_table
from llp.datasets.reading import texts, unpack
from llp.errors import InputError
from llp.scoring.predict import write_scores
from llp.scoring.raw_rows import RawRows, raw_coder
from llp.scoring.rows import TableRows
from llp.scoring.trained import TrainedRuns
from tests.helpers.composed import checked, composition, run_one
from tests.helpers.raw import CTR_NAMES, SSCL_NAMES, write_ctr
from tests.helpers.tables import make_table

LABEL = {"criteo_ctr": 1, "criteo_sscl": 2}  # so many leading columns tell the label
AMOUNT, TIME = 1, 3  # places of SSCL's columns
NAMES = {"criteo_ctr": CTR_NAMES, "criteo_sscl": SSCL_NAMES}


class Scored:
    """A dataset prepared from a made raw file, and a run on it."""

    def __init__(self, folder, dataset):
        self.folder, self.dataset = folder, dataset
        self.raw = folder / "raw.txt"
        if dataset == "criteo_ctr":
            write_ctr(self.raw, 2500, vocab_fraction=0.01)
        else:
            raw_synthetic.write_sscl(self.raw, rows=2500, seed=0, vocab_fraction=0.01, sale_share=0.6)
        self.rows = [line.split("\t") for line in self.raw.read_text().splitlines()]
        method = "dllp_bce" if dataset == "criteo_ctr" else "dllp_mse"
        words = ["grouping_key=random_64", f"method={method}", "model=mlp", "trainer.max_epochs=1", "save_model=true"]
        places = [f"data_dir={folder / 'data'}", f"outputs_dir={folder / 'outputs'}"]
        config = composition("train", f"dataset={dataset}", *words, *places)
        prepare_table(checked(config).dataset, folder / "data", str(self.raw))
        run_one(config)
        (self.run,) = (path.parent for path in (folder / "outputs").rglob("result.json"))
        self.runs = TrainedRuns.open([str(self.run)], folder / "data")
        self.coder = raw_coder(self.runs.table)
        self.of_table = self.scores(TableRows(self.runs.table, lambda n: None))

    def scores(self, source):
        written = write_scores(self.runs, source, self.folder / "scores.parquet")
        frame = pl.read_parquet(self.folder / "scores.parquet")
        assert frame.height == written.rows
        return frame

    def of_files(self, *paths):
        return self.scores(RawRows([str(path) for path in paths], self.coder, lambda n: None))

    def of_rows(self, frame):
        """The scores of those lines that are rows of the table: of SSCL the sales."""
        if self.dataset == "criteo_sscl":
            return frame.filter(pl.Series([float(row[AMOUNT]) != -1 for row in self.rows]))
        return frame


@pytest.fixture(scope="module")
def ctr(tmp_path_factory):
    return Scored(tmp_path_factory.mktemp("ctr"), "criteo_ctr")


@pytest.fixture(scope="module")
def sscl(tmp_path_factory):
    return Scored(tmp_path_factory.mktemp("sscl"), "criteo_sscl")


@pytest.fixture(params=["ctr", "sscl"])
def scored(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(texts, "BLOCK_BYTES", 50_000)
    monkeypatch.setattr(unpack, "READ_BYTES", 10_000)


@pytest.fixture
def write(tmp_path):
    def written(rows, header=None, *, separator="\t", pack=bytes, name="new.txt"):
        lines = [*([header] if header else []), *rows]
        (tmp_path / name).write_bytes(pack("".join(separator.join(line) + "\n" for line in lines).encode()))
        return tmp_path / name

    return written


def taken(rows, places):
    return [[row[i] for i in places] for row in rows]


# forms in which the lines of the table's raw file are written again: of (lines, names, how many tell the label)
FORMS = {
    "as they are": lambda rows, names, n: {"rows": rows},
    "without the label": lambda rows, names, n: {"rows": taken(rows, range(n, len(names)))},
    "with a label that is none": lambda rows, names, n: {"rows": [["?"] * n + row[n:] for row in rows]},
    "with names": lambda rows, names, n: {"rows": rows, "header": names},
    "with names, without the label, packed": lambda rows, names, n: {
        "rows": taken(rows, range(n, len(names))), "header": names[n:], "separator": ",", "pack": gzip.compress,
    },
    "with names in another order": lambda rows, names, n: {
        "rows": taken(rows, order := random.Random(0).sample(range(len(names)), len(names))),
        "header": [names[i] for i in order],
    },
    "in another order, without the label": lambda rows, names, n: {
        "rows": taken(rows, order := random.Random(1).sample(range(n, len(names)), len(names) - n)),
        "header": [names[i] for i in order],
        "pack": zstandard.compress,
    },
    "with row numbers, without the label": lambda rows, names, n: {
        "rows": [[str(60_000_000 + i), *row[n:]] for i, row in enumerate(rows)], "header": ["Id", *names[n:]],
    },
    "with columns that are counted, without the label": lambda rows, names, n: {
        "rows": taken(rows, range(n, len(names))), "header": [f"_c{i}" for i in range(len(names) - n)],
        "pack": bz2.compress,
    },
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_lines_of_the_table_score_as_its_rows_to_the_last_digit(scored, write, form, small_blocks):
    made = FORMS[form](scored.rows, NAMES[scored.dataset], LABEL[scored.dataset])
    found = scored.of_files(write(**made))
    assert found.height == len(scored.rows)
    assert found.null_count().sum_horizontal().item() == 0
    assert scored.of_rows(found).equals(scored.of_table)


def test_files_with_and_without_the_label_score_in_their_order(scored, write):
    n, names = LABEL[scored.dataset], NAMES[scored.dataset]
    paths = [
        write(scored.rows[:900], name="b.txt"),
        write(taken(scored.rows[900:1000], range(n, len(names))), name="a.txt"),
        write([], names, name="names.txt"),
        write(taken(scored.rows[1000:], range(n, len(names))), names[n:], separator=",", name="c.csv"),
    ]
    assert scored.of_rows(scored.of_files(*paths)).equals(scored.of_table)
    for path, name in zip(paths, "1234", strict=True):
        path.rename(path.with_name(name))
    (paths[0].parent / "readme.txt").write_text("Terms ...\n")
    for name in (paths[0].parent, paths[0].parent / "[1-4]"):
        assert scored.of_rows(scored.of_files(name)).equals(scored.of_table)


def test_a_line_scores_alone_as_among_others(scored, write):
    together = scored.of_files(scored.raw)
    for i in (0, 1033, 2499):
        assert scored.of_files(write(scored.rows[i : i + 1])).equals(together[i : i + 1])


def test_values_that_ctr_lacks_have_the_rare_code_and_numbers_the_nearest_bin(ctr, write, caplog):
    ctr.of_files(ctr.raw)
    assert caplog.text == "", "something is said of numbers within the bins"
    far = ["0", *["9" * 18] * 6, *["-99999"] * 7, *["ffffffff"] * 26]
    rows = RawRows([str(write([ctr.rows[5], far]))], ctr.coder, lambda n: None)
    (block,) = rows.blocks()
    known, unknown = block().categorical.tolist()
    assert known == ctr.runs.table.categorical[5].tolist()
    assert unknown == [*(size - 1 for size in ctr.runs.table.vocab_sizes[:6]), *[0] * 7, *[0] * 26]
    rows.tell()
    assert "13 number(s) lie below or above all those of the table: each was taken as the nearest" in caplog.text


def test_values_that_sscl_lacks_have_the_rare_code_and_missing_numbers_the_mean(sscl, write):
    new = ["0", "-1", "-1", "7", "-1", "-1", *["new"] * 17]
    far = ["0", "-1", "1e30", "7", "1e30", "1e30", *["-1"] * 17]
    (block,) = RawRows([str(write([new, far]))], sscl.coder, lambda n: None).blocks()
    assert block().categorical.tolist() == [[0] * 17] * 2
    fill = [sscl.runs.table.encoding(name)["fill"] for name in ("N1", "N2", "N3")]
    expected = [[np.log2(x) ** 2 if x > 2 else x for x in row] for row in (fill, [1e30] * 3)]
    np.testing.assert_allclose(block().numeric, expected, rtol=1e-6)


def test_sscl_needs_no_click_time_where_columns_have_names(sscl, write):
    places = [i for i in range(1, len(NAMES["criteo_sscl"])) if i != TIME]
    path = write(taken(sscl.rows, places), [NAMES["criteo_sscl"][i] for i in places])
    assert sscl.of_rows(sscl.of_files(path)).equals(sscl.of_table)


def with_value(rows, line, column, value):
    return [*rows[: line - 1], [*rows[line - 1][:column], value, *rows[line - 1][column + 1 :]], *rows[line:]]


REFUSED = {
    "a wrong number": (lambda rows, names: {"rows": with_value(rows, 2000, 4, "x")}, r"new.txt, line 2000, column 5"),
    "a short line": (
        lambda rows, names: {"rows": [*rows[:9], rows[9][:-1], *rows[10:]]},
        r"new.txt, line 10, column \d+: the line has \d+ columns instead of \d+\. Correct the file\.$",
    ),
    "no line": (lambda rows, names: {"rows": []}, r"new.txt is empty\.$"),
    "names alone": (lambda rows, names: {"rows": [], "header": names}, r"^Invalid files=.*new.txt: expected lines o"),
    "a column that is missing": (
        lambda rows, names: {"rows": [row[:-1] for row in rows], "header": names[:-1]},
        r"new.txt, line 1 names no column \w+: name the columns",
    ),
    "a column that is not known": (
        lambda rows, names: {"rows": [[*row, "7"] for row in rows], "header": [*names, "day"]},
        r"new.txt, line 1 names 'day', which is no column of",
    ),
    "other columns": (lambda rows, names: {"rows": [["a", "b"]]}, r"2 tab-separated column\(s\), criteo_\w+ has \d+"),
}


@pytest.mark.parametrize("wrong", REFUSED)
def test_what_cannot_be_scored_is_told_and_nothing_is_written(scored, write, wrong, small_blocks):
    make, message = REFUSED[wrong]
    path = write(**make(scored.rows, NAMES[scored.dataset]))
    before = {one: one.stat().st_mtime_ns for one in scored.folder.iterdir()}
    with pytest.raises(InputError, match=message):
        scored.of_files(path)
    assert {one: one.stat().st_mtime_ns for one in scored.folder.iterdir()} == before


@pytest.mark.parametrize(
    ("dataset", "columns", "other"),
    [
        ("sscl", 40, r"Criteo CTR \(dataset=criteo_ctr\)"),
        ("sscl", 39, r"the unlabelled test\.txt of Criteo CTR"),
        ("ctr", 23, r"Criteo SSCL \(dataset=criteo_sscl\)"),
    ],
)
def test_lines_of_the_other_dataset_are_named(request, write, dataset, columns, other):
    with pytest.raises(InputError, match=f"line 1, .*; that is how {other} looks"):
        request.getfixturevalue(dataset).of_files(write([["1"] * columns] * 3))


def test_a_table_of_something_else_codes_no_files(tmp_path):
    assert raw_coder(make_table(tmp_path / "t")) is None
    with pytest.raises(InputError, match=r"was not made from own files.*; score its rows with dataset=NAME, or"):
        Recipe.load(tmp_path / "t")


@pytest.mark.parametrize("kind", ["vocabulary", "other"])
def test_a_table_that_does_not_say_how_it_was_coded_is_told(scored, kind):
    schema = scored.runs.table.schema
    kept = {name: one for name, one in schema.encodings.items() if (one["kind"] == "vocabulary") == (kind == "other")}
    table = InstanceTable(scored.runs.table.folder, dataclasses.replace(schema, encodings=kept))
    with pytest.raises(InputError, match=r"earlier version prepared it \(force=true prepares it again\)$"):
        raw_coder(table)


def test_command_scores_raw_lines(ctr, write, tmp_path, monkeypatch, capsys, caplog):
    path = write([row[1:] for row in [*ctr.rows, ["0", "9" * 18, *ctr.rows[0][2:]]]])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("llp.command.outlive_readers", lambda: None)
    given = (f"run={ctr.run}", f"files={path}", "out=s.parquet", f"data_dir={ctr.folder / 'data'}")
    monkeypatch.setattr("sys.argv", ["predict", *given])
    predict.main()
    printed = "".join(capsys.readouterr())
    assert "s.parquet: 2,501 rows" in printed
    assert "1 number(s) lie below or above" in printed + caplog.text
    assert pl.read_parquet(tmp_path / "s.parquet")[:-1].equals(ctr.of_table)


UNFIT = {
    "no run": (("run=[]", "files=raw.csv"), "Invalid run=[]: expected a text that is not empty or a list that is no"),
    "no files": (("files=[]",), "Invalid files=[]: expected a text that is not empty, a list that is not empty or n"),
    "a folder to write": (("files=raw.csv", "out=folder.csv"), "Invalid out=folder.csv: it is a folder;"),
    "the file that is scored": (("files=raw.csv", "out=raw.csv"), "Invalid out=raw.csv: it is a file that is scored;"),
    "a link to one": (("files=[other.csv,raw.csv]", "out=link.csv"), "Invalid out=link.csv: it is a file that is sc"),
}


@pytest.fixture
def told(tmp_path, monkeypatch):
    """What the command says of its arguments, in this process, beside a raw file, a folder and a link."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("llp.command.outlive_readers", lambda: None)

    def of(scored, *words):
        for name in ("raw.csv", "other.csv"):
            (tmp_path / name).write_bytes(scored.raw.read_bytes())
        (tmp_path / "folder.csv").mkdir()
        (tmp_path / "link.csv").symlink_to("raw.csv")
        given = {"run": scored.run, "out": "s.csv", "data_dir": scored.folder / "data"}
        given |= dict(word.split("=", 1) for word in words)
        monkeypatch.setattr("sys.argv", ["predict", *(f"{name}={value}" for name, value in given.items())])
        with pytest.raises(SystemExit) as ended:
            predict.main()
        return ended.value.code

    return of


@pytest.mark.parametrize("unfit", UNFIT)
def test_unfit_arguments_are_told_in_a_line_and_leave_all_files_as_they_are(ctr, told, tmp_path, unfit):
    words, message = UNFIT[unfit]
    line = told(ctr, *words)
    assert line.startswith(message)
    assert "\n" not in line
    assert (tmp_path / "raw.csv").read_bytes() == ctr.raw.read_bytes()
    assert (tmp_path / "link.csv").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.csv", "link.csv", "other.csv", "raw.csv"]
