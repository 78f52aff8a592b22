"""Which method wins how often, where each is at its best and worst, and what stands apart from a trend."""

import polars as pl

from llp.results.bag_measures import FAR, HARDNESS, against_hardness, trends
from llp.results.formats import BAG_KINDS, columns_of, decimals_of, heading, notes_on
from llp.results.table import MISSING, Cell, Table
from llp.results.tables.bag_datasets import CLUSTERS


def wins(cells: pl.DataFrame) -> Table | None:
    """On how many bag datasets each method is the best, by kind of bags; None where no row has two to compare."""
    won = cells.filter("best")
    if not len(won):
        return None
    kinds = [kind for kind in BAG_KINDS if kind in won["bag_kind"].to_list()]
    found = {(name, kind): n for name, kind, n in won.group_by("column", "bag_kind").len().iter_rows()}
    contested = {kind: won.filter(pl.col("bag_kind") == kind)["row"].n_unique() for kind in kinds}
    methods = [name for name in columns_of(cells) if name in won["column"].to_list()]
    methods.sort(key=lambda name: -sum(found.get((name, kind), 0) for kind in kinds))
    rows = [[Cell(name), *(Cell.number(found.get((name, kind), 0), ".0f") for kind in kinds)] for name in methods]
    columns = ["method", *(f"{kind} (of {contested[kind]})" for kind in kinds)]
    notes = [
        "Best mean on bags among the methods with the most runs of the row, on the same folds and seeds; equal means "
        "both count."
    ]
    return Table(f"{heading(cells)}: bag datasets won", columns, rows, notes)


def ranges(cells: pl.DataFrame, analysis: pl.DataFrame | None) -> Table | None:
    """The feature bag datasets on which each method does best and worst, with their clusters; None where no two."""
    chosen = cells.filter((pl.col("bag_kind") == "feature") & pl.col("mean").is_not_null())
    chosen = chosen.filter(pl.col("grouping_key").n_unique().over("column") > 1)  # a setting makes no bag dataset
    if not len(chosen):
        return None
    clusters: dict[str, str] = {}
    if analysis is not None:
        named = analysis.filter(pl.col("kind") == "feature").select("grouping_key", *CLUSTERS)
        clusters = {key: "; ".join(name or MISSING for name in names) for key, *names in named.iter_rows()}
    form = f".{decimals_of(chosen)}f"
    rows = []
    for method in columns_of(chosen):
        own = chosen.filter(pl.col("column") == method).sort("upwards", "row", descending=[True, False])
        row = [Cell(method), Cell.number(own["grouping_key"].n_unique(), ".0f")]
        for end in (own.row(0, named=True), own.row(-1, named=True)):
            row += [Cell(end["row"]), Cell(format(end["mean"], form), value=end["mean"], cell=end["cell"])]
            row.append(Cell(clusters.get(end["grouping_key"], MISSING)))
        rows.append(row)
    columns = ["method", "bag datasets", "best on", "mean", "clusters", "worst on", "mean", "clusters"]
    notes = ["Clusters: tail of the bag sizes; label variation; bag separation.", *notes_on(chosen)[2:]]
    return Table(f"{heading(cells)}: range over the feature bag datasets", columns, rows, notes)


def trend_outliers(cells: pl.DataFrame, analysis: pl.DataFrame) -> Table | None:
    """Trends of each method with the measures of hardness, and their outliers; None where there are too few."""
    found = trends(against_hardness(cells, analysis))
    if not found:
        return None
    better, worse = ("above", "below") if cells["mode"][0] == "max" else ("below", "above")
    rows = [
        [
            Cell(f"{HARDNESS[row['measure']]}, {row['column']}"),
            Cell.number(row["spearman"], ".2f"),
            Cell(", ".join(row[better]) or MISSING),
            Cell(", ".join(row[worse]) or MISSING),
        ]
        for row in found
    ]
    columns = ["measure, method", "Spearman", "better than the trend", "worse than the trend"]
    notes = [
        "Trend: Theil's and Sen's line over the feature bag datasets in rising order of the measure. Apart: more than "
        f"{FAR} robust standard deviations off it."
    ]
    return Table(f"{heading(cells)}: trends with hardness, and outliers", columns, rows, notes)
