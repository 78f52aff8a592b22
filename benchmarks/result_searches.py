"""The tables of the result pages about searches for a learning rate: see `benchmarks.results`."""

import math
import statistics
from collections import defaultdict
from collections.abc import Sequence
from operator import attrgetter

import polars as pl

from benchmarks.records import OF_RUN
from benchmarks.result_tables import at_chosen_rates, searches_of, untitled
from benchmarks.selection import CRITERIA, NEAR, good_picks, lost
from llp.results.table import Cell, Table
from llp.runs.record import RunRecord


def rates_of(records: Sequence[RunRecord]) -> str:
    """Make a Markdown table of a search: a row per method, the test metric at each learning rate, the chosen in bold.

    Of several folds and seeds the first is shown.
    """
    searches = searches_of(records)
    chosen = {record.config_hash for record in at_chosen_rates(records)}
    rates = sorted({rate for runs in searches.values() for rate in runs})
    lines = [["method", *(f"rate {rate:g}" for rate in rates)], ["---"] * (len(rates) + 1)]
    for (_, _, method), runs in sorted(searches.items()):
        values = {rate: Cell.number(record.metric.best, ".4f").text for rate, record in runs.items()}
        bold = {rate: f"**{values[rate]}**" for rate, record in runs.items() if record.config_hash in chosen}
        lines.append([f"`{method}`", *((values | bold).get(rate, "") for rate in rates)])
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    one = next(iter(next(iter(searches.values())).values()))
    where = f"{one.grouping_key}, fold {one.fold}, seed {one.seed}"
    return f"{table}\nTest {one.metric.name}, {where}; in bold at the rate that the held-out bags chose.\n"


def choices_of(records: Sequence[RunRecord]) -> str:
    """Make a Markdown table: a row per method, how the rates that held-out bags chose did on test rows.

    Over all bag datasets whose metric is AUC; of several folds and seeds the first of each. A second table has one rate
    for all methods on bags beside these choices.
    """
    chosen = {record.config_hash for record in at_chosen_rates(records)}
    found: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    by_rule: dict[str, list[float]] = defaultdict(list)
    for (_, _, method), runs in searches_of(records).items():
        values = {rate: record.metric.best or math.nan for rate, record in runs.items()}
        taken = [rate for rate, record in runs.items() if record.config_hash in chosen]
        if len(runs) > 1 and len(taken) == 1 and next(iter(runs.values())).metric.name == "auc":
            best = max(values.values())
            found[method].append((best - values[taken[0]], taken[0] in (min(runs), max(runs))))
            if not runs[taken[0]].instance_labels:
                for rule, rate in (("chosen", taken[0]), *((f"always {rate:g}", rate) for rate in sorted(values))):
                    by_rule[rule].append(best - values[rate])
    lines = []
    for method, choices in sorted(found.items(), key=lambda one: statistics.mean(cost for cost, _ in one[1])):
        costs = [cost for cost, _ in choices]
        lines.append([
            Cell(method), Cell(f"{sum(cost == 0 for cost in costs)} of {len(costs)}"),
            Cell.number(statistics.mean(costs), ".4f"), Cell.number(max(costs), ".4f"),
            Cell(f"{sum(at_end for _, at_end in choices)} of {len(costs)}"),
        ])  # fmt: skip
    columns = ["method", "chose the best rate", "AUC lost, mean", "at most", "chose the least or largest rate"]
    rules = [
        [
            Cell(rule),
            Cell(f"{sum(cost == 0 for cost in costs)} of {len(costs)}"),
            Cell.number(statistics.mean(costs), ".4f"),
        ]
        for rule, costs in by_rule.items()
    ]
    in_all = untitled(Table("rules", ["rate of every method on bags", "the best rate", "AUC lost, mean"], rules, []))
    return f"{untitled(Table('choices', columns, lines, []))}\n{in_all}"


def picks_of(records: Sequence[RunRecord], looks: pl.DataFrame) -> str:
    """Make a Markdown table: a row per bag dataset, how well each held-out criterion picks rate and epoch together.

    A pick is one look among those of all rates, of several folds and seeds the first of each. See `selection_of`.
    """
    found: dict[str, list[dict[str, float]]] = defaultdict(list)
    for (dataset, grouping_key, _), runs in searches_of(records).items():
        searched = [dict(zip(OF_RUN, attrgetter(*OF_RUN)(record), strict=True)) for record in runs.values()]
        curves = looks.join(pl.DataFrame(searched), on=OF_RUN, how="semi").fill_null(math.nan).to_dict(as_series=False)
        losses = {one: loss for one in CRITERIA if (loss := lost(curves, one)) is not None}
        if len(runs) > 1 and len(losses) == len(CRITERIA):
            found[f"{dataset} {grouping_key}"].append(losses)
    found["all"] = [losses for one in found.values() for losses in one]
    lines = [
        [Cell(name), *(good_picks([losses[criterion] for losses in searches]) for criterion in CRITERIA)]
        for name, searches in found.items()
    ]
    note = f"Searches, one a method, whose pick is within {NEAR} of the best AUC; in brackets the mean AUC lost."
    return untitled(Table("picks", ["bag dataset", *CRITERIA], lines, [note]))
