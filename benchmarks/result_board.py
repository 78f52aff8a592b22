"""The tables of the board, of the six measures and of the study of rates: see `benchmarks.results`."""

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from string import ascii_letters
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from benchmarks.records import SOURCE, Place, learning_rate
from benchmarks.result_tables import cells_and_runs, collected, relative_times, told, untitled
from llp.errors import InputError
from llp.results.formats import decimals_of
from llp.results.statistics import cliques, critical_difference, holm
from llp.results.table import MISSING, Cell, Table
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

MEASURES = {
    "auc": "AUC",
    "average_precision": "average precision",
    "log_loss": "log loss",
    "brier": "Brier score",
    "calibration_error": "calibration error",
    "mean_prediction_over_mean_label": "mean ratio",
}
CONSTANT = "constant"
"""Method of the train bags' pooled label mean, whose measures every record has beside its own."""
DEFAULT_RATE = 1e-3
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
    groups = cliques(found.mean, limit)
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
    return f"{untitled(Table('board', columns, rows, notes))}- {told(records, records)}.\n"


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


Grid = dict[Place, dict[float, list[RunRecord]]]
"""Runs of a method by bag dataset and learning rate, those whose fold and seed all rates have."""


def _searches(records: Sequence[RunRecord]) -> dict[str, Grid]:
    found: dict[str, Grid] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for record in records:
        if record.metric.held_out is not None:
            found[record.method][record.dataset, record.grouping_key][learning_rate(record)].append(record)
    for grid in found.values():
        for runs in grid.values():
            shared = set.intersection(*({(one.fold, one.seed) for one in own} for own in runs.values()))
            for rate in runs:
                runs[rate] = [one for one in runs[rate] if (one.fold, one.seed) in shared]
    return found


def _held_out(runs: Sequence[RunRecord]) -> float:
    return statistics.mean(one.metric.held_out or 0.0 for one in runs)


def fixed_rates(records: Sequence[RunRecord]) -> dict[str, float]:
    """For each method of a search the rate whose held-out criterion is least.

    The criterion is what picks a run's epoch: its mean over folds, scaled to 0 for the least and 1 for the largest of
    a bag dataset's rates, and the mean of this over the bag datasets.
    """
    scaled = {method: _scaled(grid) for method, grid in _searches(records).items()}
    return {method: min(own, key=own.__getitem__) for method, own in scaled.items() if own}


def _scaled(grid: Grid) -> dict[float, float]:
    found: dict[float, list[float]] = defaultdict(list)
    for runs in grid.values():
        losses = {rate: _held_out(own) for rate, own in runs.items()}
        least, range_ = min(losses.values()), (max(losses.values()) - min(losses.values())) or 1.0
        for rate, loss in losses.items():
            found[rate].append((loss - least) / range_)
    return {rate: statistics.mean(found[rate]) for rate in sorted(found) if len(found[rate]) == len(grid)}


def regrets_of(records: Sequence[RunRecord]) -> str:
    """Make a Markdown table of a study of rates: what one fixed rate a method loses of the best one's test metric.

    Beside what the rate loses that the held-out criterion chooses on each bag dataset by itself, and the default rate.
    """
    fixed, rules = fixed_rates(records), ("fixed", "chosen", "default")
    lost: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    ends: dict[str, list[bool]] = defaultdict(list)
    for method, grid in sorted(_searches(records).items()):
        for runs in grid.values():
            score = {rate: statistics.mean(one.metric.best or 0.0 for one in own) for rate, own in runs.items()}
            chosen = min(runs, key=lambda rate: (_held_out(runs[rate]), rate))
            for rule, rate in zip(rules, (fixed[method], chosen, DEFAULT_RATE), strict=True):
                for name in (method, "all"):
                    lost[name][rule].append(max(score.values()) - score[rate])
            for name in (method, "all"):
                ends[name].append(chosen in (min(runs), max(runs)))
    everything = lost.pop("all")
    rows = [
        [
            Cell(name), Cell(f"{fixed[name]:g}" if name in fixed else MISSING),
            *(Cell.number(statistics.mean(own[rule]), ".4f") for rule in rules),
            Cell(f"{sum(ends[name])} of {len(ends[name])}"),
        ]
        for name, own in (*lost.items(), ("all", everything))
    ]  # fmt: skip
    columns = ["method", "fixed rate", "lost by it", "lost by the chosen rates", f"lost by {DEFAULT_RATE:g}"]
    columns.append("chose an end of the grid")
    beyond = [one - other for one, other in zip(everything["fixed"], everything["chosen"], strict=True)]
    n_rates = len({learning_rate(one) for one in records})
    note = (
        f"Mean test {records[0].metric.name} below the best of {n_rates} rates. The fixed rates lose "
        f"{statistics.mean(beyond):+.4f} more than the chosen ones, standard error "
        f"{statistics.stdev(beyond) / math.sqrt(len(beyond)):.4f}, over {len(beyond)} pairs of method and bag dataset."
    )
    return f"{untitled(Table('regrets', columns, rows, [note]))}- {told(records, records)}.\n"
