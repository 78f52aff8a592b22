"""What one learning rate for every method loses, in a study of rates."""

import math
import statistics
from collections import defaultdict
from collections.abc import Sequence

from benchmarks.records import Place
from benchmarks.result_tables import told, untitled
from llp.results.table import MISSING, Cell, Table
from llp.runs.record import RunRecord

DEFAULT_RATE = 1e-3

Grid = dict[Place, dict[float, list[RunRecord]]]
"""Runs of a method by bag dataset and learning rate, those whose fold and seed all rates have."""


def _rate(record: RunRecord) -> float:
    """The learning rate of a run."""
    optimizer = record.config["optimizer"]
    assert isinstance(optimizer, dict)
    return float(str(optimizer["lr"]))


def _searches(records: Sequence[RunRecord]) -> dict[str, Grid]:
    found: dict[str, Grid] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for record in records:
        if record.metric.held_out is not None:
            found[record.method][record.dataset, record.grouping_key][_rate(record)].append(record)
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
    """Make a Markdown table of a study of rates: what the default rate loses of the best one's test metric.

    Beside what one fixed rate a method loses, and the rates that the held-out criterion chooses on each bag dataset.
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
    n_rates = len({_rate(one) for one in records})
    beyond = [
        f"{_mean_and_error(everything['default'], everything[rule])} more than {other}"
        for rule, other in (("chosen", "the chosen ones"), ("fixed", "one fixed rate a method"))
    ]
    note = (
        f"Mean test {records[0].metric.name} below the best of {n_rates} rates. {DEFAULT_RATE:g} loses "
        f"{' and '.join(beyond)}, over {len(everything['default'])} pairs of method and bag dataset."
    )
    return f"{untitled(Table('regrets', columns, rows, [note]))}- {told(records)}.\n"


def _mean_and_error(ones: Sequence[float], others: Sequence[float]) -> str:
    beyond = [one - other for one, other in zip(ones, others, strict=True)]
    error = statistics.stdev(beyond) / math.sqrt(len(beyond))
    return f"{statistics.mean(beyond):+.4f} (standard error {error:.4f})"
