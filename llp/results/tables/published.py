"""The numbers of LLP-Bench (arXiv 2310.10096) and its authors' code beside our runs of protocol `paper`."""

from dataclasses import replace
from typing import Any

import polars as pl

from llp.datasets.published import BENCHMARKS, FOLDER, published_columns
from llp.results.bag_measures import HARDNESS
from llp.results.table import MISSING, Cell, Table
from llp.results.tables.bag_datasets import LARGE_BAG_SKEW, SKEW

CTR, SSCL = "criteo_ctr", "criteo_sscl"
SOURCE = "LLP-Bench (arXiv 2310.10096)"
_MEASURE_TITLES = HARDNESS | {name: title for name, (title, _) in SKEW.items()}


def _of(dataset: str, name: str) -> pl.DataFrame:
    """Published numbers of a dataset, AUC in percent, with our names of methods."""
    return pl.read_csv(FOLDER / name).filter(pl.col("dataset") == dataset).drop("dataset", "source", strict=False)


def comparable(cells: pl.DataFrame, dataset: str) -> pl.DataFrame:
    """Choose our cells of a dataset that compare, with `mean` and `std` in the published unit."""
    measure, scale = {CTR: ("auc_200_thresholds", 100.0), SSCL: ("mse", 1.0)}[dataset]
    if f"measures.{measure}" not in cells.columns:
        return cells.clear()
    chosen = cells.filter(pl.col("column") == pl.col("method"), protocol="paper", start="authors", setting="")
    mean, std = (pl.col(f"{name}.{measure}") * scale for name in ("measures", "measures_std"))
    return chosen.with_columns(mean=mean, std=std)


def random_bags(cells: pl.DataFrame, dataset: str) -> Table:
    """Published and our scores on random bags, and the difference."""
    own_cells = comparable(cells, dataset).filter(bag_kind="random").iter_rows(named=True)
    ours = {(cell["method"], cell["bag_size"]): cell for cell in own_cells}
    rows = []
    for method, size, mean, std in _of(dataset, "llpbench_random_bags.csv").iter_rows():
        own = ours.get((method, size))
        rows.append([Cell(method), Cell(str(size), value=size), _mean(mean, std), *_beside(mean, own)])
    columns = ["method", "bag size", "published", "ours", "difference"]
    return Table(f"{dataset}: random bags, published and ours", columns, rows, _notes(dataset))


def ranges(cells: pl.DataFrame, dataset: str) -> Table:
    """Published and our ranges of each method over the feature bag datasets, and the differences."""
    own = comparable(cells, dataset).filter((pl.col("bag_kind") == "feature") & pl.col("mean").is_not_null())
    rows = []
    for method, least, largest in _of(dataset, "llpbench_ranges.csv").iter_rows():
        ordered = own.filter(pl.col("method") == method).sort("mean").to_dicts()
        row = [Cell(method)]
        for value, end in ((least, ordered[:1]), (largest, ordered[-1:])):
            row += [_mean(value, None), *_beside(value, end[0] if end else None)]
        rows.append([*row, Cell(str(len(ordered)), value=len(ordered))])
    ends = ["published", "ours", "difference"]
    columns = ["method", *(f"{which}, {one}" for which in ("least", "largest") for one in ends), "our bag datasets"]
    return Table(f"{dataset}: ranges over feature bag datasets, published and ours", columns, rows, _notes(dataset))


def bag_measures(analysis: pl.DataFrame | None, dataset: str) -> Table:
    """Published and our measures of the benchmark's bag datasets."""
    names = {f"pct_eps_{epsilon}": f"percent_in_large_skewed_{epsilon}" for epsilon in ("0.1", "0.05")}
    names["std_label_prop"] = "std_label_proportion"
    key = (pl.col("col1") + "_" + pl.col("col2")).alias("grouping_key")
    table = pl.read_csv(FOLDER / BENCHMARKS[dataset]).select(key, pl.exclude("col1", "col2", "source"))
    table = table.rename(names, strict=False)
    measures = [name for name in table.columns if name != "grouping_key"]
    ours = {} if analysis is None else {row["grouping_key"]: row for row in analysis.iter_rows(named=True)}
    rows = []
    for row in table.iter_rows(named=True):
        cells = [Cell(row["grouping_key"])]
        for name in measures:
            own = ours.get(row["grouping_key"], {}).get(name)
            difference = None if own is None else own - row[name]
            cells += [Cell.number(row[name], ".2f"), Cell.number(own, ".2f"), Cell.number(difference, "+z.2f")]
        rows.append(cells)
    titles = [f"{_MEASURE_TITLES[name]}, {which}" for name in measures for which in ("published", "ours", "difference")]
    notes = [f"Published: {SOURCE}.", *([LARGE_BAG_SKEW] if dataset == CTR else [])]
    return Table(f"{dataset}: measures of the bag datasets, published and ours", ["grouping key", *titles], rows, notes)


def column_names(dataset: str) -> Table:
    """Names of the columns, in the tables and in the raw file, and how many values they have."""
    found = published_columns("ctr" if dataset == CTR else "sscl")
    rows = [[Cell(name), Cell(raw), Cell.number(n_values, ",.0f")] for name, raw, n_values in found]
    note = "Names and numbers of values in the benchmark authors' code (google-research/google-research, LLP_Bench)."
    return Table(f"{dataset}: names of the columns", ["column", "in the source", "values"], rows, [note])


def facts(dataset: str) -> Table:
    """Single numbers and names from the text."""
    found = _of(dataset, "llpbench_facts.csv").iter_rows()
    rows = [[Cell(fact), Cell(value.replace(" ", ", ")), Cell(where)] for fact, value, where in found]
    notes = [f"Published: {SOURCE}, in the part that stands under where."]
    return Table(f"{dataset}: published facts", ["fact", "published", "where"], rows, notes)


def _mean(mean: float, std: float | None) -> Cell:
    return Cell(f"{mean:.2f}" + ("" if std is None else f" ± {std:.2f}"), value=mean)


def _beside(value: float, own: dict[str, Any] | None) -> list[Cell]:
    """Our value, and how much it is above the published one."""
    if own is None or own["mean"] is None:
        return [Cell(MISSING), Cell(MISSING)]
    difference = own["mean"] - value
    return [replace(_mean(own["mean"], own["std"]), cell=own["cell"]), Cell.number(difference, "+z.2f")]


def _notes(dataset: str) -> list[str]:
    what = {
        CTR: "AUC over 200 thresholds in percent, of both",
        SSCL: "MSE in squared-log units of the price, of both",
    }[dataset]
    return [f"Published: {SOURCE}. {what}; ours: mean ± sample std, protocol paper."]
