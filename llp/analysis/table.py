"""The terminal's table of an analysis."""

import math

import polars as pl
from rich import box
from rich.console import Console
from rich.table import Table

from llp.analysis.figures import shown_keys

SHOWN = {
    "grouping_key": ("grouping key", "{}"),
    "percent_instances_kept": ("kept %", "{:.1f}"),
    "n_bags_kept": ("bags", "{:,}"),
    "mean_bag_size": ("mean size", "{:.1f}"),
    "bag_size_p50": ("50 %", "{:.0f}"),
    "bag_size_p95": ("95 %", "{:.0f}"),
    "label_bias": ("label mean", "{:.4g}"),
    "std_label_proportion": ("prop. std", "{:.4g}"),
    "cramers_v": ("Cramér's V", "{:.3f}"),
    "inter_intra_ratio": ("inter/intra", "{:.4f}"),
}
WIDTH = 150  # squeezed into a narrow pipe, the numbers could not be read
CLUSTERS = ("cluster_tail", "cluster_label_variation", "cluster_separation")


def show_bag_datasets(rows: pl.DataFrame, dataset: str) -> None:
    """Print the benchmark's keys (all keys that keep a bag, where there are none), then random and fixed-size bags."""
    table = Table(title=f"{dataset}: bag datasets", title_justify="left", box=box.SIMPLE_HEAD, collapse_padding=True)
    for name, (title, _) in SHOWN.items():
        table.add_column(title, justify="left" if name == "grouping_key" else "right", no_wrap=True)
    table.add_column("tail, label variation, separation", no_wrap=True)
    for section in (shown_keys(rows), rows.filter(pl.col("kind") != "feature")):
        for row in section.iter_rows(named=True):
            clusters = ", ".join(shorten(row[name]) for name in CLUSTERS if row[name] is not None)
            table.add_row(*(_cell(row[name], text) for name, (_, text) in SHOWN.items()), clusters)
        table.add_section()
    Console(width=max(Console().width, WIDTH)).print(table)


def _cell(value: str | float, text: str) -> str:
    """A value as the table shows it: an undefined measure is a dash."""
    return "–" if isinstance(value, float) and math.isnan(value) else text.format(value)


def shorten(cluster: str) -> str:
    """A cluster's name without what its column says: very short-tailed, well-separated."""
    return cluster.removesuffix("-tailed").removesuffix("-separated")
