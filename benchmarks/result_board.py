"""The tables of the board and of the six measures: see `benchmarks.results`."""

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from string import ascii_letters
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from benchmarks.records import SOURCE, Place
from benchmarks.result_tables import cells_and_runs, collected, relative_times, told, untitled
from llp.errors import InputError
from llp.results.formats import decimals_of
from llp.results.statistics import cliques, critical_difference, holm
from llp.results.table import MISSING, Cell, Table
from llp.results.tables import scores
from llp.results.tables.significance import (
    LEFT_OUT,
    LEVEL,
    MARGIN,
    against,
    near_best,
    rank_draws,
    ranking,
    reference_of,
)
from llp.runs.record import RunRecord

OF_REAL_LABELS = {"mse", "mae", "r2", "spearman"}
MEASURES = {name: words for name, words in scores.MEASURES.items() if name not in OF_REAL_LABELS}
CONSTANT = "constant"
"""Method of the train bags' pooled label mean, whose measures every record has beside its own."""
_SURE = 0.9


def narrowed(records: Sequence[RunRecord], words: Sequence[str]) -> list[RunRecord]:
    """Those of records with a kind of bags, by the measure in place of their own metric, that words name."""
    found = list(records)
    for word in words:
        if any(record.bag_kind == word for record in records):
            found = [record for record in found if record.bag_kind == word]
        else:
            mode = "max" if word in ("auc", "average_precision") else "min"
            found = [
                _with_metric(record, name=word, mode=mode, best=record.measures[word])
                for record in found
                if word in record.measures
            ]
    return found


def _with_metric(record: RunRecord, **changes: Any) -> RunRecord:
    return record.model_copy(update={"metric": record.metric.model_copy(update=changes)})


def with_constant(records: Sequence[RunRecord]) -> list[RunRecord]:
    """Records, and those of the constant, one for each bag dataset, fold and seed."""
    points = {(record.dataset, record.grouping_key, record.fold, record.seed): record for record in records}
    return [*records, *map(_constant, points.values())]


def _constant(record: RunRecord) -> RunRecord:
    measures = {
        name.removeprefix("constant_"): value for name, value in record.measures.items() if name.startswith("constant_")
    }
    stage = record.stages[-1].model_copy(update={"epochs": 0, "seconds": 0.0})
    return record.model_copy(
        update={
            "method": CONSTANT,
            "config": {**record.config, "method": {"name": CONSTANT}, "optimizer": {"lr": 0.0}, "model": {}},
            "measures": measures,
            "metric": record.metric.model_copy(update={"best": measures.get(record.metric.name)}),
            "stages": [stage],
            "instance_labels": False,
        }
    )


class Standing(NamedTuple):
    """A method of a board: its mean rank with an interval, its groups' letters, and the time of its runs."""

    method: str
    rank: float
    interval: tuple[float, float]
    groups: str
    time: float | None  # as a multiple of the reference's
    front: bool  # whether no method has a better mean rank in less time


def standings(cells: pl.DataFrame, runs: pl.DataFrame, times: Mapping[str, float]) -> tuple[list[Standing], str]:
    """The ranked methods on bags in the order of mean rank, and what the ranks rest on, in a sentence.

    Raises
    ------
    InputError
        There are fewer than two bag datasets or three methods that all have.
    """
    found = ranking(cells)
    if found is None:
        raise InputError("The records hold too few methods or bag datasets for a board: expected three on two at least")
    n_tables, draws = rank_draws(found, runs, larger_is_better=cells["mode"][0] == "max")
    low, high = np.quantile(draws, [(1 - _SURE) / 2, (1 + _SURE) / 2], axis=0)
    limit = critical_difference(len(found.methods), n_tables, LEVEL)
    groups = cliques([*found.mean], limit)
    groups += [(i, i) for i in range(len(found.methods)) if not any(first <= i <= last for first, last in groups)]
    letters = [
        "".join(
            letter for letter, (first, last) in zip(ascii_letters, sorted(groups), strict=False) if first <= i <= last
        )
        for i in range(len(found.methods))
    ]
    cost = {method: times.get(method) or math.inf for method in found.methods}
    shown, quickest = [], math.inf
    for i, method in enumerate(found.methods):
        front, quickest = cost[method] < quickest, min(quickest, cost[method])
        time = None if math.isinf(cost[method]) else cost[method]
        shown.append(Standing(method, found.mean[i], (low[i], high[i]), letters[i], time, front))
    said = (
        f"{len(found.rows)} bag datasets of {n_tables} tables, {len(found.methods)} methods that all have. Interval: "
        f"{_SURE:.0%} of a bootstrap over tables, then bag datasets, then repeats. Methods with a letter in common are "
        f"not told apart: their mean ranks are closer than {limit:.2f}, Nemenyi's critical difference at {LEVEL} with "
        f"the tables as its sample."
    )
    return shown, said


def board_of(records: Sequence[RunRecord]) -> str:
    """Make a Markdown table: the methods on bags and the constant by mean rank, in bold on the front of rank and time.

    Beside it on how many bag datasets each is near the best, and better or worse than the reference, which was named
    beforehand.
    """
    cells, runs = cells_and_runs(collected(with_constant(records)))
    reference, n = reference_of(cells), cells["row"].n_unique()
    shown, said = standings(cells, runs, relative_times(records, runs, reference))
    near, better, worse = (dict.fromkeys((one.method for one in shown), 0) for _ in range(3))
    behind, could = defaultdict[str, list[float]](list), list[float]()
    sign = 1 if cells["mode"][0] == "max" else -1
    for (row,), own in cells.group_by("row", maintain_order=True):
        own = own.filter(pl.col("column").is_in([*near]))
        part = runs.filter(pl.col("column").is_in([*near]), pl.col("row") == row, pl.col("best").is_not_null())
        tests = against(reference, part) if reference in part["column"] else {}
        p = dict(zip(tests, holm([test.p for test in tests.values()]), strict=True))
        for method, test in tests.items():
            beyond = -sign * test.difference
            behind[method].append(beyond)
            could.append(test.least)
            if p[method] < LEVEL:
                (better if beyond > 0 else worse)[method] += 1
        for method in near_best(own, part):
            near[method] += 1
    form = f".{decimals_of(cells)}f"
    has_near = any(near.values())
    rows = [
        [
            Cell(one.method, best=one.front), Cell.number(one.rank, ".2f"),
            Cell(f"{one.interval[0]:.2f}–{one.interval[1]:.2f}"), Cell(one.groups),
            Cell(str(near[one.method]) if has_near else MISSING),
            Cell.number(statistics.median(behind[one.method]) if behind[one.method] else None, f"+z{form}"),
            *(Cell(MISSING if one.method == reference else str(count[one.method])) for count in (better, worse)),
            Cell.number(one.time, ".2g"),
        ]
        for one in shown
    ]  # fmt: skip
    notes = [
        said,
        f"Near the best: on how many of {n} bag datasets a method may be within {MARGIN} of the best, where one-sided "
        f"corrected tests keep each that is with {1 - LEFT_OUT:.0%} at least. Better, worse: on how many a corrected "
        f"repeated k-fold test against {reference}, named beforehand, says so, two-sided, by Holm's steps, {LEVEL}; "
        f"half of the tests could show a difference of {statistics.median(could):{form}}."
        if could
        else "No method has runs in common with the reference.",
        f"Time of a run as a multiple of {reference}'s; in bold where no method has a better mean rank in less time.",
    ]
    columns = ["method", "mean rank", "interval", "groups", "near the best", f"beyond {reference}, median"]
    columns += ["better", "worse", "time"]
    outside = sorted({f"{r.method} ({r.versions[SOURCE]})" for r in records if SOURCE in r.versions})
    notes += [f"From outside: {', '.join(outside)}."] if outside else []
    return f"{untitled(Table('board', columns, rows, notes))}- {told(records)}.\n"


def measures_of(records: Sequence[RunRecord]) -> str:
    """Make a Markdown table: a row per method, the mean of each of the six measures over all bag datasets.

    Methods stand by their mean log loss, the constant among them; those that lack a bag dataset are left out.
    """
    of_method: dict[str, dict[Place, list[Mapping[str, float | None]]]] = defaultdict(lambda: defaultdict(list))
    for record in with_constant([record for record in records if "log_loss" in record.measures]):
        of_method[record.method][record.dataset, record.grouping_key].append(record.measures)
    places = {place for own in of_method.values() for place in own}
    means = {}
    for method, own in of_method.items():
        if own.keys() == places:
            means[method] = [statistics.mean(_mean(one, measure) for one in own.values()) for measure in MEASURES]
    order = sorted(means, key=lambda method: means[method][2])
    rows = [[Cell(method), *(Cell.number(value, ".4f") for value in means[method])] for method in order]
    note = f"Means over {len(places)} bag datasets. Mean ratio: mean prediction over mean label of the test rows."
    return untitled(Table("measures", ["method", *MEASURES.values()], rows, [note]))


def _mean(runs: Sequence[Mapping[str, float | None]], measure: str) -> float:
    values = [value for one in runs if (value := one[measure]) is not None]
    return statistics.mean(values) if values else math.nan
