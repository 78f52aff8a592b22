"""The tables of the result pages with a column per setting, as by ε or by the bags' size: see `benchmarks.results`."""

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, TypeVar

import polars as pl

from benchmarks.records import OF_POINT
from benchmarks.result_tables import collected, told, untitled
from llp.results.statistics import holm
from llp.results.summary import summarize
from llp.results.table import MISSING, Cell, Table
from llp.results.tables.significance import against, paired_tests
from llp.results.variants import name_variants
from llp.runs.record import RunRecord

Place = TypeVar("Place")
Order = tuple[str | float, ...]
"""What the columns of a grid sort by."""


def _method(record: RunRecord) -> str:
    return record.method


def lines_of(
    records: Sequence[RunRecord],
    place: Callable[[RunRecord], Place | None],
    name: Callable[[RunRecord], str] = _method,
    value: Callable[[RunRecord], float | None] = attrgetter("metric.best"),
) -> dict[str, dict[Place, list[float]]]:
    """Test metrics of each method's runs by their place, without those that have none, in the order of names."""
    lines: dict[str, dict[Place, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in sorted(records, key=name):
        where, found = place(record), value(record)
        if where is not None and found is not None:
            lines[name(record)][where].append(found)
    return lines


def named_of(records: Sequence[RunRecord]) -> Callable[[RunRecord], str]:
    """What tells records apart whose ε is spent in several ways: that and the method; else the method alone."""
    return (lambda record: f"{design(record)}: {record.method}") if len({*map(design, records)}) > 1 else _method


def design(record: RunRecord) -> str:
    """On what a run's ε is spent: flipped labels, a report's queries, or the bags of a key."""
    if record.noise is not None and record.noise.mechanism == "randomised_response":
        return "flips"
    key: Any = record.config.get("grouping_key")
    if isinstance(key, dict) and "queries" in key:
        listed = [key["queries"]] if isinstance(key["queries"], str) else key["queries"]
        return " + ".join(one if isinstance(one, str) else f"one of {len(one)}" for one in listed)
    named = {"feature": "bags of a key", "fixed": f"bags of {record.bag_size} along a key"}
    return named.get(record.bag_kind, record.grouping_key)


def on_bags(records: Sequence[RunRecord]) -> list[RunRecord]:
    """Those of runs that saw no instance's own label."""
    return [record for record in records if not record.instance_labels]


def epsilon(record: RunRecord) -> float | None:
    """The ε of a run's noise; None of a run without."""
    noise = record.config.get("noise")
    return float(str(noise["epsilon"])) if isinstance(noise, dict) else None


def bags_of_rows(records: Sequence[RunRecord]) -> Callable[[RunRecord], float]:
    """The number of train bags at a record's number of made rows and bag size: the median, as folds differ by a few."""
    found: dict[tuple[object, int | None], list[int]] = defaultdict(list)
    for record in records:
        found[_rows(record), record.bag_size].append(record.n_train_bags)
    return lambda record: statistics.median(found[_rows(record), record.bag_size])


def _rows(record: RunRecord) -> object:
    dataset = record.config["dataset"]
    assert isinstance(dataset, dict)
    return dataset["rows"]


def noise_of(records: Sequence[RunRecord]) -> str:
    """Make a Markdown table: a row per design and method, the test metric without noise and at each ε, falling.

    Of several datasets each has its own.
    """
    if len(datasets := sorted({record.dataset for record in records})) > 1:
        return "\n".join(
            f"**{name}**\n\n{noise_of([one for one in records if one.dataset == name])}" for name in datasets
        )

    def place(record: RunRecord) -> tuple[tuple[float, ...], str]:
        own = epsilon(record)
        return ((-math.inf,), "no noise") if own is None else ((-own,), f"ε = {own:g}")

    return _grid(records, place, named_of(records))


def reports_of(records: Sequence[RunRecord]) -> str:
    """Make a Markdown table: for each table AUC / log loss of trees, a network and `cell_glm`.

    Means over folds; those of `cell_glm` without noise and at each ε, falling.
    """

    def column(record: RunRecord) -> tuple[float, str]:
        if record.instance_labels:
            return (-2.0 if record.method == "trees" else -1.0, f"{record.method}, all labels")
        own = epsilon(record)
        return (0.0, "report, exact") if own is None else (1 / own, f"ε = {own:g}")

    found: dict[str, dict[tuple[float, str], list[RunRecord]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        found[record.dataset][column(record)].append(record)
    columns = sorted({place for own in found.values() for place in own})
    rows = []
    for dataset, own in sorted(found.items()):
        reports = [record for record in records if record.dataset == dataset and record.bag_kind == "report"]
        cells = statistics.median(record.n_train_bags for record in reports)
        queries: Any = reports[0].facts["queries"]
        size = f"{reports[0].n_train_instances:,} × {len(queries)} queries, {cells:,.0f} cells"
        shown = [_both(own[place]) for place in columns]
        folds = len({record.fold for record in reports})
        rows.append([Cell(dataset), Cell(size), Cell(str(folds)), *map(Cell, shown)])
    table = untitled(Table("reports", ["table", "train rows", "folds", *(title for _, title in columns)], rows, []))
    return f"{table}\nTest AUC / log loss; {told(records)}.\n"


def _both(records: Sequence[RunRecord]) -> str:
    means = (statistics.fmean(record.measures[name] or math.nan for record in records) for name in ("auc", "log_loss"))
    return " / ".join(f"{mean:.3f}" for mean in means) if records else MISSING


def selected_by(record: RunRecord) -> str:
    """What the config of a run says its epoch is picked by: "test rows", or the value of `protocol.select_by`."""
    protocol = record.config["protocol"]
    by = protocol.get("select_by", record.protocol) if isinstance(protocol, dict) else record.protocol
    return "test rows" if by in ("test", "paper") else str(by)


def epochs_of(records: Sequence[RunRecord]) -> str:
    """Make a Markdown table: the test metric of each bag dataset by what picked the epoch, the test rows first."""

    def place(record: RunRecord) -> tuple[tuple[str | int, ...], str]:
        by = selected_by(record)
        return (record.grouping_key, by != "test rows", by), f"{record.grouping_key}, {by}"

    return _grid(records, place)


def keys_of(records: Sequence[RunRecord]) -> str:
    """Make a Markdown table: a row per method, the test metric on each kind of bags; of two kinds they are compared."""
    grid = _grid(records, lambda record: ((record.grouping_key,), record.grouping_key))
    keys = sorted({record.grouping_key for record in records})
    return f"{grid}\n{_between(records, keys[0], keys[1])}" if len(keys) == 2 else grid


def _between(records: Sequence[RunRecord], one: str, other: str) -> str:
    """Make a Markdown table: paired tests of each method's folds on two kinds of bags, the seeds of a fold averaged."""
    runs = collected(records).runs.filter(pl.col("best").is_not_null()).with_columns(column="grouping_key")
    tests = {}
    for (method,), own in sorted(runs.group_by("method")):
        if one in own["column"] and (test := against(one, own).get(other)) is not None:
            tests[str(method)] = test
    corrected = dict(zip(tests, holm([test.p for test in tests.values()]), strict=True))
    rows = [
        [
            Cell(method),
            Cell.number(test.difference, "+z.4f"),
            Cell.number(corrected[method], ".3g"),
            Cell.number(test.effect, ".2f"),
        ]
        for method, test in sorted(tests.items(), key=lambda one: -one[1].difference)
    ]
    note = (
        "Paired t test over the folds, variance corrected for overlapping train rows (Nadeau and Bengio 2003), "
        "two-sided; p by Holm's steps over the methods. d_z: mean difference over the standard deviation of the "
        "differences."
    )
    return untitled(Table("between", ["method", f"{one} beyond {other}", "p (Holm)", "d_z"], rows, [note]))


def study_of(records: Sequence[RunRecord]) -> str:
    """Make two Markdown tables by bag size and number of train bags: the test metric, and tests of the best method."""
    bags = bags_of_rows(records)

    def place(record: RunRecord) -> tuple[tuple[float, ...], str]:
        size = record.bag_size or 0
        return (size, bags(record)), f"{bags(record):,.0f} of {size}"

    title = {attrgetter(*OF_POINT)(record): place(record)[1] for record in records}
    found = collected(records)
    runs = name_variants(found)
    runs = runs.with_columns(pl.Series("row", [title[point] for point in runs.select(OF_POINT).iter_rows()], pl.String))
    tests = paired_tests(summarize(runs), runs)
    shown = "" if tests is None else "\n" + untitled(tests).replace("bag dataset", "bags", 1)
    return _grid(records, place) + shown


def _grid(
    records: Sequence[RunRecord],
    place: Callable[[RunRecord], tuple[Order, str]],
    name_of: Callable[[RunRecord], str] = _method,
) -> str:
    """Mean ± standard deviation by method and place, which is what places sort by and a title; best on bags in bold."""
    lines = lines_of(records, place, name_of)
    better, sign = (max, -1) if records[0].metric.mode == "max" else (min, 1)
    of_bags = {name_of(record) for record in on_bags(records)}
    places = sorted({where for line in lines.values() for where in line})
    means = {name: {where: statistics.mean(line[where]) for where in line} for name, line in lines.items()}
    found = {where: [means[name][where] for name in of_bags & means.keys() if where in means[name]] for where in places}
    best = {where: better(values, default=None) for where, values in found.items()}
    rows = []
    for name in sorted(lines, key=lambda name: (name in of_bags, sign * statistics.mean(means[name].values()))):
        cells = [_spread(lines[name].get(where, [])) for where in places]
        marks = [name in of_bags and means[name].get(where) == best[where] for where in places]
        rows.append([Cell(name), *(replace(cell, best=mark) for cell, mark in zip(cells, marks, strict=True))])
    table = untitled(Table("grid", ["method", *(title for _, title in places)], rows, []))
    protocols = " and ".join(sorted({record.protocol for record in records}))
    return f"{table}\nTest {records[0].metric.name}, protocol {protocols}; {told(records)}.\n"


def _spread(values: list[float]) -> Cell:
    if not values:
        return Cell(MISSING)
    spread = f" ± {statistics.stdev(values):.4f}" if len(values) > 1 else ""
    return Cell(f"{statistics.mean(values):.4f}{spread}", value=statistics.mean(values))
