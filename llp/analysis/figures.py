"""Figures of an analysis, as LLP-Bench (arXiv 2310.10096) draws its bag datasets."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from llp.analysis.drawing import (
    COLOURS,
    GREY,
    in_three_measures,
    log_scale,
    name_ticks,
    new_figure,
    new_panels,
)
from llp.analysis.hardness import SIZE_PERMILLES, percentile_name

if TYPE_CHECKING:  # matplotlib takes a second to import
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MEASURES = {  # those that are drawn, and the clusters that colour them
    "mean_bag_size": ("mean bag size", "cluster_tail"),
    "std_label_proportion": ("std of label proportions", "cluster_label_variation"),
    "inter_intra_ratio": ("inter / intra separation", "cluster_separation"),
    "cramers_v": ("Cramér's V of bag and label", "cluster_label_variation"),
    "log_likelihood": ("mean log-likelihood of label counts", "cluster_label_variation"),
    "percent_instances_kept": ("instances kept (%)", "cluster_tail"),
}
ORDER = {  # the measure in whose rising order the clusters' colours stand
    "cluster_tail": "bag_size_p85",
    "cluster_label_variation": "std_label_proportion",
    "cluster_separation": "inter_intra_ratio",
}
SCATTERED = ("mean_bag_size", "std_label_proportion", "inter_intra_ratio")


def draw(name: str, rows: pl.DataFrame, dataset: str) -> "Figure | None":
    """A figure of an analysis, one of `FIGURES`, from rows as in `analysis.parquet`; None where no key keeps a bag."""
    keys = shown_keys(rows)
    figure = FIGURES[name](keys) if len(keys) else None
    if figure is not None:
        figure.suptitle(f"{dataset}: {len(keys)} bag datasets", fontsize=11)
    return figure


def shown_keys(rows: pl.DataFrame) -> pl.DataFrame:
    """The benchmark's feature keys; where there are none, all feature keys that keep a bag."""
    kept = rows.filter((pl.col("kind") == "feature") & (pl.col("n_bags_kept") > 0))
    benchmark = kept.filter("in_benchmark")
    return benchmark if len(benchmark) else kept


def cluster_colours(rows: pl.DataFrame, cluster: str) -> tuple[list[str], dict[str, str]]:
    """A colour for each row by its cluster, and one for each cluster in rising order."""
    named = rows.filter(pl.col(cluster).is_not_null())
    means = named.group_by(cluster).agg(pl.col(ORDER[cluster]).mean()).sort(ORDER[cluster], cluster)
    names = means[cluster].to_list()
    colour = dict(zip(names, COLOURS, strict=False))
    return [colour.get(name, GREY) for name in rows[cluster]], colour


def _legend(axes: "Axes", colour: dict[str, str], **place: Any) -> None:
    for name, value in colour.items():
        axes.scatter([], [], color=value, s=22, label=name)
    if colour:
        axes.legend(fontsize=7, handletextpad=0.2, **place)


def draw_measures(keys: pl.DataFrame) -> "Figure | None":
    """One panel per measure that is defined: the datasets in rising order of it; None where none is."""
    defined = [measure for measure in MEASURES if keys[measure].is_finite().any()]
    if not defined:
        return None
    figure, panels = new_panels(len(defined), min(max(5.0, 0.16 * len(keys)), 10.0), 3, most_columns=2)
    for axes, measure in zip(panels, defined, strict=True):
        title, cluster = MEASURES[measure]
        ordered = keys.filter(pl.col(measure).is_finite()).sort(measure, "grouping_key")
        colours, colour = cluster_colours(ordered, cluster)
        place = np.arange(len(ordered))
        values = ordered[measure].to_numpy()
        axes.vlines(place, values.min(), values, color=colours, lw=1, alpha=0.5)
        axes.scatter(place, values, c=colours, s=22)
        axes.set_title(title, loc="left", fontsize=9)
        name_ticks(axes, ordered["grouping_key"].to_list())
        _legend(axes, colour, loc="upper left")
    return figure


def draw_scatters(keys: pl.DataFrame) -> "Figure":
    """Mean bag size, label variation and bag separation, by pairs and at once; colours are the last one's clusters."""
    figure, points = new_figure(11, 9), keys.select(SCATTERED).to_numpy()
    titles = [MEASURES[name][0] for name in SCATTERED]
    for axes, shown, defined in in_three_measures(figure, points, titles, keys["grouping_key"].to_list()):
        colours, colour = cluster_colours(keys, MEASURES[SCATTERED[shown[-1]]][1])
        axes.scatter(*points[defined][:, shown].T, c=np.array(colours)[defined], s=30)
        _legend(axes, colour, loc="best" if len(shown) == 2 else "upper left")
    return figure


def draw_bag_sizes(keys: pl.DataFrame) -> "Figure":
    """Cumulative distribution of the bag sizes of each dataset, through its percentiles."""
    figure = new_figure(7, 4.6)
    axes = figure.subplots()
    colours, colour = cluster_colours(keys, "cluster_tail")
    columns = ["min_bag_size", *(f"bag_size_{percentile_name(q)}" for q in SIZE_PERMILLES), "max_bag_size"]
    share = np.array([0, *SIZE_PERMILLES, 1000]) / 1000
    for sizes, shade in zip(keys.select(columns).iter_rows(), colours, strict=True):
        axes.plot(sizes, share, color=shade, lw=1, alpha=0.7)
    log_scale(axes)
    axes.set(xlabel="bag size", ylabel="share of the bags that are no larger", ylim=(0, 1.01))
    _legend(axes, colour, loc="lower right")
    return figure


def draw_label_proportions(keys: pl.DataFrame) -> "Figure":
    """Label proportions of each dataset's bags: median, quartiles, and the middle 90 %."""
    figure = new_figure(min(max(7.0, 0.22 * len(keys)), 16.0), 4.6)
    axes = figure.subplots()
    ordered = keys.sort("std_label_proportion", "grouping_key")
    colours, colour = cluster_colours(ordered, "cluster_label_variation")
    box = {"whislo": "p5", "q1": "p25", "med": "p50", "q3": "p75", "whishi": "p95"}
    boxes = [
        {part: row[f"label_proportion_{percentile}"] for part, percentile in box.items()}
        for row in ordered.iter_rows(named=True)
    ]
    drawn = axes.bxp(boxes, positions=range(len(boxes)), showfliers=False, patch_artist=True, widths=0.6)
    for patch, shade in zip(drawn["boxes"], colours, strict=True):
        patch.set(facecolor=shade, alpha=0.6, edgecolor="none")
    for line in drawn["medians"]:
        line.set_color("black")
    axes.set_ylabel("label proportion of a bag")
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.12 * (high - low))  # for the legend
    name_ticks(axes, ordered["grouping_key"].to_list())
    _legend(axes, colour, loc="upper left")
    return figure


FIGURES: Mapping[str, Callable[[pl.DataFrame], "Figure | None"]] = {
    "measures": draw_measures,
    "key_scatter": draw_scatters,
    "bag_sizes": draw_bag_sizes,
    "label_proportions": draw_label_proportions,
}
