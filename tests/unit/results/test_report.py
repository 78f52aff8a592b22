"""Tables, figures and messages of the report, from made run folders."""

import io
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console

from llp.errors import InputError
from llp.results import contents
from llp.results.collect import collect
from llp.results.output import ReportFiles
from llp.results.sections import findings
from llp.results.table import Table, as_markdown, show
from llp.results.tables.scores import scores
from llp.results.variants import differing_settings, telling_paths
from llp.runs.point import Point
from tests.helpers.commands import Command
from tests.helpers.composed import report
from tests.helpers.grids import contents_of, write_curve
from tests.helpers.records import ask_for, stage, write_failure, write_folds, write_run
from tests.helpers.wandb_files import runs_in

FIVE = [0.60, 0.61, 0.62, 0.63, 0.66]


def shown(outputs_dir: Path, figures: Sequence[str] = (), **filters: list[str]) -> tuple[ReportFiles, str]:
    """A report with few figures, which take their time."""
    text = io.StringIO()
    files = report(outputs_dir, console=Console(file=text, width=400), figures=figures, **filters)
    return files, text.getvalue()


def texts(table: Table) -> dict[tuple[str, str], str]:
    return {(row[0].text, name): cell.text for row in table.rows for name, cell in zip(table.columns, row, strict=True)}


def marked(table: Table) -> list[tuple[str, str]]:
    return [
        (row[0].text, name) for row in table.rows for name, cell in zip(table.columns, row, strict=True) if cell.best
    ]


@pytest.mark.parametrize(
    ("points", "remark"),
    [
        ([(0, 0)], "0.6000 (1 fold)"),
        ([(0, 0), (1, 0)], "0.6000 ± 0.0000 (2 folds)"),
        ([(fold, seed) for fold in range(5) for seed in (0, 1)], "0.6000 ± 0.0000 (2 seeds)"),
        ([(0, 0), (0, 1), (1, 0)], "0.6000 ± 0.0000 (2 folds, 2 seeds, 3 runs)"),
    ],
)
def test_a_cell_that_is_not_five_folds_says_so(tmp_path: Path, points: list[tuple[int, int]], remark: str) -> None:
    for fold, seed in points:
        write_run(tmp_path, 0.6, fold=fold, seed=seed)
    assert texts(scores(contents_of(tmp_path).cells))["month_dest", "dllp_bce"] == remark


@pytest.mark.parametrize(("metric", "best"), [("auc", "dsq"), ("mse", "dllp_mse")])
def test_the_best_on_bags_of_each_row_is_marked(tmp_path: Path, metric: str, best: str) -> None:
    for method, shift in (("dllp_mse", 0.0), ("dllp_bce", 0.05), ("dsq", 0.1)):
        write_folds(tmp_path, [value + shift for value in FIVE], metric=metric, method=method)
    write_folds(tmp_path, [0.9] * 5 if metric == "auc" else [0.1] * 5, metric=metric, method="instance_bce")
    table = scores(contents_of(tmp_path).cells)
    assert marked(table) == [("month_dest", best)]
    assert table.columns[1] == "instance_bce"  # set apart, before the methods on bags by rank
    assert table.columns[2] == best
    assert any("instance labels" in note and "instance_bce" in note for note in table.notes)


def test_only_what_compares_competes(tmp_path: Path) -> None:
    write_folds(tmp_path, [0.9, 0.9], method="upm")  # fewer folds than the others
    write_folds(tmp_path, [0.9, 0.9, 0.9, 0.9, float("nan")], method="dsq")  # a run without a value
    write_folds(tmp_path, FIVE, method="dllp_mse")
    write_folds(tmp_path, FIVE[:1], method="dllp_bce", grouping_key="random_64")  # nothing to compare with
    table = scores(contents_of(tmp_path).cells)
    assert marked(table) == []
    write_folds(tmp_path, [value - 0.01 for value in FIVE], method="dllp_bce")
    assert marked(scores(contents_of(tmp_path).cells)) == [("month_dest", "dllp_mse")]


def test_methods_compete_on_the_same_folds_and_seeds(tmp_path: Path) -> None:
    for fold in (0, 1):
        write_run(tmp_path, 0.9, fold=fold, method="upm", grouping_key="apart")
        write_run(tmp_path, 0.6, fold=fold + 3, method="dllp_bce", grouping_key="apart")
        for method in ("upm", "dllp_bce"):
            write_run(tmp_path, 0.6 + 0.1 * (method == "upm"), fold=fold, method=method, grouping_key="most")
        write_run(tmp_path, 0.9, fold=fold + 1, method="dsq", grouping_key="most")
    cells = contents_of(tmp_path).cells
    assert cells.filter("best").select("row", "column").rows() == [("most", "upm")]


def test_nan_runs_are_counted_and_left_out_of_the_mean(tmp_path: Path) -> None:
    write_folds(tmp_path, [0.6, 0.7, float("nan"), 0.6, 0.7])
    write_folds(tmp_path, [float("nan")] * 5, method="dsq")
    files, text = shown(tmp_path, ["scores"])
    table = texts(scores(contents_of(tmp_path).cells))
    assert table["month_dest", "dllp_bce"] == "0.6500 ± 0.0577 (1 of 5 NaN)"
    assert table["month_dest", "dsq"] == "NaN (5 of 5 NaN)"
    assert "left out of the mean" in text
    assert len([path for path in files.figures if "_scores" in path.name]) == 2


def test_runs_that_differ_in_a_setting_are_never_averaged(tmp_path: Path) -> None:
    for number, rate in enumerate((0.001, 0.01)):
        changed = {"optimizer": {"lr": rate}, "dataset": {"learning_rate": rate}}
        write_folds(tmp_path, [0.6 + number / 10] * 5, config=changed, config_hash=f"lr{number}")
    table = scores(contents_of(tmp_path).cells)
    assert texts(table) == {
        ("month_dest (optimizer.lr=0.001)", "bag dataset"): "month_dest (optimizer.lr=0.001)",
        ("month_dest (optimizer.lr=0.001)", "dllp_bce"): "0.6000 ± 0.0000",
        ("month_dest (optimizer.lr=0.01)", "bag dataset"): "month_dest (optimizer.lr=0.01)",
        ("month_dest (optimizer.lr=0.01)", "dllp_bce"): "0.7000 ± 0.0000",
    }


def test_a_methods_own_setting_gives_it_a_column(tmp_path: Path) -> None:
    for reg, value in ((0.1, 0.6), (0.5, 0.7)):
        write_run(tmp_path, value, method="ot", config={"method": {"reg": reg}}, config_hash=str(reg))
    write_run(tmp_path, 0.65)
    table = scores(contents_of(tmp_path).cells)
    assert table.columns == ["bag dataset", "ot (reg=0.5)", "dllp_bce", "ot (reg=0.1)"]
    assert len(table.rows) == 1


def test_the_model_is_named_only_where_a_method_has_several(tmp_path: Path) -> None:
    linear = {"model": {"_target_": "llp.models.linear.Linear", "name": "linear", "hidden": None}}
    write_run(tmp_path, 0.6, config_hash="a")
    write_run(tmp_path, 0.5, config_hash="b", model="linear", config=linear)
    write_run(tmp_path, 0.55, method="mean_map", model="linear", config=linear)
    write_run(tmp_path, 0.6, grouping_key="random_64")
    write_run(tmp_path, 0.55, grouping_key="random_64", method="mean_map", model="linear", config=linear)
    table = texts(scores(contents_of(tmp_path).cells))
    assert table["month_dest (model=linear)", "mean_map"].startswith("0.55")
    assert table["month_dest (model=mlp)", "mean_map"] == "–"
    assert table["random_64", "dllp_bce"].startswith("0.6")
    assert table["random_64", "mean_map"].startswith("0.55")


def test_what_a_killed_report_was_writing_is_removed_and_nothing_else(tmp_path: Path) -> None:
    write_folds(tmp_path, [0.7, 0.8])
    folder = tmp_path / "report"
    killed = [place / f".auc.{'0a' * 8}.llp-part.svg" for place in (folder, folder / "figures")]
    users = [folder / name for name in (".1keep.txt", "sub/.2026-notes.md", ".2024/x", ".notes.llp-part.md")]
    for path in (*killed, *users):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
    shown(tmp_path)
    assert not any(path.exists() for path in killed)
    assert [path.read_text() for path in users] == ["mine"] * 4


def test_telling_paths_tell_all_apart() -> None:
    configs = [{"a": x, "b": y, "c": x + y, **extra} for x in "12" for y in "12" for extra in ({}, {"d": "1"})]
    paths = telling_paths(configs)
    assert paths == ["a", "b", "d"]
    assert len({tuple(config.get(path) for path in paths) for config in configs}) == len(configs)


def test_rows_are_in_natural_order_by_kind(tmp_path: Path) -> None:
    for key in ("random_256", "random_64", "C11_C2", "C3_C4"):
        write_run(tmp_path, 0.6, grouping_key=key)
    assert contents_of(tmp_path).cells["row"].to_list() == ["C3_C4", "C11_C2", "random_64", "random_256"]


def test_protocols_are_apart_and_the_optimistic_one_says_so(tmp_path: Path) -> None:
    write_folds(tmp_path, FIVE, config_hash="paper")
    write_folds(tmp_path, FIVE, protocol="holdout", config_hash="holdout")
    files, _ = shown(tmp_path, ["scores"])
    paper, holdout = (
        scores(part) for part in contents_of(tmp_path).cells.sort("protocol", descending=True).partition_by("protocol")
    )
    assert any("selected on the test rows: optimistic" in note for note in paper.notes)
    assert not any("optimistic" in note for note in holdout.notes)
    drawn = {path.name for path in files.figures if "_scores" in path.name}
    assert drawn == {f"flights_{p}_auc_scores.{ending}" for p in ("paper", "holdout") for ending in ("png", "svg")}


def test_training_table_and_long_form(tmp_path: Path) -> None:
    for fold, epochs in enumerate((3, 8)):
        stages = [stage(), stage(epochs=epochs, early_stopped=fold == 0)]
        write_run(tmp_path, 0.6, fold=fold, stages=stages, method="sim_llp")
    files, _ = shown(tmp_path)
    training = next(path for path in files.tables if path.name.endswith("training.csv")).read_text().splitlines()
    assert training[1] == "sim_llp,2,0.5000,4.0 + 5.5 (3–8),1 of 2,2.0"
    long = pl.read_csv(files.results).row(0, named=True)
    expected = {"dataset": "flights", "grouping_key": "month_dest", "method": "sim_llp", "n_folds": 2}
    expected |= {"mean": 0.6, "std": 0.0, "epochs_mean": 5.5, "untrained_mean": 0.5, "untrained_std": 0.0}
    expected |= {"measures.auc": 0.6, "measures.log_loss": 0.6}
    assert {name: long[name] for name in expected} == pytest.approx(expected)


def test_markdown_shows_tables_figures_and_failures(tmp_path: Path) -> None:
    write_folds(tmp_path, FIVE)
    write_folds(tmp_path, [0.5] * 5, method="dsq")
    write_failure(tmp_path, "no [bags] left", "InputError", method="upm")
    (tmp_path / "result.json").write_text("{}")
    files, text = shown(tmp_path, ["scores"])
    page = files.markdown.read_text()
    assert "| month_dest | **0.6240 ± 0.0230** | 0.5000 ± 0.0000 |" in page
    for said in ("Runs: 10 finished, 1 failed", "upm fold=0 seed=0", "InputError: no [bags] left", "left out: "):
        assert as_markdown(said) in page
        assert said in text
    assert f"](figures/{files.figures[0].name})" in page
    assert files.figures[0].read_bytes().startswith(b"\x89PNG")
    assert "<svg" in files.figures[1].read_text()[:2000]


def test_a_wide_table_keeps_its_lines_whole(tmp_path: Path) -> None:
    for method in ("dllp_bce", "dllp_mse", "dllp_mae", "dsq", "upm", "mixbag", "llpfc"):
        write_folds(tmp_path, FIVE, method=method)
    text = io.StringIO()
    show(scores(contents_of(tmp_path).cells), Console(file=text, width=60))
    assert "month_dest" + " │ 0.6240 ± 0.0230 *" * 7 in text.getvalue().replace("  ", " ")


def test_a_folder_without_finished_runs_gives_a_report_that_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no such folder; train some runs: python -m llp\.train -m dataset="):
        report(tmp_path / "none")
    alone, text = shown(tmp_path / "none", dataset=["criteo_sscl"])
    assert "cannot be read" not in text
    assert {path.name.split("_published")[0] for path in alone.tables if "published" in path.name} == {"criteo_sscl"}
    write_failure(tmp_path, "disk full")
    _, text = shown(tmp_path)
    assert "Runs: 0 finished, 1 failed; train some: python -m llp.train -m" in text
    assert "failed: flights month_dest dllp_bce fold=0 seed=0: OSError: disk full" in text
    assert "0 of 1, 1 failed" in text
    assert "analysis.parquet is not there; write it: python -m llp.analyze dataset=flights" in text


def test_an_experiment_is_reported_on_the_points_that_it_asked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"experiment=suite: expected one whose grid was started; start it: python -m"):
        report(tmp_path, experiment="suite")
    write_run(tmp_path, 0.6)
    write_run(tmp_path, 0.6, method="dsq")
    ask_for(tmp_path, "paper", [Point("flights", "month_dest", "dsq", fold, 0) for fold in range(5)])
    files, text = shown(tmp_path, experiment="paper")
    assert set(pl.read_csv(files.results)["method"]) == {"dsq"}
    assert "1 of 5 runs finished, 0 failed, 0 running or cut off, 4 never started" in text
    with pytest.raises(InputError, match=r"experiment=demo: expected paper, whose grids were started; start it"):
        report(tmp_path, experiment="demo")


def test_a_grid_of_which_nothing_is_there_is_reported_as_missing(tmp_path: Path) -> None:
    ask_for(tmp_path, "mine", [Point("my table", "a_b", "dsq", fold, 0) for fold in range(2)])
    (tmp_path / "grids" / "bad.json").write_text('{"cells": 3}')
    files, text = shown(tmp_path)
    assert "my table: completeness" in text
    assert "0 of 2 runs finished, 0 failed, 0 running or cut off, 2 never started" in text
    assert "bad.json is no record of a grid" in text
    page = files.page.read_text()
    assert "No run is finished yet." in page
    assert "2 never started" in page


def test_the_same_runs_give_the_same_files(tmp_path: Path) -> None:
    write_folds(tmp_path, FIVE)
    files, _ = shown(tmp_path, list(contents.SCORE_FIGURES))
    paths = [files.markdown, files.results, *files.tables, *files.figures]
    before = [path.read_bytes() for path in paths]
    shown(tmp_path, list(contents.SCORE_FIGURES))
    assert [path.read_bytes() for path in paths] == before


def test_command(command: Command, tmp_path: Path) -> None:
    write_folds(tmp_path / "runs", FIVE)
    chosen = ["dataset=[flights]", "grouping_key=[month_dest]", "method=[dllp_bce]"]
    runs = ["outputs_dir=runs"]
    good, bad = command.many([*runs, *chosen], [*runs, "dataset=none"], module="llp.report")
    assert good.returncode == 0, good.stderr
    assert "0.6240 ± 0.0230" in good.stdout
    assert good.stdout.splitlines()[-1].endswith("written: runs/report/index.html")
    assert {path.name for path in tmp_path.iterdir()} == {"runs"}
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {"flights", "report"}
    assert bad.returncode == 1
    assert "dataset=none: no run has it; write dataset=[criteo_ctr,criteo_sscl,flights]" in bad.stderr
    assert "Traceback" not in bad.stderr


def test_a_report_is_one_run_of_wandb_with_tables_figures_page_and_artifact(command: Command) -> None:
    write_folds(command.outputs_dir, [0.6, 0.7])
    options = ["logger=wandb", "mode=offline", "project=mine", "tables=[scores,completeness]", "figures=[scores]"]
    done = command(*options, module="llp.report")
    assert done.returncode == 0, done.stderr
    [told] = runs_in(command.outputs_dir)
    assert (told["run"]["project"], told["run"]["job_type"]) == ("mine", "report")
    [row] = told["history"]
    logged = {name.removesuffix("._type"): kind for name, kind in row["item"].items() if name.endswith("._type")}
    assert logged == {
        "tables/flights_paper_auc_scores": "table-file",
        "tables/flights_completeness": "table-file",
        "figures/flights_paper_auc_scores": "image-file",
        "page": "html-file",
    }
    assert "artifact" in told["types"]
    assert "logged to W&B: 3 tables and figures" in done.stdout + done.stderr


@pytest.mark.slow
def test_a_watched_report_follows_the_runs_until_it_is_stopped(command: Command, tmp_path: Path) -> None:
    write_run(command.outputs_dir, 0.6)
    with command.start("watch=true", module="llp.report") as process:
        page = command.outputs_dir / "report" / "index.html"

        def wait_for(text: str) -> None:
            end = time.monotonic() + 120
            while not (page.is_file() and text in page.read_text()):
                assert time.monotonic() < end
                assert process.poll() is None
                time.sleep(0.5)

        wait_for("1 of 1 runs finished")
        assert 'data-refresh="10"' in page.read_text()
        write_run(command.outputs_dir, 0.7, fold=1)
        wait_for("2 of 2 runs finished")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err


def test_the_page_opens_with_what_was_learnt_and_its_picture(tmp_path):
    for method, auc in (("upm", 0.7), ("instance_bce", 0.9)):
        write_curve(write_run(tmp_path, auc, method=method, measures={"auc": auc, "constant_auc": 0.5}), "auc", auc)
    page = report(tmp_path, figures=["scores", "learning_curves"]).page.read_text()
    assert page.startswith("<!DOCTYPE html>")
    opening, rest = page.split('<section id="overview"')[1].split('<div class="cards">')
    assert "sums over bags reach test AUC 0.700 (month_dest, upm): 50 % of the way from a constant" in opening
    assert 'alt="Scores by bag dataset and method' in opening
    assert 'alt="Scores by bag dataset and method' not in rest
    assert 'alt="Learning curves' in rest


def said(folder):
    return differing_settings(contents_of(folder).cells, collect(folder).configs)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"model": {"hidden": [8], "width": 2}}, "model.hidden is [8] (sim_llp) and [128,64] (dllp_bce, dsq)"),
        (
            {"optimizer": {"lr": 0.1}, "dataset": {"learning_rate": 0.1}},
            "optimizer.lr is 0.1 (sim_llp) and 0.001 (dllp_bce, dsq)",
        ),
        (
            {"optimizer": {"lr": 0.1}, "trainer": {"max_epochs": 9}},
            "optimizer.lr is 0.1 (sim_llp) and 0.001 (dllp_bce, dsq); "
            "trainer.max_epochs is 9 (sim_llp) and 50 (dllp_bce, dsq)",
        ),
    ],
)
def test_settings_that_differ_are_named_once(tmp_path, changed, expected):
    common = {"trainer": {"max_epochs": 50}}
    for method in ("dllp_bce", "dsq"):
        write_run(tmp_path, 0.6, method=method, config=common)
    write_run(tmp_path, 0.6, method="sim_llp", config=common | changed)
    assert said(tmp_path) == [f"The methods differ in more than themselves: {expected}."]


def test_rows_that_differ_from_each_other_and_methods_own_settings_are_no_difference(tmp_path):
    for key, rate, methods in (("month_dest", 0.1, ("dllp_bce", "dsq")), ("tailnum", 0.2, ("dllp_bce",))):
        for method in methods:
            config = {"optimizer": {"lr": rate}, "method": {"weight": len(method)}}
            write_run(tmp_path, 0.6, method=method, grouping_key=key, config=config)
    assert said(tmp_path) == []


def test_methods_under_other_protocols_are_named(tmp_path):
    for protocol, method in (("paper", "dsq"), ("paper", "upm"), ("holdout", "dsq"), ("holdout", "rot")):
        write_run(tmp_path, 0.6, protocol=protocol, method=method, config_hash=f"{protocol}_{method}")
    cells = contents_of(tmp_path).cells
    [paper] = [part for part in cells.partition_by("protocol") if part["protocol"][0] == "paper"]
    assert findings(paper, cells)[2:] == [
        "Methods cannot be compared across protocols: only under protocol paper: upm; only under holdout: rot."
    ]
    assert findings(paper, paper)[2:] == []
