"""The report's tables, from grids whose outcome is known."""

import csv
import io
import re

import numpy as np
import polars as pl
import pytest

from llp.datasets.published import benchmark_keys
from llp.results import contents
from llp.results.bag_measures import against_hardness, trends
from llp.results.collect import Collected, collect
from llp.results.formats import BAG_KINDS
from llp.results.learnt import learnt
from llp.results.sections import findings
from llp.results.statistics import corrected_paired_t, least_difference
from llp.results.table import Cell, Table, frame_to_csv, to_csv, to_latex, to_markdown
from llp.results.tables import bag_datasets, scores, significance, winners
from llp.results.tables import published as published_tables
from llp.results.tables.completeness import completeness, grids, progress
from llp.results.tables.queries import queries
from llp.runs.point import Point
from tests.helpers.grids import KEYS, METHODS, contents_of, write_analysis, write_grid
from tests.helpers.records import ask_for, record, run_folder, write_failure, write_folds, write_run

pytestmark = pytest.mark.run  # reports


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    """A whole grid: dllp_bce wins everywhere, each key is harder than the one before."""
    folder = tmp_path_factory.mktemp("grid")
    write_grid(folder)
    return contents_of(folder, write_analysis(folder))


def texts(table: Table | None) -> dict[str, list[str]]:
    assert table is not None
    return {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}


def test_wins_count_the_marked_rows(grid):
    table = winners.wins(grid.cells)
    assert table.columns == ["method", "feature (of 6)", "fixed (of 2)", "random (of 2)"]
    assert texts(table) == {"dllp_bce": ["6", "2", "2"]}  # methods on instance labels never compete


def test_measures_stand_beside_those_of_a_constant(tmp_path):
    own = {"auc": 0.7, "log_loss": 0.5, "brier": 0.2, "constant_auc": 0.5, "constant_log_loss": 0.6}
    for fold in range(2):
        write_run(tmp_path, 0.7, fold=fold, measures=own | {"log_loss": 0.5 + fold / 10})
    write_run(tmp_path, 0.8, method="upm", measures={"auc": 0.8})  # of before a constant was measured
    table = scores.measures(contents_of(tmp_path).cells)
    assert table.columns == ["bag dataset, method", "AUC", "log loss", "Brier score"]
    assert texts(table) == {
        "month_dest, a constant": ["0.5000", "0.6000", "–"],
        "month_dest, dllp_bce": ["0.7000", "0.5500", "0.2000"],
        "month_dest, upm": ["0.8000", "–", "–"],
    }


def told(folder):
    return learnt(contents_of(folder).cells, collect(folder).configs)


def test_what_was_learnt_is_told_by_the_numbers(tmp_path):
    """The best method of each bag dataset, and its share of what all labels add to a constant."""
    write_run(tmp_path, 0.7, method="upm", measures={"auc": 0.7, "constant_auc": 0.5})
    assert told(tmp_path) == (
        "Without the label of a single instance, sums over bags reach test AUC 0.700 (month_dest, upm)."
    )
    for method, key, auc in (
        ("dllp_bce", "month_dest", 0.6), ("instance_bce", "month_dest", 0.9), ("upm", "random_256", 0.65),
        ("instance_bce", "random_256", 0.8), ("dllp_bce", "carrier", 0.6),
    ):  # fmt: skip
        noise = {"noise": {"mechanism": "laplace", "epsilon": 0.5}} if key == "carrier" else {}
        measures = {"auc": auc, "constant_auc": 0.5}
        write_run(tmp_path, auc, method=method, grouping_key=key, measures=measures, config=noise)
    assert told(tmp_path) == (
        "Without the label of a single instance, sums over bags reach test AUC 0.700 (month_dest, upm), 0.650 "
        "(random_256, upm) and 0.600 (carrier, dllp_bce, laplace noise of ε = 0.5): 50 %, 50 % and "
        "25 % of the way from a constant (0.500) to all labels (0.800 to 0.900)."
    )


@pytest.mark.parametrize("auc", [0.5, 0.48])
def test_no_share_is_told_of_what_all_labels_do_not_add(tmp_path, auc):
    for method, own in (("upm", 0.52), ("instance_bce", auc)):
        write_run(tmp_path, own, method=method, measures={"auc": own, "constant_auc": 0.5})
    assert told(tmp_path).endswith("sums over bags reach test AUC 0.520 (month_dest, upm).")


def test_a_short_sentence_tells_of_many_bag_datasets(tmp_path):
    write_grid(tmp_path)
    said = told(tmp_path)
    assert said.startswith("Without the label of a single instance, of 10 bag datasets the best reach test AUC ")
    assert said.count("dllp_bce") == 4


def test_every_kind_of_bags_has_its_wins_its_place_and_its_words(tmp_path):
    for kind in reversed(BAG_KINDS):
        for method, auc in (("upm", 0.7), ("dllp_bce", 0.6)):
            write_run(tmp_path, auc, grouping_key=f"key_of_{kind}", bag_kind=kind, method=method)
    cells = contents_of(tmp_path).cells
    assert cells["row"].unique(maintain_order=True).to_list() == [f"key_of_{kind}" for kind in BAG_KINDS]
    table = winners.wins(cells)
    assert table.columns == ["method", *(f"{kind} (of 1)" for kind in BAG_KINDS)]
    assert texts(table) == {"upm": ["1"] * len(BAG_KINDS)}
    assert {sentence.split(" of 1 dataset of ")[-1] for sentence in findings(cells, cells)} >= {
        f"{words}." for words in BAG_KINDS.values()
    }


def test_ranges_and_extremes_name_the_datasets(grid):
    ends = texts(winners.ranges(grid.cells, grid.analysis))
    assert list(ends) == ["instance_bce", *METHODS[:-1]]
    assert (ends["sim_llp"][0], ends["sim_llp"][1], ends["sim_llp"][4]) == ("6", KEYS[0], KEYS[-1])
    assert ends["dllp_bce"][3] == "short-tailed; low; well-separated"


@pytest.mark.parametrize(
    ("mean", "shown"), [(2.4682e-6, "0.000002468"), (0.0, "0.0000"), (71.0, "71.00"), (1e9, "1000000000")]
)
def test_means_have_four_significant_digits(tmp_path, mean, shown):
    write_folds(tmp_path, [mean] * 5, metric="mse")
    assert texts(scores.scores(contents_of(tmp_path).cells))["month_dest"][0].startswith(f"{shown} ±")


def test_one_key_in_several_settings_has_no_range(grid):
    """Other settings of a run make another row of the scores, and no other bag dataset."""
    one = grid.cells.filter(pl.col("grouping_key") == KEYS[0])
    settings = [one, one.with_columns(row=pl.lit(f"{KEYS[0]} (trainer.max_epochs=2)"))]
    assert winners.ranges(pl.concat(settings), None) is None
    table = texts(winners.ranges(pl.concat([*settings, grid.cells.filter(pl.col("grouping_key") == KEYS[1])]), None))
    assert {row[0] for row in table.values()} == {"2"}


def test_the_best_of_an_error_is_its_least(tmp_path):
    write_grid(tmp_path, metric="mse", keys=KEYS, methods=METHODS[:3], folds=2, curves=False)
    ends = texts(winners.ranges(contents_of(tmp_path).cells, None))
    assert (ends["dllp_bce"][1], ends["dllp_bce"][4]) == (KEYS[0], KEYS[-1])


def test_random_bags_are_method_by_size(grid):
    table = scores.random_bags(grid.cells)
    assert table.columns == ["method", "64", "256"]
    assert all(" ± " in cell for cells in texts(table).values() for cell in cells)
    fixed = scores.fixed_bags(grid.cells)
    assert set(texts(fixed)) == {f"month_dest, {method}" for method in METHODS}


def test_methods_on_other_data_never_share_a_row(tmp_path):
    write_run(tmp_path, 0.6, table="aaaa", config_hash="a")
    write_run(tmp_path, 0.7, table="bbbb", config_hash="b", method="dsq")
    cells = contents_of(tmp_path).cells
    assert sorted(cells["row"]) == ["month_dest (table=aaaa)", "month_dest (table=bbbb)"]
    assert not cells["best"].any()


def test_ranks_and_paired_tests(grid):
    ranks = significance.mean_ranks(grid.cells, grid.runs)
    assert [row[1].text for row in ranks.rows] == [f"{place:.2f}" for place in range(1, 7)]
    assert "10 bag datasets of 1 table that all 6 methods have." in ranks.notes[0]
    assert "of one table it says nothing of others. Friedman: χ² = 50.00" in ranks.notes[0]  # 10 datasets · 5
    assert "against dllp_bce, which was named beforehand" in ranks.notes[0]
    assert f"the least p that it could have here is {5 * 2**-9:.3g}." in ranks.notes[0]
    assert ranks.rows[0][4].text == "–"  # the reference itself
    assert {row[5].text for row in ranks.rows[1:]} == {f"{5 * 2**-9:.3g}"}
    assert "every bag dataset ranks the methods in the same order" in ranks.notes[0]
    tests = texts(significance.paired_tests(grid.cells, grid.runs))
    assert len(tests) == 10
    assert all(row[2] == "–" and "sim_llp -" in row[3] for row in tests.values())  # it is the best everywhere
    assert all(row[4].startswith("dllp_bce") for row in tests.values())


def test_seeds_of_a_fold_are_one_difference_as_they_share_its_rows(tmp_path):
    of_seed = ([0.70, 0.72, 0.66, 0.71, 0.69], [0.74, 0.70, 0.68, 0.67, 0.73])
    for seed, values in enumerate(of_seed):
        write_folds(tmp_path, values, seed=seed, method="upm")
        write_folds(tmp_path, [0.65] * 5, seed=seed, method="dllp_bce")
    part = contents_of(tmp_path)
    (row,) = significance.paired_tests(part.cells, part.runs).rows
    differences, sizes = np.mean(of_seed, axis=0) - 0.65, (256558, 64140)
    least = least_difference(differences, *sizes, 0.05)
    assert [cell.text for cell in row[1:3]] == ["5", f"{least:.4f}"]
    found = significance.against("upm", part.runs)["dllp_bce"]
    test = corrected_paired_t(differences, *sizes)
    assert found[:3] == pytest.approx((test.difference, test.p, test.effect))


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ([[0.9, 0.8, 0.7]] * 2, "Friedman: χ² = 4.00, the largest there can be"),
        ([[0.9, 0.8, 0.7], [0.9, 0.7, 0.8]], "Friedman: χ² = 3.00; Iman and Davenport: F = 3.00, p = 0.25."),
        ([[0.8, 0.8, 0.8]] * 2, "all methods tie on every bag dataset"),
    ],
)
def test_the_test_of_ranks_is_told_in_words_where_it_has_no_number(tmp_path, scores, said):
    for key, values in zip(KEYS, scores, strict=False):
        for method, value in zip(METHODS, values, strict=False):
            write_run(tmp_path, value, grouping_key=key, method=method)
    part = contents_of(tmp_path)
    note = significance.mean_ranks(part.cells, part.runs).notes[0]
    assert said in note
    assert not re.search(r"\b(inf|nan)\b", note)


def test_a_method_with_few_datasets_costs_the_others_none(tmp_path):
    write_grid(tmp_path, keys=KEYS, methods=METHODS[:4], folds=2, curves=False)
    write_grid(tmp_path, keys=KEYS[:1], methods=["upm"], folds=2, curves=False)
    found = significance.ranking(contents_of(tmp_path).cells)
    assert (sorted(found.methods), len(found.scores)) == (sorted(METHODS[:4]), 6)


@pytest.mark.parametrize("name", ["row", "column", "*", "^m.*$", "mean"])
def test_a_method_of_any_name_has_its_rank(tmp_path, name):
    write_grid(tmp_path, keys=KEYS, methods=[name, *METHODS[1:4]], folds=2, curves=False)
    part = contents_of(tmp_path)
    found = significance.ranking(part.cells)
    assert (set(found.methods), found.scores.shape) == ({name, *METHODS[1:4]}, (6, 4))
    assert len(significance.mean_ranks(part.cells, part.runs).rows) == 4
    best = [row[5].text.split(", ")[0] for row in significance.paired_tests(part.cells, part.runs).rows]
    assert best == part.cells.filter("best")["column"].to_list()


def test_trends_find_the_dataset_that_stands_apart(tmp_path):
    keys = [f"a_{i}" for i in range(12)]
    for i, key in enumerate(keys):
        for method in ("dllp_bce", "dsq"):
            value = 0.7 - 0.01 * i + 0.001 * (i % 3) + (0.1 if (i, method) == (7, "dsq") else 0.0)
            write_folds(tmp_path, [value] * 2, grouping_key=key, method=method)
    analysis = write_analysis(tmp_path, keys=keys)
    found = trends(against_hardness(contents_of(tmp_path).cells, analysis))
    by_method = {row["column"]: row for row in found if row["measure"] == "mean_bag_size"}
    assert by_method["dsq"]["above"] == ["a_7"]
    assert by_method["dllp_bce"]["above"] == by_method["dllp_bce"]["below"] == []
    assert by_method["dllp_bce"]["spearman"] == pytest.approx(-1.0)
    assert by_method["dllp_bce"]["slope"] == pytest.approx(-0.01, abs=1e-3)


def test_bag_dataset_tables_are_the_analysis_columns(grid):
    table = bag_datasets.of_keys(grid.analysis, "flights", bag_datasets.SEPARATION)
    assert texts(table)[KEYS[1]] == ["25", "20", "1.2500", "well-separated"]
    real = grid.analysis.with_columns(pl.lit(float("nan")).alias("cramers_v"))
    assert bag_datasets.of_keys(real, "flights", bag_datasets.ASSOCIATION) is None


def test_completeness_counts_done_failed_and_missing(tmp_path):
    write_run(tmp_path, 0.6)
    write_run(tmp_path, 0.6, fold=1)
    write_run(tmp_path, 0.6, method="dsq")
    write_failure(tmp_path, "disk full", method="dsq", fold=1)
    cut = run_folder(tmp_path, record("auc", 0.5, method="dsq", fold=2))
    cut.mkdir(parents=True)
    (cut / "attempt").write_text("1")
    table = completeness(progress(collect(tmp_path), "flights"))
    assert texts(table) == {"month_dest": ["2 of 3", "1 of 3, 1 failed, 1 running or cut off"]}
    assert table.notes[0].startswith("3 of 6 runs finished, 1 failed, 1 running or cut off, 1 never started")
    assert grids(progress(collect(tmp_path), "flights")) is None
    assert completeness(progress(Collected(collect(tmp_path).runs.clear()), "flights")) is None


def test_completeness_is_held_against_what_grids_asked_for(tmp_path):
    write_run(tmp_path, 0.6)
    write_run(tmp_path, 0.6, method="dsq", fold=3)  # by a command of its own
    write_failure(tmp_path, "disk full", fold=1)
    paper = [Point("flights", "month_dest", "dllp_bce", fold, 0) for fold in range(5)]
    ask_for(tmp_path, "paper", paper)
    ask_for(tmp_path, None, [Point("flights", "random_64", "upm", 0, seed) for seed in (1, 2)])
    ask_for(tmp_path, "others", [Point("other", "random_64", "upm", 0, 0)])
    found = progress(collect(tmp_path), "flights")
    assert texts(completeness(found)) == {
        "month_dest": ["1 of 5, 1 failed", "1 of 1", "–"],
        "random_64": ["–", "–", "0 of 2"],
    }
    assert found.summary == "2 of 8 runs finished, 1 failed, 0 running or cut off, 5 never started"
    counts = {name.rpartition("_")[0]: row for name, row in texts(grids(found)).items()}
    assert counts == {"grid": ["2", "0", "0", "0", "2"], "paper": ["5", "1", "1", "0", "3"]}


def write_ctr(folder, auc, key, method="dllp_bce", published_auc=None, **changes):
    """A run on Criteo CTR, whose AUC over 200 thresholds is compared with the published one."""
    measures = {"auc": auc, "auc_200_thresholds": published_auc or auc}
    write_run(folder, auc, dataset="criteo_ctr", grouping_key=key, method=method, measures=measures, **changes)


def test_published_and_ours_are_like_for_like(tmp_path):
    for fold in range(5):
        write_ctr(tmp_path, 0.9, "random_64", published_auc=0.7754, fold=fold)
        write_ctr(tmp_path, 0.9, "C3_C11", published_auc=0.7754, fold=fold)
        write_ctr(tmp_path, 0.1, "random_64", protocol="holdout", config_hash="holdout", fold=fold)
    cells = contents_of(tmp_path).cells
    rows = [[cell.text for cell in row] for row in published_tables.random_bags(cells, "criteo_ctr").rows]
    assert ["dllp_bce", "64", "77.54", "77.54 ± 0.00", "+0.00"] in rows
    assert ["dllp_bce", "128", "76.96", "–", "–"] in rows
    ranges = texts(published_tables.ranges(cells, "criteo_ctr"))["dllp_bce"]
    assert ranges == ["72.92", "77.54 ± 0.00", "+4.62", "77.04", "77.54 ± 0.00", "+0.50", "1"]


def test_written_forms_hold_the_same_cells():
    rows = [[Cell("a_b & c"), Cell("0.5 ± 0.1", best=True)], [Cell("x|y"), Cell("–")]]
    table = Table("50 % of #1", ["bag dataset", "dllp_bce"], rows, ["a note"])
    assert list(csv.reader(io.StringIO(to_csv(table))))[1:] == [["a_b & c", "0.5 ± 0.1"], ["x|y", "–"]]
    assert "| a_b & c | **0.5 ± 0.1** |" in to_markdown(table)
    assert r"| x\|y | – |" in to_markdown(table)
    latex = to_latex(table)
    assert r"a\_b \& c & \textbf{0.5 $\pm$ 0.1} \\" in latex
    assert r"\caption{50 \% of \#1}" in latex
    assert [line for line in latex.splitlines() if "rule" in line] == [r"\toprule", r"\midrule", r"\bottomrule"]
    long = to_latex(Table("t", ["a"], [[Cell(str(i))] for i in range(60)]))
    assert long.count(r"\\") == 62
    assert r"\end{longtable}" in long


def test_no_latex_special_is_left_bare(grid):
    part = contents.Dataset("flights", grid.cells, grid.analysis, progress(Collected(grid.runs), "flights"))
    tables = [make(grid) for make in contents.SCORE_TABLES.values()]
    tables += [make(part) for make in contents.DATASET_TABLES.values()]
    for table in filter(None, tables):
        body = [line for line in to_latex(table).splitlines() if line.endswith(r"\\")]
        for line in body:
            assert line.isascii() or "é" in line, line
            assert len(re.findall(r"(?<!\\)&", line)) in (0, len(table.columns) - 1)
            assert not re.findall(r"(?<!\\)[%#_]", line), line


@pytest.mark.parametrize(
    ("dataset", "ours", "place", "shown"),
    [
        ("criteo_ctr", {"grouping_key": "C3_C11", "percent_in_large_skewed_0.05": 7.0}, 3, ["0.63", "7.00", "+6.37"]),
        ("criteo_sscl", {"grouping_key": "C2_C5", "std_label_proportion": 13.0}, 3, ["12.47", "13.00", "+0.53"]),
    ],
)
def test_published_measures_of_bag_datasets_stand_beside_ours(dataset, ours, place, shown):
    table = published_tables.bag_measures(pl.DataFrame(ours), dataset)
    rows = texts(table)
    assert rows.pop(ours["grouping_key"])[place : place + 3] == shown
    assert rows.keys() | {ours["grouping_key"]} == {*benchmark_keys(dataset)}
    assert {text for row in rows.values() for text in row[1::3]} == {"–"}
    n_columns = {"criteo_ctr": 13 + 26, "criteo_sscl": 3 + 18}[dataset]
    assert len(published_tables.column_names(dataset).rows) == n_columns


@pytest.mark.parametrize("text", ["=1+1", "+1+cmd|' /C calc'!A0", "@SUM(A1)", "-2+3", "\t=1", "-0.5 ± =1"])
def test_no_text_of_a_csv_is_a_formula_and_numbers_stay_numbers(text):
    table = Table("T", ["name", text], [[Cell(text), Cell("-0.5 ± 0.1", value=-0.5)], [Cell("-1.5"), Cell("+3e-5")]])
    rows = list(csv.reader(io.StringIO(to_csv(table), newline="")))
    assert rows == [["name", f"'{text}"], [f"'{text}", "-0.5 ± 0.1"], ["-1.5", "+3e-5"]]
    frame = pl.DataFrame({"name": [text, "C1"], text: [-0.5, 1.0]})
    rows = list(csv.reader(io.StringIO(frame_to_csv(frame), newline="")))
    assert rows == [["name", f"'{text}"], [f"'{text}", "-0.5"], ["C1", "1.0"]]


def test_queries_are_means_over_folds(tmp_path):
    account = {"columns": ["month", "dest"], "cells": 40, "published": 0.9, "noise_sd": 1.5, "penalty": 30.0}
    for fold, carries in enumerate((0.01, 0.03)):
        facts = {"by_query": [{**account, "coverage": None, "carries": carries}]}
        write_run(tmp_path, 0.7, fold=fold, grouping_key="report", method="cell_glm", model="cell_weights", facts=facts)
    write_run(tmp_path, 0.7, fold=0, grouping_key="report")
    part = contents_of(tmp_path)
    (row,) = queries(part.cells, part.runs).rows
    shown = [cell.text for cell in row]
    assert shown == ["report", "cell_glm", "month × dest", "40", "0.900", "1.50", "30.0", "–", "0.02000"]
