"""Rates and remaining times by hand, and the state of a run's folder by what lies in it."""

from pathlib import Path

import pytest
import torch
from filelock import FileLock

from llp.results.progress import Rate, of_experiment, rate, recorded_grids, seconds_left
from llp.runs.book import (
    AskedGrid,
    PointState,
    RunState,
    StartedGrid,
    finished_record,
    folder_states,
    state_of,
    write_asked,
)
from llp.runs.point import Point
from llp.runs.record import FailureRecord
from tests.helpers.records import record, run_folder, write_run

HOUR = "2030-01-01T{:02d}:{:02d}:00+00:00"


def done(started, seconds, method="dllp_bce", key="month_dest"):
    content = record("auc", 0.7, started=started, seconds=seconds, method=method, grouping_key=key)
    return PointState(Point("flights", key, method, 0, 0), RunState.DONE, Path(), content)


def left(method, key="month_dest", state=RunState.MISSING):
    return PointState(Point("flights", key, method, 0, 0), state, Path())


def test_rate_is_of_the_runs_of_the_last_hour():
    old = done(HOUR.format(1, 0), 600.0)
    two_at_once = [done(HOUR.format(5, minute), 1200.0) for minute in (0, 0, 20, 20)]
    assert rate([old, *two_at_once, left("upm")]) == Rate(per_hour=6.0, at_once=2.0)
    assert rate([left("upm")]) is None
    assert rate([]) is None


def test_time_left_is_by_the_nearest_measured_runs():
    measured = [done(HOUR.format(1, 0), 100.0), done(HOUR.format(1, 0), 300.0, key="carrier_dest")]
    measured += [done(HOUR.format(1, 0), 20.0, method="upm")]
    assert seconds_left([*measured, left("dllp_bce")], 1.0) == pytest.approx(100.0)
    assert seconds_left([*measured, left("dllp_bce", "hour_dest")], 1.0) == pytest.approx(200.0)
    assert seconds_left([*measured, left("dsq", state=RunState.FAILED)], 1.0) == pytest.approx(140.0)
    assert seconds_left([*measured, *[left("upm", "hour_dest", RunState.RUNNING)] * 8], 4.0) == pytest.approx(40.0)
    assert seconds_left(measured, 1.0) == 0
    assert seconds_left([left("upm")], 1.0) is None


def test_state_of_a_run_follows_from_its_folder(tmp_path):
    folders = {}
    for fold, state in enumerate(["done", "failed", "cut off", "running", "nothing", "damaged", "no record"]):
        folders[state] = run_folder(tmp_path, record("auc", 0.7, fold=fold))
        folders[state].mkdir(parents=True)
        if state not in ("nothing", "done"):
            (folders[state] / "attempt").write_text("1")
    write_run(tmp_path, 0.7, fold=0)
    FailureRecord(error="disk full\nmore", type="OSError", traceback="").write(folders["failed"] / "error.json")
    (folders["damaged"] / "error.json").write_text("{")
    (folders["cut off"] / ".lock").touch()
    (folders["no record"] / "result.json").write_text("null")
    with FileLock(folders["running"] / ".lock"):
        found = {one.folder: one for one in folder_states(tmp_path)}
    states = {name: found[folder].state for name, folder in folders.items() if folder in found}
    assert states == {
        "done": RunState.DONE,
        "failed": RunState.FAILED,
        "cut off": RunState.CUT_OFF,
        "running": RunState.RUNNING,
        "damaged": RunState.FAILED,
        "no record": RunState.MISSING,
    }
    assert "result.json is damaged" in found[folders["no record"]].reason
    assert found[folders["failed"]].reason == "OSError: disk full"
    assert found[folders["damaged"]].reason == "its error.json cannot be read; see its run.log"


def test_grids_that_were_started_are_read_back_each_once(tmp_path):
    demo = StartedGrid(arguments=("experiment=demo", "fold=0", "hydra.mode=MULTIRUN"))
    upm = StartedGrid(arguments=("method=upm", "hydra.mode=MULTIRUN"), config_dirs=("/mine",))
    point = Point("flights", "month_dest", "upm", 0, 0)
    for experiment, one in (("demo", demo), ("demo", demo), (None, upm)):
        write_asked(tmp_path, AskedGrid.of(experiment, [point], one))
    write_asked(tmp_path, AskedGrid.of("before", [point]))  # by a version that did not keep how
    (tmp_path / "grids" / "cut.json").write_text('{"experiment": ')
    grids = recorded_grids(tmp_path)
    assert grids == [demo, upm]
    assert of_experiment("demo", grids) == [demo]
    expected = StartedGrid(arguments=("experiment=distance_space",))
    assert of_experiment("distance_space", grids) == [expected]
    assert recorded_grids(tmp_path / "nothing") == []


def test_a_point_is_done_for_all_who_ask_only_with_whole_weights_where_they_are_needed(tmp_path):
    folder = write_run(tmp_path, 0.7)
    point = Point.of(folder)
    assert state_of(point, folder).state == RunState.DONE
    (folder / "checkpoints").mkdir(exist_ok=True)
    (folder / "checkpoints" / "best.pt").write_bytes(b"cut short")
    assert state_of(point, folder, needs_weights=True).state == RunState.MISSING
    assert finished_record(folder, needs_weights=True) is None
    torch.save({}, folder / "checkpoints" / "best.pt")
    assert state_of(point, folder, needs_weights=True).record == finished_record(folder, needs_weights=True)
