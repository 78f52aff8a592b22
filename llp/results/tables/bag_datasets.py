"""Bag datasets of a benchmark: columns of an analysis, as the benchmark's tables show them."""

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from llp.analysis.figures import shown_keys
from llp.results.bag_measures import HARDNESS
from llp.results.table import MISSING, Cell, Table

STATISTICS = {
    "n_bags": ("bags", ",.0f"),
    "n_bags_kept": ("bags kept", ",.0f"),
    "n_instances_kept": ("instances kept", ",.0f"),
    "percent_instances_kept": ("kept %", ".2f"),
    "mean_bag_size": (HARDNESS["mean_bag_size"], ".2f"),
    "std_bag_size": ("std of sizes", ".2f"),
    "min_bag_size": ("least", ",.0f"),
    "max_bag_size": ("largest", ",.0f"),
    "label_bias": ("label mean", ".4g"),
}
SIZES = {
    "bag_size_p50": ("50 %", ",.0f"),
    "bag_size_p70": ("70 %", ",.0f"),
    "bag_size_p85": ("85 %", ",.0f"),
    "bag_size_p95": ("95 %", ",.0f"),
    "cluster_tail": ("cluster", ""),
}
PROPORTIONS = {
    "mean_label_proportion": ("mean proportion", ".4g"),
    "std_label_proportion": (HARDNESS["std_label_proportion"], ".4g"),
    "log_likelihood": ("log-likelihood", ".4g"),
    "cluster_label_variation": ("cluster", ""),
}
SEPARATION = {
    "mean_inter_separation": ("mean inter", ".4g"),
    "mean_intra_separation": ("mean intra", ".4g"),
    "inter_intra_ratio": (HARDNESS["inter_intra_ratio"], ".4f"),
    "cluster_separation": ("cluster", ""),
}
ASSOCIATION = {
    "cramers_v": ("Cramér's V", ".4f"),
    "chi2": ("χ²", ",.0f"),
    "n_instances_kept": ("instances", ",.0f"),
}
SKEW = {
    "percent_in_large_skewed_0.1": ("ε = 0.1", ".2f"),
    "percent_in_large_skewed_0.05": ("ε = 0.05", ".2f"),
}
OVERVIEW = {
    "percent_instances_kept": ("kept %", ".1f"),
    "n_bags_kept": ("bags", ",.0f"),
    "mean_bag_size": ("mean size", ".1f"),
    "bag_size_p50": ("50 %", ".0f"),
    "bag_size_p95": ("95 %", ".0f"),
    "label_bias": ("label mean", ".4g"),
    "std_label_proportion": ("prop. std", ".4g"),
    "cramers_v": ("Cramér's V", ".3f"),
    "inter_intra_ratio": ("inter/intra", ".4f"),
}
CLUSTERS = ("cluster_tail", "cluster_label_variation", "cluster_separation")
LARGE_BAG_SKEW = (
    "ε: percentage of all instances in bags above the size filter's upper end with a label proportion below ε or above "
    "1 − ε."
)

Shown = Mapping[str, tuple[str, str]]
"""Columns of an analysis, each with its title and the form of its numbers."""


def bag_statistics(analysis: pl.DataFrame, dataset: str) -> Table:
    """Bags, instances kept and bag sizes of every feature key, whether or not it is in the benchmark."""
    keys = analysis.filter(pl.col("kind") == "feature")
    notes = [f"In the benchmark: {keys['in_benchmark'].sum()} of {len(keys)} grouping keys."]
    return _table(keys, f"{dataset}: every grouping key", STATISTICS, notes)


def of_keys(analysis: pl.DataFrame, title: str, shown: Shown, *notes: str) -> Table | None:
    """Columns of the benchmark's bag datasets; None where the first of them is defined for none."""
    keys = shown_keys(analysis)
    if not keys[next(iter(shown))].is_finite().any():
        return None
    return _table(keys, title, shown, [*notes])


def overview(analysis: pl.DataFrame, dataset: str) -> Table:
    """The benchmark's keys (all that keep a bag, where there are none), then random and fixed-size bags."""
    rows = pl.concat([shown_keys(analysis), analysis.filter(pl.col("kind") != "feature")])
    table = _table(rows, f"{dataset}: bag datasets", OVERVIEW, [])
    for row, clusters in zip(table.rows, rows.select(CLUSTERS).iter_rows(), strict=True):
        names = [name.removesuffix("-tailed").removesuffix("-separated") for name in clusters if name is not None]
        row.append(Cell(", ".join(names)))
    return replace(table, columns=[*table.columns, "tail, label variation, separation"])


def _table(keys: pl.DataFrame, title: str, shown: Shown, notes: list[str]) -> Table:
    shown = {"grouping_key": ("grouping key", "")} | dict(shown)
    forms = [form for _, form in shown.values()]
    rows = [[_cell(*one) for one in zip(row, forms, strict=True)] for row in keys.select(*shown).iter_rows()]
    return Table(title, [title for title, _ in shown.values()], rows, notes)


def _cell(value: float | str | None, form: str) -> Cell:
    if value is None or isinstance(value, str):
        return Cell(value or MISSING)
    return Cell.number(value, form)
