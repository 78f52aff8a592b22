"""Whether methods differ: by the folds of each bag dataset, and by their ranks over all of them."""

import math
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from llp.results import statistics
from llp.results.formats import columns_of, decimals_of, heading
from llp.results.table import MISSING, Cell, Table

_LEVEL = 0.05


def paired_tests(cells: pl.DataFrame, runs: pl.DataFrame) -> Table | None:
    """The best method of each bag dataset against the others, by their common folds; None where no two share folds."""
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
    """Paired tests of the best column with each other column that has two folds in common with it, on one bag dataset.

    The seeds of a fold train and test on the same rows, so they make one difference: the mean of theirs.
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


class Ranking(NamedTuple):
    """M methods on the n bag datasets that all have, by rising mean rank: means and ranks (n, M), mean ranks (M).

    `limit` is Nemenyi's critical difference of the mean ranks.
    """

    methods: list[str]
    scores: NDArray[np.float64]
    ranks: NDArray[np.float64]
    mean: NDArray[np.float64]
    limit: float


def ranking(cells: pl.DataFrame) -> Ranking | None:
    """Rank the methods on bags; None for fewer than two bag datasets or three methods.

    A method that lacks more than half of the bag datasets is left out, so that it costs the others none.
    """
    chosen = cells.filter(~pl.col("instance_labels") & pl.col("mean").is_not_null() & pl.col("compared"))
    n_rows = chosen["row"].n_unique()
    counts = dict(chosen.group_by("column").len().iter_rows())
    methods = [name for name in columns_of(chosen) if 2 * counts[name] > n_rows]
    mean = {(row, column): value for row, column, value in chosen.select("row", "column", "mean").iter_rows()}
    rows = [row for row in chosen["row"].unique(maintain_order=True) if all((row, name) in mean for name in methods)]
    if len(methods) < 3 or len(rows) < 2:
        return None
    scores = np.array([[mean[row, name] for name in methods] for row in rows])
    ranked = statistics.ranks(scores, larger_is_better=cells["mode"][0] == "max")
    mean_rank = ranked.mean(axis=0)
    order = np.argsort(mean_rank, kind="stable")
    limit = statistics.critical_difference(len(methods), len(rows), _LEVEL)
    return Ranking([methods[i] for i in order], scores[:, order], ranked[:, order], mean_rank[order], limit)


def mean_ranks(cells: pl.DataFrame) -> Table | None:
    """Mean ranks, Friedman's test and critical differences; None for fewer than two bag datasets or three methods."""
    found = ranking(cells)
    if found is None:
        return None
    signed = (found.scores[:, [0]] - found.scores) * (1 if cells["mode"][0] == "max" else -1)
    p = statistics.holm([math.nan, *(statistics.wilcoxon_p(behind) for behind in signed.T[1:])])
    rows = [
        [
            Cell(method), Cell.number(found.mean[i], ".2f"), Cell.number((found.ranks[:, i] == 1).sum(), ".0f"),
            Cell.number(float(np.median(signed[:, i])), f".{decimals_of(cells)}f"), Cell.number(p[i], ".3g"),
            Cell("yes" if found.mean[i] - found.mean[0] >= found.limit else "no") if i else Cell(MISSING),
        ]
        for i, method in enumerate(found.methods)
    ]  # fmt: skip
    notes = [
        f"{len(found.scores)} bag datasets that all {len(found.methods)} methods have. "
        f"{_said(statistics.friedman(found.ranks))} Nemenyi's critical difference of mean ranks at {_LEVEL}: "
        f"{found.limit:.2f}. Wilcoxon's signed-rank test against the first method, by Holm's steps.",
    ]
    columns = ["method", "mean rank", "first on", "median behind the first", "p (Holm)"]
    columns.append("beyond the critical difference")
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
