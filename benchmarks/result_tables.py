"""The tables of the result pages, each from committed run records: see `benchmarks.results`."""

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.records import OF_LOOK, OF_POINT, OF_RUN
from benchmarks.selection import selection
from llp.results.collect import Collected, collect_records
from llp.results.formats import by_place, columns_of, decimals_of
from llp.results.summary import summarize
from llp.results.table import Cell, Table, to_markdown
from llp.results.tables.significance import REFERENCE, paired_tests
from llp.results.variants import name_variants
from llp.runs.record import RunRecord


def collected(records: Iterable[RunRecord]) -> Collected:
    """What a report would collect of the records; a record's folder is its number."""
    return collect_records((record, Path(str(number))) for number, record in enumerate(records))


def table_of(records: Sequence[RunRecord]) -> str:
    """Make a Markdown table: a row per method, for each grouping key mean ± sample standard deviation and epochs.

    The deviation is left out where there is one run.

    Methods stand in the order of the first key's mean, the best first.
    """
    cells: dict[str, dict[str, list[RunRecord]]] = defaultdict(dict)
    for record in records:
        cells[record.method].setdefault(record.grouping_key, []).append(record)
    keys = sorted({record.grouping_key for record in records})
    metric = records[0].metric
    best_first = sorted(
        cells, key=lambda method: statistics.mean(_values(cells[method][keys[0]])), reverse=metric.mode == "max"
    )
    header = ["method", *(text for key in keys for text in (f"test {metric.name}, {key}", "epochs"))]
    lines = [header, ["---"] * len(header)]
    lines += [[f"`{name}`", *(text for key in keys for text in _cell(cells[name][key]))] for name in best_first]
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return f"{table}\n{told(records)}.\n"


def untitled(table: Table) -> str:
    """A table as Markdown without its title: the page's own heading stands above it."""
    return to_markdown(table).split("\n", 2)[2]


def cells_and_runs(found: Collected) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The runs and their cells; rows name the dataset too, and ranks are over all, where there are several."""
    runs = name_variants(found)
    cells = summarize(runs)
    if runs["dataset"].n_unique() > 1:
        row = pl.concat_str("dataset", "row", separator=" ").alias("row")
        cells = cells.with_columns(row, pl.col("upwards").rank(descending=True).over("dataset", "row").alias("rank"))
        return cells.with_columns(pl.col("rank").mean().over("metric", "column")), runs.with_columns(row)
    return cells, runs


def _by_metric(records: Sequence[RunRecord], table: Callable[[pl.DataFrame, pl.DataFrame], Table | None]) -> str:
    """Make the Markdown tables of a report, without their titles, one for each metric; where it is not AUC it is named.

    Raises
    ------
    ValueError
        The records are too few for any.
    """
    cells, runs = cells_and_runs(collected(records))
    made = []
    for metric in sorted(cells["metric"].unique()):
        found = table(*(part.filter(pl.col("metric") == metric) for part in (cells, runs)))
        if found is not None:
            named = f"Test {metric}:\n\n" if cells["metric"].n_unique() > 1 else ""
            made.append(named + untitled(found))
    if not made:
        raise ValueError("the records hold too few methods, folds or bag datasets for such a table")
    return "\n".join(made)


def comparison_of(records: Sequence[RunRecord]) -> str:
    """Make the Markdown table of a report that sets the best method of each bag dataset beside the others."""
    return _by_metric(records, paired_tests)


def means_of(records: Sequence[RunRecord]) -> str:
    """Make a Markdown table: a row per method, its mean in each bag dataset, and the time of its runs.

    The time is that of the runs' stages, as a multiple of `REFERENCE`'s in the same bag dataset: the geometric mean
    over the bag datasets, of the median over the runs. Methods stand by mean rank, those on instance labels first.
    """

    def table(cells: pl.DataFrame, runs: pl.DataFrame) -> Table:
        unit = REFERENCE[cells["label_kind"][0]]
        return _means(cells, f"time, {unit}'s = 1", relative_times(records, runs, unit), ".2g")

    return _by_metric(records, table)


def _means(cells: pl.DataFrame, title: str, last: Mapping[str, float | None], form: str) -> Table:
    """A row per method with its mean in each row of the cells, and in the end one more number of each method."""
    rows = cells["row"].unique(maintain_order=True).to_list()
    found, of_metric = by_place(cells), f".{decimals_of(cells)}f"
    lines = []
    for method in columns_of(cells):
        own: list[dict[str, Any]] = [found.get((row, method), {"mean": None, "best": False}) for row in rows]
        shown = [replace(Cell.number(cell["mean"], of_metric), best=cell["best"]) for cell in own]
        lines.append([Cell(method), *shown, Cell.number(last.get(method), form)])
    return Table("means", ["method", *rows, title], lines, [])


def relative_times(records: Sequence[RunRecord], runs: pl.DataFrame, unit: str) -> dict[str, float]:
    """Times of the methods' runs as multiples of one's, the geometric mean over the rows that have both."""
    times = _times(records, runs)
    ratios: dict[str, list[float]] = defaultdict(list)
    for (row, method), seconds in times.items():
        if (row, unit) in times:
            ratios[method].append(seconds / times[row, unit])
    return {method: statistics.geometric_mean(own) for method, own in ratios.items()}


def _times(records: Sequence[RunRecord], runs: pl.DataFrame) -> dict[tuple[str, str], float]:
    """Median seconds of a run, by row and column."""
    of_run = {attrgetter(*OF_POINT)(record): sum(stage.seconds for stage in record.stages) for record in records}
    seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row, column, *run in runs.select("row", "column", *OF_POINT).iter_rows():
        if of_run.get(tuple(run)):  # a constant takes none
            seconds[row, column].append(of_run[tuple(run)])
    return {place: statistics.median(values) for place, values in seconds.items()}


def told(records: Sequence[RunRecord]) -> str:
    """What a table rests on."""
    commits = ", ".join(sorted({(record.git_commit or "unknown")[:8] for record in records}))
    folds = f"seeds {_set(r.seed for r in records)}, folds {_set(r.fold for r in records)}"
    return f"{len(records)} runs; {folds}; code of commit {commits}"


def selection_of(records: Sequence[RunRecord], looks: pl.DataFrame) -> str:
    """Make the Markdown table of a report that says how well each held-out criterion picks the epoch.

    `looks` are the runs' curves as `benchmarks.records` keeps them.
    """
    of_run = looks.partition_by(OF_RUN, as_dict=True, include_key=False)
    curves = {
        str(place): of_run[run].select(pl.col(OF_LOOK).cast(pl.Float64).fill_null(math.nan)).to_dict(as_series=False)
        for place, record in enumerate(records)
        if (run := attrgetter(*OF_RUN)(record)) in of_run
    }
    table = selection(*cells_and_runs(collected(records)), lambda folder: curves.get(folder, {}))
    if table is None:
        raise ValueError("the curves hold no test AUC beside a held-out criterion")
    return untitled(table)


def _values(records: Iterable[RunRecord]) -> list[float]:
    return [float("nan") if record.metric.best is None else record.metric.best for record in records]


def _set(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(set(numbers))))


def _cell(records: Sequence[RunRecord]) -> list[str]:
    """Mean ± standard deviation of the metric, and the epochs, stage by stage (nothing where none is)."""
    values = _values(records)
    stages = zip(*([stage.epochs for stage in record.stages] for record in records), strict=True)
    epochs = " + ".join(f"{statistics.mean(of_one):.0f}" for of_one in stages)
    spread = f" ± {statistics.stdev(values):.4f}" if len(values) > 1 else ""
    return [f"{statistics.mean(values):.4f}{spread}", epochs if epochs != "0" else ""]
