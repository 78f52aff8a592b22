"""Tables of the cells: built once as text, then shown on the terminal or written as Markdown or CSV."""

import csv
import io
import math
from dataclasses import dataclass

import polars as pl
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from llp.data.folds import N_FOLDS

METRIC_TITLES = {"auc": "AUC", "mse": "MSE"}
_MISSING = "–"


@dataclass(frozen=True)
class Cell:
    """Text of a table's cell, and whether it is the best of its row."""

    text: str
    best: bool = False


@dataclass(frozen=True)
class Table:
    """A table of text.

    Attributes
    ----------
    title : str
        One line.
    columns : list of str
        Titles of the columns; the first holds the names of the rows.
    rows : list of list of Cell
        As many cells as columns each.
    notes : list of str
        What a reader must know about the numbers.
    """

    title: str
    columns: list[str]
    rows: list[list[Cell]]
    notes: list[str]


def metric_table(cells: pl.DataFrame) -> Table:
    """Mean ± std of the metric: bag datasets as rows, methods as columns.

    Parameters
    ----------
    cells : pl.DataFrame
        Cells of one dataset and protocol, see `llp.results.summary.summarize`.
    """
    methods = columns_of(cells)
    decimals = decimals_of(cells)
    found = {(cell["row"], cell["column"]): cell for cell in cells.iter_rows(named=True)}
    rows = []
    for row in cells["row"].unique(maintain_order=True):
        values = [found.get((row, method)) for method in methods]
        shown = [Cell(cell_text(cell, decimals), cell["best"]) if cell else Cell(_MISSING) for cell in values]
        rows.append([Cell(row), *shown])
    return Table(heading(cells), ["bag dataset", *methods], rows, _notes(cells))


def method_table(cells: pl.DataFrame) -> Table:
    """What training did, per method over all its runs: metric before it, epochs, early stops, seconds.

    Parameters
    ----------
    cells : pl.DataFrame
        Cells of one dataset and protocol.
    """
    decimals = decimals_of(cells)
    metric = metric_title(cells)
    total = pl.col("n_runs").sum()
    by_method = cells.group_by("column", maintain_order=True).agg(
        total.alias("runs"),
        *((pl.col(name) * pl.col("n_runs")).sum() / total for name in ("epochs_mean", "first_stage_epochs_mean")),
        (pl.col("seconds_mean") * pl.col("n_runs")).sum() / total,
        pl.col("epochs_min").min(),
        pl.col("epochs_max").max(),
        pl.col("n_early_stopped").sum(),
        pl.col("untrained_mean").min().alias("low"),
        pl.col("untrained_mean").max().alias("high"),
    )
    rows = []
    for name in columns_of(cells):
        method = by_method.row(by_predicate=pl.col("column") == name, named=True)
        texts = [name, str(method["runs"]), _range(method["low"], method["high"], decimals), *_training(method)]
        rows.append([Cell(text) for text in texts])
    titles = ["method", "runs", f"untrained {metric}", "epochs", "stopped early", "seconds a run"]
    notes = [
        f"Untrained {metric}: before the (last) stage's first step, mean over the runs of a bag dataset, lowest to "
        "highest bag dataset. Epochs: mean (least to most) of the last stage, after + those of earlier stages."
    ]
    return Table(f"{heading(cells)}: training", titles, rows, notes)


def _training(method: dict[str, object]) -> list[str]:
    epochs = f"{method['epochs_mean']:.1f} ({method['epochs_min']}–{method['epochs_max']})"
    earlier = method["first_stage_epochs_mean"]
    return [
        f"{earlier:.1f} + {epochs}" if earlier else epochs,
        f"{method['n_early_stopped']} of {method['runs']}",
        f"{method['seconds_mean']:.1f}",
    ]


def _range(low: float | None, high: float | None, decimals: int) -> str:
    if low is None or high is None:
        return "NaN"
    texts = [f"{value:.{decimals}f}" for value in (low, high)]
    return texts[0] if texts[0] == texts[1] else "–".join(texts)


def cell_text(cell: dict[str, object], decimals: int) -> str:
    """Text such as '0.6543 ± 0.0021', with the number of runs where it is not one per fold."""
    mean, std = cell["mean"], cell["std"]
    text = "NaN" if mean is None else f"{mean:.{decimals}f}" + ("" if std is None else f" ± {std:.{decimals}f}")
    remark = _remark(*(int(str(cell[name])) for name in ("n_runs", "n_folds", "n_seeds", "n_undefined")))
    return f"{text} ({remark})" if remark else text


def _remark(n_runs: int, n_folds: int, n_seeds: int, n_undefined: int) -> str:
    said = []
    if n_folds != N_FOLDS or n_runs != n_folds * n_seeds:
        said.append(f"{n_folds} fold{'s' if n_folds > 1 else ''}")
    if n_seeds > 1:
        said.append(f"{n_seeds} seeds")
    if n_runs != n_folds * n_seeds:
        said.append(f"{n_runs} runs")
    if n_undefined:
        said.append(f"{n_undefined} of {n_runs} NaN")
    return ", ".join(said)


def _notes(cells: pl.DataFrame) -> list[str]:
    direction = "higher" if cells["mode"][0] == "max" else "lower"
    notes = [
        f"Mean ± sample standard deviation (ddof 1) over the runs of a cell, folds × seeds: {N_FOLDS} folds and one "
        f"seed unless it says otherwise. Test {metric_title(cells)}, {direction} is better.",
        "Marked: the best method on bags, among those with the most runs of the row.",
    ]
    if cells["protocol"][0] == "paper":
        notes.append("Protocol paper: the epoch is selected on the test rows: optimistic.")
    on_instances = cells.filter("instance_labels")["column"].unique(maintain_order=True).to_list()
    if on_instances:
        notes.append(f"Trained on instance labels, for reference: {', '.join(on_instances)}.")
    if cells["n_undefined"].sum():
        notes.append("NaN: runs whose metric is not finite are counted, and left out of the mean.")
    if "feature" in cells["bag_kind"].to_list() and cells["bag_kind"].n_unique() > 1:
        notes.append(
            "Feature bags are tested on the rows of the bags that are kept, random and fixed-size bags on all rows: "
            "compare methods within a row."
        )
    return notes


def columns_of(cells: pl.DataFrame) -> list[str]:
    """The methods in order: those on instance labels, then by mean rank."""
    distinct = cells.unique("column", keep="first", maintain_order=True)
    order = distinct.sort(~pl.col("instance_labels"), "rank", "column", nulls_last=True)
    return order["column"].to_list()


def metric_title(cells: pl.DataFrame) -> str:
    """The metric as readers know it."""
    name = str(cells["metric"][0])
    return METRIC_TITLES.get(name, name)


def heading(cells: pl.DataFrame) -> str:
    """Title of a dataset's tables and figures."""
    return f"{cells['dataset'][0]}: test {metric_title(cells)}, protocol {cells['protocol'][0]}"


def decimals_of(cells: pl.DataFrame) -> int:
    """Decimals that show four significant digits of a typical mean."""
    typical = cells["mean"].abs().median()
    if not isinstance(typical, float) or typical < 1:
        return 4
    return max(0, 3 - math.floor(math.log10(typical)))


def to_markdown(table: Table) -> str:
    """Write a table as Markdown, the best of a row in bold."""
    lines = [table.columns, ["---", *["---:"] * (len(table.columns) - 1)]]
    lines += [[f"**{cell.text}**" if cell.best else cell.text for cell in row] for row in table.rows]
    body = "\n".join(f"| {' | '.join(text.replace('|', '/') for text in line)} |" for line in lines)
    return f"### {table.title}\n\n{body}\n\n" + "\n".join(f"- {note}" for note in table.notes) + "\n"


def to_csv(table: Table) -> str:
    """Write a table as CSV, as it is shown; numbers to compute with are in results.csv."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows([cell.text for cell in row] for row in table.rows)
    return text.getvalue()


def show(table: Table, console: Console) -> None:
    """Print a table; one that is wider than the terminal goes on below, with the names of the rows again."""
    for number, part in enumerate(_parts(table, console.width)):
        console.print(f"[bold]{escape(table.title)}[/]{' (continued)' if number else ''}", highlight=False)
        shown = RichTable(header_style="bold cyan")
        for column in part:
            shown.add_column(
                escape(table.columns[column]),
                justify="right" if column else "left",
                no_wrap=column == 0,
                overflow="fold",
            )
        for row in table.rows:
            shown.add_row(
                *(f"[bold green]{escape(row[i].text)} *[/]" if row[i].best else escape(row[i].text) for i in part)
            )
        console.print(shown)
    for note in table.notes:
        console.print(f"[dim]{note}[/]", highlight=False)
    console.print()


def _parts(table: Table, width: int) -> list[list[int]]:
    """Column numbers of each part: the first column, and as many others as fit into the width."""
    padding, mark = 3, 2
    widths = [
        max(len(table.columns[i]), *(len(row[i].text) + mark * row[i].best for row in table.rows)) + padding
        for i in range(len(table.columns))
    ]
    parts, room = [[0]], width - widths[0] - 1
    for i in range(1, len(widths)):
        if widths[i] > room and len(parts[-1]) > 1:
            parts.append([0])
            room = width - widths[0] - 1
        parts[-1].append(i)
        room -= widths[i]
    return parts
