"""Tables and figures of a report by name: functions that make them, or give None where there is nothing to show."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import polars as pl

from llp.analysis import figures as analysis_figures
from llp.analysis.matrix import matrix_figure
from llp.datasets.published import BENCHMARKS
from llp.results.figures import bags, comparison, curves, hardness
from llp.results.figures import scores as score_figures
from llp.results.table import Table
from llp.results.tables import bag_datasets, completeness, queries, scores, significance, winners
from llp.results.tables import published as published_tables
from llp.results.tables.completeness import Progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Scores:
    """The runs of one dataset under one protocol."""

    cells: pl.DataFrame  # see `llp.results.summary.summarize`
    runs: pl.DataFrame  # see `llp.results.variants.name_variants`
    analysis: pl.DataFrame | None  # the dataset's


@dataclass(frozen=True)
class Dataset:
    """A dataset, with whatever is there of it."""

    name: str
    cells: pl.DataFrame  # under every protocol
    analysis: pl.DataFrame | None
    progress: Progress  # what became of its grid
    matrices: Mapping[str, pl.DataFrame] = field(default_factory=dict)  # by key, see `measure_matrix`


Part = TypeVar("Part", Scores, Dataset)
Made = TypeVar("Made")
ScoreTable = Callable[[Scores], Table | None]
DatasetTable = Callable[[Dataset], Table | None]
ScoreFigure = Callable[[Scores], "Figure | None"]
DatasetFigure = Callable[[Dataset], "Figure | None"]


def _published(table: Callable[[Dataset], Table | None]) -> DatasetTable:
    return lambda part: table(part) if part.name in BENCHMARKS else None


def _analysed(make: Callable[[Part, pl.DataFrame], Made | None]) -> Callable[[Part], Made | None]:
    return lambda part: None if part.analysis is None else make(part, part.analysis)


def _of_keys(title: str, shown: bag_datasets.Shown, *notes: str) -> DatasetTable:
    return _analysed(lambda part, analysis: bag_datasets.of_keys(analysis, f"{part.name}: {title}", shown, *notes))


def _ordered_by(measure: str) -> ScoreFigure:
    return _analysed(lambda part, analysis: hardness.ordered_by(measure, part.cells, analysis))


def _keys_drawn(name: str) -> DatasetFigure:
    return _analysed(lambda part, analysis: analysis_figures.draw(name, analysis, part.name))


SCORE_TABLES: Mapping[str, ScoreTable] = {
    "scores": lambda part: scores.scores(part.cells),
    "measures": lambda part: scores.measures(part.cells),
    "wins": lambda part: winners.wins(part.cells),
    "random_bags": lambda part: scores.random_bags(part.cells),
    "fixed_bags": lambda part: scores.fixed_bags(part.cells),
    "ranges": lambda part: winners.ranges(part.cells, part.analysis),
    "trends": _analysed(lambda part, analysis: winners.trend_outliers(part.cells, analysis)),
    "ranks": lambda part: significance.mean_ranks(part.cells, part.runs),
    "paired_tests": lambda part: significance.paired_tests(part.cells, part.runs),
    "training": lambda part: scores.training(part.cells),
    "queries": lambda part: queries.queries(part.cells, part.runs),
}
SCORE_FIGURES: Mapping[str, tuple[str, ScoreFigure]] = {
    "scores": ("Scores by bag dataset and method", lambda part: score_figures.scores(part.cells)),
    "by_mean_bag_size": ("Scores by MeanBagSize", _ordered_by("mean_bag_size")),
    "by_label_prop_stdev": ("Scores by LabelPropStdev", _ordered_by("std_label_proportion")),
    "by_inter_intra_ratio": ("Scores by InterIntraRatio", _ordered_by("inter_intra_ratio")),
    "scatter": (
        "Best method by the measures of hardness",
        _analysed(lambda part, analysis: hardness.scatter(part.cells, analysis)),
    ),
    "critical_difference": ("Mean ranks and critical difference", lambda part: comparison.ranks(part.cells)),
    "learning_curves": ("Learning curves", lambda part: curves.learning_curves(part.cells, part.runs)),
    "bag_calibration": (
        "Stated and predicted proportions of bags",
        lambda part: bags.bag_calibration(part.cells, part.runs),
    ),
}
DATASET_TABLES: Mapping[str, DatasetTable] = {
    "completeness": lambda part: completeness.completeness(part.progress),
    "grids": lambda part: completeness.grids(part.progress),
    "published_random_bags": _published(lambda part: published_tables.random_bags(part.cells, part.name)),
    "published_ranges": _published(lambda part: published_tables.ranges(part.cells, part.name)),
    "published_bag_measures": _published(lambda part: published_tables.bag_measures(part.analysis, part.name)),
    "published_facts": _published(lambda part: published_tables.facts(part.name)),
    "column_names": _published(lambda part: published_tables.column_names(part.name)),
    "bag_size_clusters": _of_keys("bag sizes", bag_datasets.SIZES),
    "label_variation": _of_keys("label proportions", bag_datasets.PROPORTIONS),
    "separation": _of_keys("bag separation", bag_datasets.SEPARATION),
    "cramers_v": _of_keys("association of bag and label", bag_datasets.ASSOCIATION),
    "large_bag_skew": _of_keys("instances in large, skewed bags (%)", bag_datasets.SKEW, bag_datasets.LARGE_BAG_SKEW),
    "bag_statistics": _analysed(lambda part, analysis: bag_datasets.bag_statistics(analysis, part.name)),
}
DATASET_FIGURES: Mapping[str, tuple[str, DatasetFigure]] = {
    "measures": ("Bag datasets against each measure", _keys_drawn("measures")),
    "key_scatter": ("Bag datasets by pairs of measures and by three", _keys_drawn("key_scatter")),
    "bag_sizes": ("Distributions of the bag sizes", _keys_drawn("bag_sizes")),
    "label_proportions": ("Label proportions", _keys_drawn("label_proportions")),
    "bag_sep_matrix": (
        "BagSepMatrix of chosen keys",
        lambda part: matrix_figure(part.matrices, part.name) if part.matrices else None,
    ),
}
TABLES = (*SCORE_TABLES, *DATASET_TABLES)
FIGURES = (*SCORE_FIGURES, *DATASET_FIGURES)
