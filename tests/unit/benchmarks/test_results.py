"""The result tables of the pages are what the committed records say."""

import functools
import re
import shutil

import polars as pl
import pytest

from benchmarks.records import DOCS, SOURCE, files_of, keep, read, read_looks, runs_below, write
from benchmarks.result_board import board_of
from benchmarks.result_tables import selection_of
from benchmarks.results import TABLE, main, with_tables
from llp.errors import InputError
from tests.helpers.records import stage, write_folds

PAGES = sorted(DOCS.glob("*.md"))
READ_ONCE = functools.cache(read)  # a page has many tables of the same records


def kept(folder):
    """The records of a folder's runs, as they are kept and read back."""
    return read(write(runs_below(folder), folder / "kept.parquet"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tables_of_a_page_are_made_from_its_records(page, monkeypatch):
    monkeypatch.setattr("benchmarks.results.read", READ_ONCE)
    text = page.read_text()
    assert text == with_tables(text), "write the tables again: python -m benchmarks.results"


def test_records_and_tables_belong_together():
    named = {(found[2], found[3]) for page in PAGES for found in TABLE.finditer(page.read_text())}
    assert {path for _, name in named for path in files_of(name)} == {*(DOCS / "results").iterdir()} != set()


def test_a_method_from_outside_stands_on_the_board_with_its_source():
    records = [one for path in files_of("board") for one in READ_ONCE(path) if one.metric.name == "mse"]
    source, said = {SOURCE: "mine 1.0, https://a"}, "- From outside: genbags (mine 1.0, https://a).\n"
    own = [one.model_copy(update={"versions": source}) if one.method == "genbags" else one for one in records]
    assert said in board_of(own)
    assert board_of(own).replace(said, "") == board_of(records)


def test_a_name_stands_for_the_bag_datasets_kept_under_it_and_the_board_for_its_entries_too(monkeypatch, tmp_path):
    monkeypatch.setattr("benchmarks.records.DOCS", tmp_path)
    (tmp_path / "results").mkdir()
    for name in ("suite.a", "suite.b", "suites.a", "suite_real.a", "board.a", "entry_mine.a"):
        (tmp_path / "results" / f"{name}.parquet").touch()
    assert [path.stem for path in files_of("suite")] == ["suite.a", "suite.b"]
    assert [path.stem for path in files_of("suite.a")] == ["suite.a"]
    assert [path.stem for path in files_of("board")] == ["board.a", "entry_mine.a"]


def test_kept_records_name_no_place_of_a_machine(tmp_path):
    run = "flights/month_dest/dllp_bce/fold=0/seed=0/0123abcd"
    write_folds(tmp_path, [0.5], method="ot_llp", stages=[stage(run=f"/home/me/outputs/{run}"), stage(run=None)])
    assert [one.run for one in kept(tmp_path)[0].stages] == [run, None]


def test_kept_curves_say_how_well_each_criterion_picks(tmp_path):
    write_folds(tmp_path, [0.6, 0.7], method="upm", protocol="holdout", grouping_key="random_64")
    curves = ("0.6,0.5,0.3\n0.7,0.4,0.1\n0.65,0.3,0.2\n", "0.6,0.5,0.3\n0.7,0.4,0.2\n,0.3,0.1\n")
    for folder, looks in zip(sorted(path.parent for path in tmp_path.rglob("result.json")), curves, strict=True):
        (folder / "metrics.csv").write_text(f"test_auc,held_out_loss,held_out_upm\n{looks}")
    table = selection_of(kept(tmp_path), read_looks(tmp_path / "kept.parquet"))
    assert "| upm | 1 of 2 (0.0250) | 2 of 2 (0.0000) | – | – | – | 0 of 2 |" in table


def test_a_file_a_bag_dataset_is_kept_in_place_of_those_of_before(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.records.DOCS", tmp_path)
    for key in ("month_dest", "random_64"):
        write_folds(tmp_path / "runs", [0.6, 0.7], grouping_key=key)
    (tmp_path / "results").mkdir()
    for other in ("kept.of_before", "kept_another"):
        (tmp_path / "results" / f"{other}.parquet").touch()
    names = {path.stem for path in keep(runs_below(tmp_path / "runs"), "kept")}
    assert names == {"kept.flights_month_dest", "kept.flights_random_64"}
    assert {path.stem for path in (tmp_path / "results").iterdir()} == {*names, "kept_another"}
    assert all(len(read(path)) == 2 and read_looks(path).is_empty() for path in files_of("kept"))


def test_the_board_keeps_the_points_of_the_suite_alone(docs, monkeypatch, tmp_path):
    for method in ("upm", "dllp_mse"):
        write_folds(tmp_path / "runs", [0.6, 0.7], method=method, dataset="adult", grouping_key="random_64")
    for name, methods in (("board", {"upm"}), ("all", {"upm", "dllp_mse"})):
        monkeypatch.setattr("sys.argv", ["results", name, str(tmp_path / "runs")])
        main()
        assert {record.method for path in files_of(name) for record in read(path)} == methods


def test_a_folder_without_finished_runs_is_refused(tmp_path):
    with pytest.raises(InputError, match="No run is finished below"):
        runs_below(tmp_path)


def test_copies_of_runs_are_kept_once_and_told(tmp_path, capsys):
    write_folds(tmp_path / "runs", [0.6, 0.7], method="upm")
    shutil.copytree(tmp_path / "runs", tmp_path / "copies")
    assert len(kept(tmp_path)) == 2
    assert "2 of 4 runs are copies" in capsys.readouterr().err


@pytest.fixture
def docs(tmp_path, monkeypatch):
    """A folder of pages with records: of one protocol, of two, none, and damaged ones."""
    for module in ("records", "results"):
        monkeypatch.setattr(f"benchmarks.{module}.DOCS", tmp_path)
    for name, protocols in (("one", ["paper"]), ("two", ["paper", "holdout"])):
        for protocol in protocols:
            write_folds(tmp_path / name, [0.6, 0.7], method="upm", protocol=protocol, config_hash=protocol)
        keep(runs_below(tmp_path / name), name)
    [one] = files_of("one")
    cut = pl.read_parquet(one).with_columns(pl.col("record").str.head(-20))
    cut.write_parquet(one.with_stem("cut"))
    cut.clear().write_parquet(one.with_stem("empty"))
    one.with_stem("damaged").write_bytes(one.read_bytes()[:-20])
    return tmp_path


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("<!-- tabel: one -->\n<!-- end -->", "<!-- tabel: one -->: no kind of table; expected table, tests, means"),
        ("<!-- table: one -->\nno end", "<!-- table: one --> has no end: expected"),
        ("<!-- table: one -->\n<!-- tests: one -->\n<!-- end -->", "<!-- table: one --> has no end: expected"),
        ("<!-- table: six -->\n<!-- end -->", "<!-- table: six -->: no records of that name; keep some: python -m"),
        (
            "<!-- table: empty -->\n<!-- end -->",
            "empty.parquet: expected a record and its looks a run, but it has none",
        ),
        ("<!-- table: cut -->\n<!-- end -->", "cut.parquet, run 1: no record of a run"),
        ("<!-- table: damaged -->\n<!-- end -->", "damaged.parquet: no file of records"),
        (
            "<!-- table: two -->\n<!-- end -->",
            "<!-- table: two -->: the epochs of its runs were picked by holdout and by",
        ),
        ("<!-- selection: one -->\n<!-- end -->", "<!-- selection: one -->: no curves; expected runs with protocol.te"),
    ],
)
def test_what_cannot_be_made_is_told_in_a_line_and_no_page_is_written(docs, monkeypatch, table, said):
    good = "<!-- table: one -->\n<!-- end -->\n"
    (docs / "a.md").write_text(good)
    (docs / "b.md").write_text(f"{table}\n")
    monkeypatch.setattr("sys.argv", ["results"])
    with pytest.raises(SystemExit, match=re.escape(said)):
        main()
    assert (docs / "a.md").read_text() == good
    (docs / "b.md").unlink()
    main()
    assert "| `upm` | 0.6500 ± 0.0707 | 4 |" in (docs / "a.md").read_text()


@pytest.mark.parametrize("arguments", [["one"], ["../one", "."], ["one", ".", "other"]])
def test_wrong_arguments_are_told(docs, monkeypatch, arguments):
    monkeypatch.setattr("sys.argv", ["results", *arguments])
    with pytest.raises(SystemExit, match=r"^Invalid arguments .*: expected python -m benchmarks\.results, or"):
        main()
