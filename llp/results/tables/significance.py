"""Whether methods differ: by the runs of each bag dataset, and by their ranks over all of them."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from llp.results import statistics
from llp.results.formats import columns_of, decimals_of, heading
from llp.results.table import MISSING, Cell, Table

LEVEL = 0.05
REFERENCE = {"binary": "dllp_bce", "real": "dllp_mse"}
"""The method, by kind of label, that others are compared with: named beforehand, not picked by the numbers."""
MARGIN, LEFT_OUT = 0.005, 0.1
"""Of the confidence set: how much worse is as good, and how probably such a one is missing."""


def reference_of(cells: pl.DataFrame) -> str:
    """The column of the reference; its name where no run has it."""
    name = REFERENCE[cells["label_kind"][0]]
    own = cells.filter(pl.col("method") == name)
    return next((column for column in columns_of(cells) if column in own["column"]), name)


def paired_tests(cells: pl.DataFrame, runs: pl.DataFrame) -> Table | None:
    """The methods of each bag dataset against the reference, and those near the best, by common runs; None without."""
    form, reference, upwards = f"+z.{decimals_of(cells)}f", reference_of(cells), cells["mode"][0] == "max"
    scored = runs.filter(pl.col("best").is_not_null() & ~pl.col("instance_labels"))
    rows = []
    for (row,), own in cells.group_by("row", maintain_order=True):
        part = scored.filter(pl.col("row") == row)
        tests = against(reference, part) if reference in part["column"] else {}
        near, n = near_best(own, part), max((test.n for test in tests.values()), default=0)
        if not tests and not near:
            continue
        p = dict(zip(tests, statistics.holm([test.p for test in tests.values()]), strict=True))
        beyond = {name: -test.difference if upwards else test.difference for name, test in tests.items()}
        told = [
            [f"{name} {beyond[name]:{form}}" for name in tests if p[name] < LEVEL and sign * beyond[name] > 0]
            for sign in (1, -1)
        ]
        least = float(np.median([test.least for test in tests.values()])) if tests else None
        rows.append([
            Cell(str(row)), Cell(str(n), value=n) if n else Cell(MISSING), Cell.number(least, form.removeprefix("+z")),
            *(Cell(", ".join(one) or MISSING) for one in (*told, near)),
        ])  # fmt: skip
    if not rows:
        return None
    notes = [
        "Paired t test over the common runs (each fold of each repeat; of published folds, which all seeds share, the "
        "seeds' mean), variance corrected for overlapping train rows (Nadeau and Bengio 2003), two-sided; p by Holm's "
        f"steps over the methods of the row, {LEVEL}. The reference was named beforehand. Could show: the least "
        "difference that would have a p below that level in the first of Holm's steps, by the spread of these "
        "differences, the median over the methods.",
        f"Within {MARGIN} of the best: without the methods that a one-sided corrected test shows to be worse than "
        f"another one by more than that; each method that is within it is named with {1 - LEFT_OUT:.0%} at least. "
        "Given of AUC and log loss.",
    ]
    columns = ["bag dataset", "runs", "could show", f"better than {reference}", "worse", f"within {MARGIN} of the best"]
    return Table(f"{heading(cells)}: the methods against {reference}", columns, rows, notes)


def near_best(cells: pl.DataFrame, runs: pl.DataFrame) -> list[str]:
    """The confidence set of a bag dataset's compared methods, by falling mean; none for one method, or of errors."""
    compared = cells.filter("compared").sort("upwards", "column", descending=[True, False])["column"].to_list()
    if len(compared) < 2 or cells["metric"][0] not in ("auc", "log_loss"):
        return []
    sizes = ("n_train_instances", "n_test_instances")
    own = runs.filter(pl.col("column").is_in(compared))
    draw = ("column", *_of_draw(own))  # of seeds that train and test on the same rows, the mean
    scores = _scores(own.group_by(draw).agg(pl.col("best").mean()).sort(draw), compared)
    n_train, n_test = (float(runs[name].mean()) for name in sizes)  # type: ignore[arg-type]
    upwards = scores if cells["mode"][0] == "max" else -scores
    kept = statistics.confidence_set(upwards, n_train, n_test, margin=MARGIN, alpha=LEFT_OUT)
    return [name for name, keep in zip(compared, kept, strict=True) if keep]


def _of_draw(runs: pl.DataFrame) -> tuple[str, ...]:
    """Whose differences are of other rows: each fold, and where each seed has folds of its own, of each seed."""
    return ("fold", "seed") if (runs["folds"] == "by_seed").all() else ("fold",)


def _scores(runs: pl.DataFrame, columns: Sequence[str]) -> NDArray[np.float64]:
    """Scores (n, M) of the n runs that each of M columns has, in the order of the runs."""
    of = {column: part["best"].to_numpy() for (column,), part in runs.group_by("column", maintain_order=True)}
    return np.stack([of[column] for column in columns], axis=1)


class Comparison(NamedTuple):
    """A paired test of n runs, and the least difference that it could show as one of several."""

    difference: float
    p: float
    effect: float
    n: int
    least: float


def against(best: str, runs: pl.DataFrame) -> dict[str, Comparison]:
    """Paired tests of one column's runs on a bag dataset with each other column that has two draws in common."""
    sizes = ("n_train_instances", "n_test_instances")
    values = {column: part for (column,), part in runs.sort("column").group_by("column", maintain_order=True)}
    own, found = values.pop(best), dict[str, tuple[NDArray[np.float64], float, float]]()
    for column, other in values.items():
        common = own.join(other, on=["fold", "seed"], suffix="_other").sort("fold", "seed")
        pairs = common.group_by(_of_draw(common), maintain_order=True).agg(pl.col("best", "best_other", *sizes).mean())
        if len(pairs) > 1:
            n_train, n_test = (float(pairs[name].mean()) for name in sizes)  # type: ignore[arg-type]
            found[column] = ((pairs["best"] - pairs["best_other"]).to_numpy(), n_train, n_test)
    tests = {}
    for column, of_pairs in found.items():
        test = statistics.corrected_paired_t(*of_pairs)
        least = statistics.least_difference(*of_pairs, LEVEL / len(found))
        tests[column] = Comparison(test.difference, test.p, test.effect, len(of_pairs[0]), least)
    return tests


class Ranking(NamedTuple):
    """Of M methods on n bag datasets, by rising mean rank: means, ranks (n, M), mean ranks (M), Nemenyi's limit."""

    methods: list[str]
    rows: list[str]
    scores: NDArray[np.float64]
    ranks: NDArray[np.float64]
    mean: NDArray[np.float64]
    limit: float


def ranking(cells: pl.DataFrame) -> Ranking | None:
    """Rank the methods on most of the bag datasets; None for fewer than two bag datasets or three methods."""
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
    limit = statistics.critical_difference(len(methods), len(rows), LEVEL)
    return Ranking([methods[i] for i in order], rows, scores[:, order], ranked[:, order], mean_rank[order], limit)


def mean_ranks(cells: pl.DataFrame, runs: pl.DataFrame) -> Table | None:
    """Mean ranks with intervals, and each method against the reference; None for too few bag datasets or methods."""
    found = ranking(cells)
    if found is None:
        return None
    upwards, reference, n = cells["mode"][0] == "max", reference_of(cells), len(found.scores)
    tables, draws = rank_draws(found, runs, larger_is_better=upwards)
    interval = np.quantile(draws, [0.05, 0.95], axis=0)
    behind = np.full(found.scores.shape, np.nan)
    if reference in found.methods:
        behind = (found.scores - found.scores[:, [found.methods.index(reference)]]) * (1 if upwards else -1)
    others = [method != reference and reference in found.methods for method in found.methods]
    tested = zip(others, behind.T, strict=True)
    p = statistics.holm([statistics.wilcoxon_p(one) if other else math.nan for other, one in tested])
    rows = [
        [
            Cell(method), Cell.number(found.mean[i], ".2f"), Cell(f"{interval[0, i]:.2f}–{interval[1, i]:.2f}"),
            Cell.number((found.ranks[:, i] == 1).sum(), ".0f"),
            Cell.number(float(np.median(behind[:, i])) if others[i] else None, f"+z.{decimals_of(cells)}f"),
            Cell.number(p[i], ".3g"),
        ]
        for i, method in enumerate(found.methods)
    ]  # fmt: skip
    least = statistics.least_wilcoxon_p(n, sum(others))
    notes = [
        f"{n} bag datasets of {tables} table{'s' if tables > 1 else ''} that all {len(found.methods)} methods have. "
        "Interval: 90 % of a bootstrap over tables, then bag datasets, then repeats"
        f"{'' if tables > 1 else ': of one table it says nothing of others'}. "
        f"{_said(statistics.friedman(found.ranks))} Nemenyi's critical difference of mean ranks at {LEVEL}: "
        f"{found.limit:.2f}. Wilcoxon's signed-rank test against {reference}, which was named beforehand, by Holm's "
        f"steps: the least p that it could have here is {least:.3g}.",
    ]
    columns = ["method", "mean rank", "interval", "first on", f"median beyond {reference}", "p (Holm)"]
    return Table(f"{heading(cells)}: ranks over the bag datasets", columns, rows, notes)


def rank_draws(found: Ranking, runs: pl.DataFrame, *, larger_is_better: bool) -> tuple[int, NDArray[np.float64]]:
    """How many tables the ranking's bag datasets are of, and the mean ranks (draws, M) by a bootstrap of these."""
    own = runs.filter(pl.col("row").is_in(found.rows) & pl.col("column").is_in(found.methods))
    scores: dict[str, list[NDArray[np.float64]]] = {}
    for (dataset, _), part in own.group_by("dataset", "row", maintain_order=True):
        repeats = part.group_by("column", "seed").agg(pl.col("best").mean()).sort("seed")
        scores.setdefault(str(dataset), []).append(_scores(repeats, found.methods))
    return len(scores), statistics.rank_draws(scores, larger_is_better=larger_is_better)


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
