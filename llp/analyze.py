"""Measure bag datasets: `python -m llp.analyze dataset=flights`.

Every grouping key up to a size, with random and fixed-size bags: a row of measures each, in
`<outputs_dir>/analysis/<dataset>/`, with figures. The same command resumes an analysis that was cut off.
"""

from llp import machine, signals

if __name__ == "__main__":
    signals.exit_at_once()  # before the imports, which take seconds
    machine.prefer_speed()

import logging
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console
from rich.progress import track
from scipy.spatial.distance import cdist

from llp.analysis.clusters import Tail, assign, clusterings
from llp.analysis.drawing import save_figures
from llp.analysis.figures import FIGURES, draw
from llp.analysis.hardness import Measures
from llp.analysis.matrix import matrix_figure, measure_matrix, remove_matrices_of_other_tables, write_matrix
from llp.analysis.measurer import Measurer, feature_keys, run_keys
from llp.analysis.separation import NO_BAGS, Distances, separation_measures
from llp.analysis.space import Space, learned_space, multi_hot_space
from llp.config.checks import check_columns
from llp.config.commands import AnalyzeConfig
from llp.config.grouping_keys import named_key
from llp.config.hydra_main import command_of
from llp.config.own_code import placed_errors
from llp.data.keys import GroupingKey
from llp.data.keys.report import ReportKey
from llp.data.table import InstanceTable, LabelKind
from llp.datasets.preparation import prepare_table
from llp.errors import InputError, invalid
from llp.files import folder_name, write_atomically, writing_in
from llp.reports.account import drops
from llp.results.table import frame_to_csv, show
from llp.results.tables import bag_datasets
from llp.results.tables.queries import dropped
from llp.runs.load import load_model

log = logging.getLogger(__name__)

BagDatasetRow = dict[str, Any]


@command_of(AnalyzeConfig)
def main(config: AnalyzeConfig) -> None:
    """Analyze one dataset."""
    analyze(config)


def analyze(config: AnalyzeConfig) -> Path:
    """Measure all bag datasets of a dataset; returns the folder of the results."""
    check_metric(config.metric)
    if isinstance(config.grouping_key, ReportKey) and (config.matrix or config.dataset.label_kind != "binary"):
        expected = "another for a matrix, or for real labels: a report's queries are measured by the log loss of labels"
        raise invalid("grouping_key", "report", expected, "random_256")
    keys = matrix_keys(config)
    with placed_errors([config.dataset.prepare], debug=config.debug):
        table = InstanceTable.open(prepare_table(config.dataset, config.data_dir))
    if table.schema.aggregates_only:
        raise InputError(
            f"Invalid dataset={config.dataset.name}: its rows have no labels, of which the measures of bags are made; "
            "expected a dataset with a label of each row"
        )
    folder = config.outputs_dir / "analysis" / folder_name(config.dataset.name)
    with writing_in(folder, f"another process is analyzing {config.dataset.name}"):
        if isinstance(config.grouping_key, ReportKey):
            found = drops(table, config.grouping_key, config.threads)
            write_atomically(folder / "queries.csv", pl.DataFrame(found).write_csv)
            show(dropped(found, config.dataset.name), Console())
            return folder
        distances = Distances(make_space(config.space, table), config.metric, config.metric_limit)
        rows = measure_all(config, table, distances, folder / "keys")
        add_clusters(rows, table.label_kind, config.tail_named_by)
        frame = pl.DataFrame(rows, infer_schema_length=None)
        write_atomically(folder / "analysis.parquet", frame.write_parquet)
        write_atomically(folder / "analysis.csv", lambda path: path.write_text(frame_to_csv(frame), encoding="utf-8"))
        drawn = {name: partial(draw, name, frame, config.dataset.name) for name in FIGURES}
        save_figures(drawn, folder / "figures")
        remove_matrices_of_other_tables(folder, table)
        for key in keys:
            matrix = measure_matrix(table, key, distances, config.matrix_bags)
            write_matrix(folder, key.name, matrix)
            shown = partial(matrix_figure, {key.name: matrix}, config.dataset.name)
            save_figures({f"bag_sep_matrix_{folder_name(key.name)}": shown}, folder / "figures")
    show(bag_datasets.overview(frame, config.dataset.name), Console())
    log.info("written to %s", folder)
    return folder


def measure_all(config: AnalyzeConfig, table: InstanceTable, distances: Distances, store: Path) -> list[BagDatasetRow]:
    """One row for every bag dataset: feature keys by size, then random, then fixed-size bags."""
    measurer = Measurer(table, store, config.threads)
    keys = feature_keys(config.dataset.key_columns, config.key_size, config.low_thresh, config.high_thresh)
    counted: dict[GroupingKey, Measures] = dict(
        zip(keys, track(measurer.count_all(keys), "counting  ", len(keys)), strict=True)
    )
    benchmark = [key for key in keys if is_kept(counted[key], config.instance_thresh)]
    kept = set(benchmark)
    log.info("%d of %d grouping keys keep at least %g %%", len(benchmark), len(keys), config.instance_thresh)

    others = run_keys(config.grouping_key.options.get("columns", ()), config.bag_sizes, config.bag_seed)
    bagged = [*benchmark, *others]
    progress = track(measurer.bag_all(bagged, distances), "separating", len(bagged))
    separated = dict(zip(bagged, progress, strict=True))
    return [
        {
            "grouping_key": key.name,
            "kind": key.kind,
            "in_benchmark": key in kept,
            **counted.get(key, {}),
            **separated.get(key, separation_measures(NO_BAGS)),
        }
        for key in [*keys, *others]
    ]


def matrix_keys(config: AnalyzeConfig) -> list[GroupingKey]:
    """The keys whose matrix is asked for, with the analysis' own limits of bag sizes and seed."""
    keys, limits = [], {"low_thresh": config.low_thresh, "high_thresh": config.high_thresh, "seed": config.bag_seed}
    for name in config.matrix or ():
        # the key of grouping_key may have options that no name tells
        own = name == config.grouping_key.name
        key = config.grouping_key if own else named_key(name, config.dataset.key_columns)
        try:
            key.check()
        except InputError:
            expected = "a key that its name tells whole, or that of grouping_key"
            raise invalid("matrix", name, expected, "random_64") from None
        check_columns("matrix", key, config.dataset)
        keys.append(key.model_copy(update={name: limits[name] for name in limits.keys() & key.options.keys()}))
    if keys and config.space == "none":
        raise invalid("space", "none", "multi_hot or the folder of a finished run, for a matrix", "multi_hot")
    return keys


def make_space(name: str, table: InstanceTable) -> Space | None:
    """The space of bag separations: multi_hot, that of a run's folder, which may be no good (InputError), or none."""
    if name == "none":
        return None
    if name == "multi_hot":
        return multi_hot_space(table)
    folder = Path(name)
    if not folder.is_dir():
        raise invalid("space", name, "multi_hot, none or the folder of a finished run", "multi_hot")
    model = load_model(folder, table)
    changed = (folder / "checkpoints" / "best.pt").stat().st_mtime_ns
    return learned_space(f"{folder.resolve()} {changed}", table, model)


def is_kept(counted: Measures, instance_thresh: float) -> bool:
    """Whether a key belongs to the benchmark: enough of the instances remain after the size filter."""
    return counted["n_bags_kept"] > 0 and counted["percent_instances_kept"] >= instance_thresh


def add_clusters(rows: list[BagDatasetRow], label_kind: LabelKind, tail_named_by: Tail) -> None:
    """Add the names of the three clusters to each row; None for rows that are not in the benchmark."""
    benchmark = [row for row in rows if row["in_benchmark"]]
    for clustering in clusterings(label_kind, tail_named_by):
        for row in rows:
            row[f"cluster_{clustering.name}"] = None
        for row, name in zip(benchmark, assign(clustering, benchmark), strict=True):
            row[f"cluster_{clustering.name}"] = name


def check_metric(metric: str) -> None:
    """Refuse what is no metric of scipy's."""
    try:
        cdist([[0.0, 1.0]], [[1.0, 0.0]], metric)
    except ValueError:
        known = "a metric of scipy's cdist: sqeuclidean, euclidean, cityblock, cosine, chebyshev, ..."
        raise invalid("metric", metric, known, "sqeuclidean") from None


if __name__ == "__main__":
    main()
    signals.ignore()
