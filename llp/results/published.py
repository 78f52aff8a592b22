"""The benchmark's published numbers, as data frames: methods and datasets by our names, AUC and its range in percent.

They are from the LLP-Bench paper (arXiv 2310.10096) and its authors' code; each file says from where in `source`.
"""

from functools import cache

import polars as pl

from llp.datasets.published import BENCHMARKS, FOLDER

CTR, SSCL = "criteo_ctr", "criteo_sscl"
SOURCE = "LLP-Bench (arXiv 2310.10096)"
CODE = "google-research/google-research, LLP_Bench"
DATASETS = (CTR, SSCL)


@cache
def _read(name: str) -> pl.DataFrame:
    return pl.read_csv(FOLDER / name)


def _method() -> pl.Expr:
    return pl.col("method").str.to_lowercase().str.replace_all("-", "_", literal=True)


def _key() -> pl.Expr:
    return (pl.col("col1") + "_" + pl.col("col2")).alias("grouping_key")


def random_bags(dataset: str) -> pl.DataFrame:
    """Scores on random bags: `method`, `bag_size`, `mean`, `std` (null where none is published)."""
    if dataset == SSCL:
        table = _read("llpbench_sscl_random_mse.csv")
        return table.select(_method(), "bag_size", pl.col("mse_mean").alias("mean"), pl.col("mse_std").alias("std"))
    wide = _read("llpbench_ctr_random_auc.csv").with_columns(_method()).drop("source")
    size = pl.col("variable").str.strip_prefix("bag").cast(pl.Int64).alias("bag_size")
    long = wide.unpivot(index="method", value_name="mean").select("method", size, "mean")
    return long.with_columns(pl.lit(None, pl.Float64).alias("std")).sort(pl.col("method"), "bag_size")


def ranges(dataset: str) -> pl.DataFrame:
    """Range of each method over the feature bag datasets: `method`, `least`, `largest`."""
    name, metric = {
        CTR: ("llpbench_ctr_feature_auc_ranges.csv", "auc"),
        SSCL: ("llpbench_sscl_feature_mse_ranges.csv", "mse"),
    }[dataset]
    return _read(name).select(
        _method(), pl.col(f"min_{metric}").alias("least"), pl.col(f"max_{metric}").alias("largest")
    )


def bag_measures(dataset: str) -> pl.DataFrame:
    """Measures of the benchmark's bag datasets: `grouping_key`, and columns named as an analysis names them."""
    table = _read(BENCHMARKS[dataset])
    if dataset == CTR:
        columns = {f"pct_eps_{epsilon}": f"percent_in_large_skewed_{epsilon}" for epsilon in ("0.1", "0.05")}
        return table.select(_key(), *columns).rename(columns)
    columns = {"std_label_prop": "std_label_proportion"}
    return table.select(_key(), "mean_bag_size", "std_label_prop", "inter_intra_ratio").rename(columns)


def facts(dataset: str) -> pl.DataFrame:
    """Single numbers and names from the text: `fact`, `value`, `where`."""
    return _read("llpbench_facts.csv").filter(pl.col("dataset") == dataset).select("fact", "value", "where")


def column_names(dataset: str) -> pl.DataFrame:
    """Names of a dataset's columns: `name`, `raw_name` (SSCL) and `n_values` in the authors' code."""
    if dataset == SSCL:
        table = _read("sscl_column_map.csv")
        return table.select(
            pl.col("paper_col").alias("name"), "raw_name", pl.col("vocab_size_in_reference").alias("n_values")
        )
    table = _read("ctr_multihot_offsets.csv").rename({"column": "raw_name", "n_values_incl_zero": "n_values"})
    return table.select(pl.col("raw_name").str.replace("I", "N").alias("name"), "raw_name", "n_values")


def elsewhere(dataset: str) -> pl.DataFrame:
    """Scores of another group under another protocol: `method`, `auc`, `std`, `source`."""
    table = _read("thirdparty_countmil_criteo_x1_c4c11_k128.csv")
    shown = table.select("method", pl.col("roc_auc_mean").alias("auc"), pl.col("roc_auc_std").alias("std"), "source")
    return shown if dataset == CTR else shown.clear()
