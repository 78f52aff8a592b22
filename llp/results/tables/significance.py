"""Whether methods differ: by the folds of each bag dataset, and by their ranks over all of them."""

import math

import numpy as np
import polars as pl
from numpy.typing import NDArray

from llp.results import statistics
from llp.results.formats import columns_of, decimals_of, heading
from llp.results.table import MISSING, Cell, Table

_LEVEL = 0.05


def paired_tests(cells: pl.DataFrame, runs: pl.DataFrame) -> Table | None:
    """The best method of each bag dataset against the others, by their common folds; None where no two share folds.

    Parameters
    ----------
    cells : pl.DataFrame
        Cells of one dataset and protocol.
    runs : pl.DataFrame
        Its runs, with `row` and `column`.
    """
    form = f".{decimals_of(cells)}f"
    scored = runs.filter(pl.col("best").is_not_null() & ~pl.col("instance_labels"))
    parts = {row: part for (row,), part in scored.group_by("row")}
    rows = []
    for best in cells.filter("best").unique("row", keep="first", maintain_order=True).iter_rows(named=True):
        tests = against(best["column"], parts[best["row"]])
        if not tests:
            continue
        corrected = dict(zip(tests, statistics.holm([test.p for test in tests.values()]), strict=True))
        alike = [name for name, p in corrected.items() if not p < _LEVEL]
        second = min(tests, key=lambda name: abs(tests[name].difference))
        rows.append([
            Cell(best["row"]), Cell(best["column"], cell=best["cell"]), Cell(second),
            Cell.number(tests[second].difference, "+z" + form), Cell.number(corrected[second], ".3g"),
            Cell.number(tests[second].effect, ".2f"), Cell(", ".join(alike) or MISSING),
        ])  # fmt: skip
    if not rows:
        return None
    notes = [
        "Paired t test over the common folds, of several seeds their mean, variance corrected for overlapping train "
        "rows (Nadeau and Bengio 2003), two-sided; p by Holm's steps over the methods of the row. d_z: mean difference "
        f"over the standard deviation of the differences. Not told apart: p of at least {_LEVEL}.",
    ]
    columns = ["bag dataset", "best", "nearest", "difference", "p (Holm)", "d_z", "not told apart from the best"]
    return Table(f"{heading(cells)}: the best method against the others", columns, rows, notes)


def against(best: str, runs: pl.DataFrame) -> dict[str, statistics.PairedTest]:
    """Paired tests of the best column's folds with those of each other column: of methods, on one bag dataset.

    The seeds of a fold train and test on the same rows, so they make one difference: the mean of theirs.

    Parameters
    ----------
    best : str
        The column whose difference from the others is tested.
    runs : pl.DataFrame
        Their runs, with `column`.

    Returns
    -------
    dict
        A test for each other column with two folds in common.
    """
    values = {column: part for (column,), part in runs.sort("column").group_by("column", maintain_order=True)}
    own, sizes = values.pop(best), ("n_train_instances", "n_test_instances")
    tests = {}
    for column, other in values.items():
        common = own.join(other, on=["fold", "seed"], suffix="_other").sort("fold", "seed")
        pairs = common.group_by("fold", maintain_order=True).agg(pl.col("best", "best_other", *sizes).mean())
        if len(pairs) > 1:
            n_train, n_test = (float(pairs[name].mean()) for name in sizes)  # type: ignore[arg-type]
            differences = (pairs["best"] - pairs["best_other"]).to_numpy()
            tests[column] = statistics.corrected_paired_t(differences, n_train, n_test)
    return tests


def complete_rows(cells: pl.DataFrame) -> tuple[list[str], NDArray[np.float64]]:
    """Means on the bag datasets that all methods on bags have: the M methods by mean rank, and (bag datasets, M).

    A method that lacks more than half of the bag datasets is left out, so that it costs the others none.
    """
    chosen = cells.filter(~pl.col("instance_labels") & pl.col("mean").is_not_null() & pl.col("compared"))
    n_rows = chosen["row"].n_unique()
    counts = dict(chosen.group_by("column").len().iter_rows())
    methods = [name for name in columns_of(chosen) if 2 * counts[name] > n_rows]
    mean = {(row, column): value for row, column, value in chosen.select("row", "column", "mean").iter_rows()}
    rows = [row for row in chosen["row"].unique(maintain_order=True) if all((row, name) in mean for name in methods)]
    return methods, np.array([mean[row, name] for row in rows for name in methods]).reshape(len(rows), len(methods))


def mean_ranks(cells: pl.DataFrame) -> Table | None:
    """Mean ranks, Friedman's test and critical differences; None for fewer than two bag datasets or three methods."""
    methods, scores = complete_rows(cells)
    if len(methods) < 3 or len(scores) < 2:
        return None
    larger = cells["mode"][0] == "max"
    ranked = statistics.ranks(scores, larger_is_better=larger)
    test = statistics.friedman(ranked)
    limit = statistics.critical_difference(len(methods), len(scores), _LEVEL)
    order = np.argsort(ranked.mean(axis=0), kind="stable")
    first = order[0]
    signed = (scores[:, [first]] - scores) * (1 if larger else -1)
    p = statistics.holm([math.nan if i == first else statistics.wilcoxon_p(signed[:, i]) for i in range(len(methods))])
    rows = []
    for i in order:
        behind = float(ranked[:, i].mean() - ranked[:, first].mean())
        rows.append([
            Cell(methods[i]), Cell.number(float(ranked[:, i].mean()), ".2f"),
            Cell.number(float((ranked[:, i] == 1).sum()), ".0f"),
            Cell.number(float(np.median(signed[:, i])), f".{decimals_of(cells)}f"),
            Cell.number(p[i], ".3g"), Cell(MISSING if i == first else "yes" if behind >= limit else "no"),
        ])  # fmt: skip
    notes = [
        f"{len(scores)} bag datasets that all {len(methods)} methods have. {_said(test)} Nemenyi's critical difference "
        f"of mean ranks at {_LEVEL}: {limit:.2f}. Wilcoxon's signed-rank test against the first method, by Holm's "
        "steps.",
    ]
    columns = [
        "method",
        "mean rank",
        "first on",
        "median behind the first",
        "p (Holm)",
        "beyond the critical difference",
    ]
    return Table(f"{heading(cells)}: ranks over the bag datasets", columns, rows, notes)


def _said(test: statistics.RankTest) -> str:
    """Friedman's test, in words where it has no number."""
    if math.isnan(test.chi2):
        return "Friedman's test is undefined: all methods tie on every bag dataset."
    if math.isinf(test.f):
        return (
            f"Friedman: χ² = {test.chi2:.2f}, the largest there can be: every bag dataset ranks the methods in the "
            "same order, so Iman and Davenport's F has no bound."
        )
    return f"Friedman: χ² = {test.chi2:.2f}; Iman and Davenport: F = {test.f:.2f}, p = {test.p:.3g}."
