"""The result tables of the pages are what the committed records say."""

import re
import shutil

import polars as pl
import pytest

from benchmarks.records import DOCS, files_of, keep, read, read_looks, runs_below, write
from benchmarks.result_grids import keys_of
from benchmarks.result_searches import choices_of, picks_of, rates_of
from benchmarks.result_tables import comparison_of, means_of, ranks_of, repicked_of, selection_of, table_of
from benchmarks.results import TABLE, main, with_tables
from llp.errors import InputError
from tests.helpers.records import record, stage, write_folds

PAGES = sorted(DOCS.glob("*.md"))


def kept(folder):
    """The records of a folder's runs, as they are kept and read back."""
    return read(write(runs_below(folder), folder / "kept.parquet"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tables_of_a_page_are_made_from_its_records(page):
    text = page.read_text()
    assert text == with_tables(text), "write the tables again: python -m benchmarks.results"


def test_records_and_tables_belong_together():
    named = {(found[2], found[3]) for page in PAGES for found in TABLE.finditer(page.read_text())}
    assert {path for _, name in named for path in files_of(name)} == {*(DOCS / "results").iterdir()} != set()


def test_a_table_is_means_and_deviations_over_folds(tmp_path):
    write_folds(tmp_path, [0.5, 0.7], method="upm", git_commit="0123456789")
    write_folds(tmp_path, [0.6, 0.8], method="ot_llp", stages=[stage(), stage(method="ot_llp", epochs=3)])
    write_folds(tmp_path, [0.5, 0.5], method="group_prior", stages=[stage(epochs=0)])
    assert table_of(kept(tmp_path)) == (
        "| method | test auc, month_dest | epochs |\n"
        "| --- | --- | --- |\n"
        "| `ot_llp` | 0.7000 ± 0.1414 | 4 + 3 |\n"
        "| `upm` | 0.6000 ± 0.1414 | 4 |\n"
        "| `group_prior` | 0.5000 ± 0.0000 |  |\n"
        "\n6 runs; seeds 0, folds 0, 1; code of commit 01234567, unknown.\n"
    )


def test_a_table_of_one_fold_has_no_deviations(tmp_path):
    write_folds(tmp_path, [0.5], method="upm")
    assert "| `upm` | 0.5000 | 4 |\n" in table_of(kept(tmp_path))


def test_of_several_rates_the_one_is_shown_that_held_out_bags_chose(tmp_path):
    for rate, loss, scores in ((0.1, 0.5, [0.9, 0.8, 0.7]), (0.01, 0.4, [0.6, 0.5, 0.7])):
        changes = {"protocol": "holdout", "config": {"optimizer": {"lr": rate}}, "held_out": loss}
        write_folds(tmp_path, scores, method="upm", config_hash=f"{rate}", **changes)
    changes["config"] = {"optimizer": {"lr": 0.1}}
    write_folds(tmp_path, [0.55, 0.45, 0.64], method="ot_llp", **changes)
    records = kept(tmp_path)
    table = table_of(records)
    assert "| `upm` | 0.6000 ± 0.1000 | 4 | 0.01 |\n" in table
    assert "6 runs; seeds 0, folds 0, 1, 2; their rates chosen on held-out bags of fold 0, seed 0, by 3 runs" in table
    assert "| month_dest | – | – | – | – | upm |" in comparison_of(records)  # no reference is among them
    assert "| method | rate 0.01 | rate 0.1 |\n| --- | --- | --- |\n| `ot_llp` |  | **0.5500** |\n" in rates_of(records)
    assert "| `upm` | **0.6000** | 0.9000 |\n\nTest auc, month_dest, fold 0, seed 0;" in rates_of(records)
    one, all_together = choices_of(records).split("\n\n")
    assert "| upm | 0 of 1 | 0.3000 | 0.3000 | 1 of 1 |" in one
    assert (
        "| chosen | 0 of 1 | 0.3000 |\n| always 0.01 | 0 of 1 | 0.3000 |\n| always 0.1 | 1 of 1 | 0.0000 |"
        in all_together
    )


@pytest.fixture
def three_methods_on_two_datasets(tmp_path):
    """Records of three methods on a bag dataset of flights, where count leads, and of made data, where upm does."""
    for dataset, scores in (
        ("flights", {"upm": 0.6, "count": 0.7, "dllp_bce": 0.5}),
        ("made", {"upm": 0.8, "dllp_bce": 0.6}),
    ):
        for method, score in scores.items():
            seconds = 30.0 if method == "upm" else 10.0
            changes = {"dataset": dataset, "method": method, "stages": [stage(seconds=seconds)]}
            write_folds(tmp_path, [score, score + 0.01], **changes)
    write_folds(tmp_path, [0.5, 0.51], dataset="made", method="count", stages=[stage(seconds=40.0)])
    return kept(tmp_path)


def test_means_stand_by_dataset_with_the_time_of_a_run(three_methods_on_two_datasets):
    assert means_of(three_methods_on_two_datasets) == (
        "| method | flights month_dest | made month_dest | time, dllp_bce's = 1 |\n"
        "| --- | ---: | ---: | ---: |\n"
        "| upm | 0.6050 | **0.8050** | 3 |\n"
        "| count | **0.7050** | 0.5050 | 2 |\n"
        "| dllp_bce | 0.5050 | 0.6050 | 1 |\n"
    )


def test_ranks_are_over_the_bag_datasets_of_all_datasets(three_methods_on_two_datasets):
    table = ranks_of(three_methods_on_two_datasets)
    assert "| upm | 1.50 | 1.00–2.00 | 1 | +0.1500 | 1 |" in table
    assert "| dllp_bce | 2.50 | 2.00–3.00 | 0 | – | – |" in table
    assert "2 bag datasets of 2 tables that all 3 methods have." in table


def test_tests_name_the_dataset_where_there_are_several(three_methods_on_two_datasets):
    row = "| flights month_dest | 2 | 0.0000 | count +0.2000, upm +0.1000 | – | count |"
    assert row in comparison_of(three_methods_on_two_datasets)


def test_metrics_have_tables_of_their_own(tmp_path):
    for method, score in (("dllp_mse", 4.0), ("a", 3.0)):
        write_folds(tmp_path, [score], metric="mse", dataset="prices", method=method)
        write_folds(tmp_path, [0.5], method=method.replace("mse", "bce"))
    auc, mse = means_of(kept(tmp_path)).split("Test mse:")
    assert auc.startswith("Test auc:\n\n| method | flights month_dest | time, dllp_bce's = 1 |")
    assert "| a | **3.000** | 1 |" in mse


def test_a_name_stands_for_the_records_that_begin_with_it(monkeypatch, tmp_path):
    monkeypatch.setattr("benchmarks.records.DOCS", tmp_path)
    (tmp_path / "results").mkdir()
    for name in ("suite_a", "suite_b", "suite", "suites"):
        (tmp_path / "results" / f"{name}.parquet").touch()
    assert [path.stem for path in files_of("suite")] == ["suite"]
    (tmp_path / "results" / "suite.parquet").unlink()
    assert [path.stem for path in files_of("suite")] == ["suite_a", "suite_b"]


def test_kept_records_name_no_place_of_a_machine(tmp_path):
    run = "flights/month_dest/dllp_bce/fold=0/seed=0/0123abcd"
    write_folds(tmp_path, [0.5], method="ot_llp", stages=[stage(run=f"/home/me/outputs/{run}"), stage(run=None)])
    assert [one.run for one in kept(tmp_path)[0].stages] == [run, None]


def test_kept_records_name_the_scores_of_a_prior_by_their_file_alone(tmp_path):
    config = {"grouping_key": {"scores": "/home/me/prior.parquet"}}
    write_folds(tmp_path, [0.5], grouping_key="prior_64", config=config)
    [one] = kept(tmp_path)
    assert one.config["grouping_key"]["scores"] == "prior.parquet"
    assert "/home/me" not in one.model_dump_json()


def test_kept_curves_say_how_well_each_criterion_picks(tmp_path):
    write_folds(tmp_path, [0.6, 0.7], method="upm", protocol="holdout", grouping_key="random_64")
    curves = ("0.6,0.5,0.3\n0.7,0.4,0.1\n0.65,0.3,0.2\n", "0.6,0.5,0.3\n0.7,0.4,0.2\n,0.3,0.1\n")
    for folder, looks in zip(sorted(path.parent for path in tmp_path.rglob("result.json")), curves, strict=True):
        (folder / "metrics.csv").write_text(f"test_auc,held_out_loss,held_out_upm\n{looks}")
    table = selection_of(kept(tmp_path), read_looks(tmp_path / "kept.parquet"))
    assert "| upm | 1 of 2 (0.0250) | 2 of 2 (0.0000) | – | – | 0 of 2 |" in table


def test_means_at_the_epochs_that_upm_picks(tmp_path):
    for method, looks in (
        ("upm", "0.60,0.1,0.3\n0.70,0.2,0.2\n0.65,0.3,0.2\n"),
        ("count", "0.65,0.1,0.1\n,0.3,0.0\n0.9,0.3,0.4\n"),
        ("instance_bce", "0.9,0.1,\n"),
    ):
        changes = {"protocol": "holdout", "grouping_key": "random_64", "config_hash": method}
        write_folds(tmp_path, [0.5, 0.5], method=method, **changes)
        for folder in [path.parent for path in tmp_path.rglob("result.json") if f"/{method}/" in str(path)]:
            (folder / "metrics.csv").write_text(f"test_auc,held_out_loss,held_out_upm\n{looks}")
    changes |= {"config_hash": "none", "stages": [stage(epochs=0)]}
    write_folds(tmp_path, [0.55, 0.55], method="group_prior", **changes)
    table = repicked_of(kept(tmp_path), read_looks(tmp_path / "kept.parquet"))
    assert table == (
        "| method | random_64 | mean rank |\n| --- | ---: | ---: |\n"
        "| upm | **0.7000** | 1.00 |\n| count | 0.6500 | 2.00 |\n| group_prior | 0.5500 | 3.00 |\n"
    )


def test_picks_are_among_the_looks_at_all_rates_of_the_first_fold(tmp_path):
    curves = {
        0.01: "0.60,0.5,0.5,0.5,0.1\n0.70,0.4,0.2,0.5,0.5\n",
        0.1: "0.80,0.6,0.3,0.1,0.5\n0.65,0.3,0.6,0.5,0.5\n",
    }
    columns = "test_auc,held_out_loss,held_out_upm,held_out_debiased,held_out_easy_llp"
    for rate, looks in curves.items():
        changes = {"protocol": "holdout", "config": {"optimizer": {"lr": rate}}, "config_hash": f"{rate}"}
        write_folds(tmp_path, [0.7, 0.9], method="upm", **changes)
        for folder in [path.parent for path in tmp_path.rglob(f"{rate}/result.json")]:
            on_another_fold = "0.99,0.0,0.0,0.0,0.0\n" if "fold=1" in str(folder) else ""
            (folder / "metrics.csv").write_text(f"{columns}\n{looks}{on_another_fold}")
    table = picks_of(kept(tmp_path), read_looks(tmp_path / "kept.parquet"))
    row = "0 of 1 (0.1500) | 0 of 1 (0.1000) | 1 of 1 (0.0000) | 0 of 1 (0.2000) |"
    assert f"| flights month_dest | {row}\n| all | {row}\n" in table


def test_a_file_a_bag_dataset_is_kept_in_place_of_those_of_before(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.records.DOCS", tmp_path)
    for key in ("month_dest", "random_64"):
        write_folds(tmp_path / "runs", [0.6, 0.7], grouping_key=key)
    (tmp_path / "results").mkdir()
    for other in ("kept_of_before", "another"):
        (tmp_path / "results" / f"{other}.parquet").touch()
    names = {path.stem for path in keep(runs_below(tmp_path / "runs"), "kept")}
    assert names == {"kept_flights_month_dest", "kept_flights_random_64"}
    assert {path.stem for path in (tmp_path / "results").iterdir()} == {*names, "another"}
    assert all(len(read(path)) == 2 and read_looks(path).is_empty() for path in files_of("kept"))


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


def test_a_grid_of_errors_is_better_where_they_are_less():
    found = [record("mse", mse, method=method) for method, mse in (("a", 2.0), ("b", 1.0))]
    _, _, *rows = keys_of(found).splitlines()[:4]
    assert rows == ["| b | **1.0000** |", "| a | 2.0000 |"]
    assert "**" not in keys_of([record("auc", 0.7, method="instance_bce")])
