"""What the bag datasets of a benchmark are made of: columns of an analysis, as the benchmark's tables show them."""

from collections.abc import Mapping

import polars as pl

from llp.analysis.figures import shown_keys
from llp.results.bag_measures import HARDNESS
from llp.results.table import MISSING, Cell, Table

_KEY = {"grouping_key": ("grouping key", "")}
_STATISTICS = {
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
_SIZES = {
    "bag_size_p50": ("50 %", ",.0f"),
    "bag_size_p70": ("70 %", ",.0f"),
    "bag_size_p85": ("85 %", ",.0f"),
    "bag_size_p95": ("95 %", ",.0f"),
    "cluster_tail": ("cluster", ""),
}
_PROPORTIONS = {
    "mean_label_proportion": ("mean proportion", ".4g"),
    "std_label_proportion": (HARDNESS["std_label_proportion"], ".4g"),
    "log_likelihood": ("log-likelihood", ".4g"),
    "cluster_label_variation": ("cluster", ""),
}
_SEPARATION = {
    "mean_inter_separation": ("mean inter", ".4g"),
    "mean_intra_separation": ("mean intra", ".4g"),
    "inter_intra_ratio": (HARDNESS["inter_intra_ratio"], ".4f"),
    "cluster_separation": ("cluster", ""),
}
_ASSOCIATION = {
    "cramers_v": ("Cramér's V", ".4f"),
    "chi2": ("χ²", ",.0f"),
    "n_instances_kept": ("instances", ",.0f"),
}
_SKEW = {
    "percent_in_large_skewed_0.1": ("ε = 0.1", ".2f"),
    "percent_in_large_skewed_0.05": ("ε = 0.05", ".2f"),
}
LARGE_BAG_SKEW = (
    "ε: percentage of all instances in bags above the size filter's upper end with a label proportion below ε or above "
    "1 − ε."
)

Shown = Mapping[str, tuple[str, str]]


def bag_statistics(analysis: pl.DataFrame, dataset: str) -> Table:
    """Bags, instances kept and bag sizes of every feature key, whether or not it is in the benchmark."""
    keys = analysis.filter(pl.col("kind") == "feature")
    table = _table(keys, f"{dataset}: every grouping key", _KEY | _STATISTICS)
    table.notes.append(f"In the benchmark: {keys['in_benchmark'].sum()} of {len(keys)} grouping keys.")
    return table


def data_statistics(analysis: pl.DataFrame, dataset: str) -> Table:
    """The three measures of hardness of the benchmark's bag datasets."""
    forms = {name: (title, ".4g") for name, title in HARDNESS.items()}
    kept = {name: _STATISTICS[name] for name in ("n_bags_kept", "percent_instances_kept")}
    return _table(shown_keys(analysis), f"{dataset}: bag datasets", _KEY | kept | forms)


def bag_size_clusters(analysis: pl.DataFrame, dataset: str) -> Table:
    """Bag size percentiles and the cluster of their tail."""
    return _table(shown_keys(analysis), f"{dataset}: bag sizes", _KEY | _SIZES)


def label_variation(analysis: pl.DataFrame, dataset: str) -> Table:
    """Spread of the label proportions and its cluster."""
    return _table(shown_keys(analysis), f"{dataset}: label proportions", _KEY | _PROPORTIONS)


def separation(analysis: pl.DataFrame, dataset: str) -> Table | None:
    """Separation of the bags and its cluster; None where the analysis has measured none."""
    keys = shown_keys(analysis)
    if not keys["inter_intra_ratio"].is_finite().any():
        return None
    return _table(keys, f"{dataset}: bag separation", _KEY | _SEPARATION)


def cramers_v(analysis: pl.DataFrame, dataset: str) -> Table | None:
    """Association of bag and label; None for real labels."""
    keys = shown_keys(analysis)
    if not keys["cramers_v"].is_finite().any():
        return None
    return _table(keys, f"{dataset}: association of bag and label", _KEY | _ASSOCIATION)


def large_bag_skew(analysis: pl.DataFrame, dataset: str) -> Table | None:
    """Share of all instances in large bags whose label proportion is near 0 or 1; None for real labels."""
    keys = shown_keys(analysis)
    if not keys["percent_in_large_skewed_0.1"].is_finite().any():
        return None
    table = _table(keys, f"{dataset}: instances in large, skewed bags (%)", _KEY | _SKEW)
    table.notes.append(LARGE_BAG_SKEW)
    return table


def _table(keys: pl.DataFrame, title: str, shown: Shown) -> Table:
    rows = [
        [_cell(row[name], form) for name, (_, form) in shown.items()]
        for row in keys.select(*shown).iter_rows(named=True)
    ]
    return Table(title, [title for title, _ in shown.values()], rows)


def _cell(value: float | str | None, form: str) -> Cell:
    if value is None or isinstance(value, str):
        return Cell(value or MISSING)
    return Cell.number(value, form)
