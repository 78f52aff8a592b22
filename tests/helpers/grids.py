"""Whole grids of made runs, with curves, and a made analysis: what a finished benchmark leaves, in a second."""

import csv
import math
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import polars as pl

from llp.analysis.matrix import write_matrix
from llp.results import contents
from llp.results.collect import collect
from llp.results.summary import summarize
from llp.results.variants import name_variants
from tests.helpers.records import write_run

METHODS = ("dllp_bce", "dllp_mse", "genbags", "easy_llp", "ot_llp", "sim_llp", "instance_bce")
KEYS = ("month_dest", "carrier_dest", "flight", "tailnum", "hour_dest", "day_carrier")
RUN_KEYS = (*(f"random_{size}" for size in (64, 256)), *(f"fixed_month_dest_{size}" for size in (64, 256)))


def write_grid(
    outputs_dir: Path,
    *,
    dataset: str = "flights",
    metric: str = "auc",
    keys: Iterable[str] = (*KEYS, *RUN_KEYS),
    methods: Iterable[str] = METHODS,
    folds: int = 5,
    curves: bool = True,
) -> None:
    """Write the finished runs of a grid; scores fall with the key's and the method's place, and vary by fold."""
    draw = np.random.default_rng(0)
    for i, key in enumerate(keys):
        for j, method in enumerate(methods):
            level = (0.8 - 0.01 * i - 0.008 * j) if metric == "auc" else (150 + 4 * i + 3 * j)
            for fold in range(folds):
                value = float(level * (1 + 0.004 * draw.standard_normal()))
                measures = {metric: value} | ({"auc_200_thresholds": value - 0.002} if metric == "auc" else {})
                config_hash = f"{i:02x}{j:02x}{fold:04x}"
                folder = write_run(
                    outputs_dir,
                    value,
                    metric=metric,
                    dataset=dataset,
                    grouping_key=key,
                    method=method,
                    fold=fold,
                    measures=measures,
                    config_hash=config_hash,
                )
                if curves:
                    write_curve(folder, metric, value)


def write_curve(folder: Path, metric: str, best: float, epochs: int = 8) -> None:
    """Write the metrics.csv of a run that comes close to its best exponentially."""
    with (folder / "metrics.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["epoch", "train_loss", f"test_{metric}"])
        rows.writerows([e, math.exp(-e), best * (1 - 0.1 * math.exp(-e))] for e in range(epochs))


def write_analysis(outputs_dir: Path, *, dataset: str = "flights", keys: Iterable[str] = KEYS) -> pl.DataFrame:
    """Write the analysis of feature keys whose measures rise with their place."""
    clusters = {
        "cluster_tail": "short-tailed",
        "cluster_label_variation": "low",
        "cluster_separation": "well-separated",
    }
    percentiles = (10, 20, 30, 40, 50, 60, 70, 80, 85, 90, 95, 97, 99, "99_9")
    rows = [
        {
            "grouping_key": key,
            "kind": "feature",
            "in_benchmark": True,
            "n_instances": 300_000,
            "n_bags": 1000 + i,
            "n_bags_kept": 900 - i,
            "n_instances_kept": 200_000 - 1000 * i,
            "percent_instances_kept": 66.0 - i / 3,
            "min_bag_size": 50.0,
            "max_bag_size": 2400.0,
            "mean_bag_size": 200.0 + 13 * i,
            "std_bag_size": 100.0,
            **{f"bag_size_p{p}": 55.0 + 20 * n + i for n, p in enumerate(percentiles)},
            "label_bias": 0.23,
            "mean_label_proportion": 0.24,
            "std_label_proportion": 0.1 + 0.01 * ((i * 5) % 7),
            **{f"label_proportion_p{p}": p / 100 for p in (5, 25, 50, 75, 95)},
            "log_likelihood": -7.0 - i,
            "chi2": 15000.0,
            "cramers_v": 0.22 + 0.01 * i,
            "percent_in_large_skewed_0.1": 0.4,
            "percent_in_large_skewed_0.05": 0.1,
            "mean_inter_separation": 25.0,
            "mean_intra_separation": 20.0,
            "inter_intra_ratio": 1.1 + 0.05 * ((i * 3) % 5),
            **clusters,
        }
        for i, key in enumerate(keys)
    ]
    frame = pl.DataFrame(rows)
    path = outputs_dir / "analysis" / dataset / "analysis.parquet"
    path.parent.mkdir(parents=True)
    frame.write_parquet(path)
    return frame


def write_made_matrix(outputs_dir: Path, key: str, *, dataset: str = "flights", bags: int = 12) -> None:
    """Write the BagSepMatrix of a key whose bags lie on a line."""
    place = np.linspace(0, 1, bags)
    columns = {"size": [100] * bags, "label_mean": place, "separation": 10 + (place[:, None] - place) ** 2}
    matrix = pl.DataFrame(columns).with_columns(n_bags=900, metric=pl.lit("sqeuclidean"), table=pl.lit("0123"))
    write_matrix(outputs_dir / "analysis" / dataset, key, matrix)


def contents_of(folder: Path, analysis: pl.DataFrame | None = None) -> contents.Scores:
    """The scores of the runs of a folder, as a report has them."""
    collected = collect(folder)
    runs = name_variants(collected)
    return contents.Scores(summarize(runs), runs, analysis)
