"""Published numbers of LLP-Bench (arXiv 2310.10096) and its authors' code, AUC in percent; `source`: where from."""

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


def _of(dataset: str, name: str) -> pl.DataFrame:
    return _read(name).filter(pl.col("dataset") == dataset).drop("dataset", "source", strict=False)


def random_bags(dataset: str) -> pl.DataFrame:
    """Scores on random bags: `method`, `bag_size`, `mean`, `std` (null where none is published)."""
    return _of(dataset, "llpbench_random_bags.csv")


def ranges(dataset: str) -> pl.DataFrame:
    """Range of each method over the feature bag datasets: `method`, `least`, `largest`."""
    return _of(dataset, "llpbench_ranges.csv")


def facts(dataset: str) -> pl.DataFrame:
    """Single numbers and names from the text: `fact`, `value`, `where`."""
    return _of(dataset, "llpbench_facts.csv")


def bag_measures(dataset: str) -> pl.DataFrame:
    """Measures of the benchmark's bag datasets: `grouping_key`, and columns named as an analysis names them."""
    table = _read(BENCHMARKS[dataset])
    key = (pl.col("col1") + "_" + pl.col("col2")).alias("grouping_key")
    names = {f"pct_eps_{epsilon}": f"percent_in_large_skewed_{epsilon}" for epsilon in ("0.1", "0.05")}
    names["std_label_prop"] = "std_label_proportion"
    return table.select(key, pl.exclude("col1", "col2", "source")).rename(names, strict=False)


def column_names(dataset: str) -> pl.DataFrame:
    """Names of a dataset's columns: `name`, `raw_name` (SSCL) and `n_values` in the authors' code."""
    if dataset == SSCL:
        table = _read("sscl_column_map.csv")
        return table.select(
            pl.col("paper_col").alias("name"), "raw_name", pl.col("vocab_size_in_reference").alias("n_values")
        )
    table = _read("ctr_multihot_offsets.csv").rename({"column": "raw_name", "n_values_incl_zero": "n_values"})
    return table.select(pl.col("raw_name").str.replace("I", "N").alias("name"), "raw_name", "n_values")
