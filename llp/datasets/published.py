"""What is published about Criteo's two files, and whether a prepared table agrees with it."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

FOLDER = Path(__file__).parents[1] / "results" / "published"
SOURCES = {
    "ctr": ("ctr_multihot_offsets.csv", "column", "column", "n_values_incl_zero"),
    "sscl": ("sscl_column_map.csv", "paper_col", "raw_name", "vocab_size_in_reference"),
}
BENCHMARKS = {  # the published lists of the grouping keys that are kept
    "criteo_ctr": "llpbench_ctr_large_bag_skew_pct.csv",
    "criteo_sscl": "llpbench_sscl_bag_stats.csv",
}


def benchmark_keys(dataset: str) -> list[str]:
    """Grouping keys that the published benchmark of a dataset keeps, one of `BENCHMARKS`."""
    with (FOLDER / BENCHMARKS[dataset]).open(newline="") as file:
        return [f"{row['col1']}_{row['col2']}" for row in csv.DictReader(file)]


def published_columns(dataset: Literal["ctr", "sscl"]) -> list[tuple[str, str, int | None]]:
    """The columns of CTR or SSCL: name here and in the source, and vocabulary size, None of a number."""
    name, *wanted = SOURCES[dataset]
    with (FOLDER / name).open(newline="") as file:
        rows = [[row[one] for one in wanted] for row in csv.DictReader(file)]
    # the numbers are I1..I13 in the file, as in the reference; everywhere else they are N1..N13
    return [(column.replace("I", "N"), raw, int(size) if size else None) for column, raw, size in rows]


def published_sizes(dataset: Literal["ctr", "sscl"]) -> list[tuple[str, int]]:
    """The categorical columns of CTR (39, with the binned numbers) or SSCL (17): name and vocabulary size."""
    return [(column, size) for column, _, size in published_columns(dataset) if size is not None]


def compare(
    dataset: Literal["ctr", "sscl"], rows: int, sizes: Mapping[str, int], *, full_rows: int, tolerance: float
) -> str:
    """Say whether a table is made from the full published file (rows within `tolerance`), a part, or something else."""
    published = dict(published_sizes(dataset))
    different = [name for name in published if sizes[name] != published[name]]
    larger = [name for name in published if sizes[name] > published[name]]
    if abs(rows / full_rows - 1) <= tolerance and not different:
        return "the full published file: rows and all vocabulary sizes agree"
    if rows < full_rows * (1 - tolerance) and not larger:
        return f"as from a part of the published file: {rows:,} rows of {full_rows:,}, no vocabulary larger"
    name = (larger or different or list(published))[0]
    return (
        f"not the published file: {rows:,} rows (published {full_rows:,}), and for instance {name} has "
        f"{sizes[name]:,} codes (published {published[name]:,})"
    )
