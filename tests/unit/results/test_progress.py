"""Rates and remaining times by hand, and the state of a run's folder by what lies in it."""

import hashlib
import json
from pathlib import Path

import pytest
import torch
from filelock import FileLock

from llp.errors import InputError
from llp.results.progress import Rate, rate, seconds_left
from llp.runs.book import (
    AskedCell,
    AskedGrid,
    PointState,
    RunState,
    finished_record,
    folder_states,
    read_asked,
    state_of,
    write_asked,
)
from llp.runs.point import Point
from llp.runs.record import FailureRecord
from llp.status import progress
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


def asked(*runs, **options):
    cell = AskedCell(dataset="flights", grouping_key="month_dest", method="dllp_bce", runs=runs, **options)
    return AskedGrid(experiment="demo", cells=(cell,))


def test_status_is_of_the_runs_that_grids_asked_for_at_any_start_and_of_those_that_there_are(tmp_path):
    folder = write_run(tmp_path, 0.7, fold=0)
    write_run(tmp_path, 0.7, fold=4)  # that no grid asked for
    write_asked(tmp_path, asked((0, 0), (1, 0)))  # before its table was there
    for known in ("ffffffff", folder.name, folder.name):  # the same points under two settings, one of them twice
        write_asked(tmp_path, asked((0, 0, known), (1, 0, known)))
    (tmp_path / "grids" / "cut.json").write_text('{"experiment": ')
    found, problems = progress(tmp_path, ["demo"])
    assert [(one.point.fold, one.state, one.reason) for one in found] == [
        (0, RunState.MISSING, None),
        (1, RunState.MISSING, None),
        (0, RunState.DONE, None),
        (1, RunState.MISSING, None),
    ]
    assert len(problems) == 1
    assert sorted(one.point.fold for one in progress(tmp_path).points) == [0, 0, 1, 1, 4]
    for name, remedy in {"suite": "start it: python", "rats": "llp itself has none .* nearest is rates$"}.items():
        with pytest.raises(
            InputError, match=f"^Invalid experiment={name}: expected demo, whose grids were started; {remedy}"
        ):
            progress(tmp_path, ["demo", name])
    with pytest.raises(InputError, match=r"no such folder; start a grid: python -m llp.train -m$"):
        progress(tmp_path / "nothing", ["demo"])


def test_each_run_whose_hash_was_not_known_has_a_run_of_its_point_those_that_are_done_first(tmp_path):
    write_asked(tmp_path, asked((0, 0)))
    missing = progress(tmp_path, ["demo"]).points
    assert [one.reason for one in missing] == ["dataset flights was not prepared when the grid was started"]
    known = write_run(tmp_path, 0.7, fold=0)
    for config_hash in ("11111111", "22222222"):
        write_run(tmp_path, 0.7, fold=0, config_hash=config_hash)
    [one], [two] = (asked(*runs).cells for runs in (((0, 0, known.name), (0, 0)), ((0, 0), (0, 0), (1, 0), (1, 0))))
    write_asked(tmp_path, AskedGrid(experiment="sweep", cells=(one, two)))
    found = progress(tmp_path, ["sweep"]).points
    assert [state.state.value for state in found] == ["done"] * 3 + ["missing"] * 3
    assert len({state.folder for state in found[:3]}) == 3
    for name, runs in (("one", ((8, 0), (9, 0))), ("two", ((9, 0), (8, 0)))):  # the same points, in another order
        write_asked(tmp_path / "twice", asked(*runs).model_copy(update={"experiment": name}))
    assert sorted(state.point.fold for state in progress(tmp_path / "twice").points) == [8, 9]
    [*_, without_weights] = asked((0, 0), keeps_weights=True).states(tmp_path)
    assert without_weights.state == RunState.MISSING


def test_a_record_of_an_earlier_version_is_of_the_same_grid(tmp_path):
    grid = asked((0, 0, "0a1b2c3d"), (1, 0, "0a1b2c3e"))
    content = json.loads(grid.model_dump_json())
    del content["cells"][0]["keeps_weights"]
    content["cells"][0]["runs"] = [[0, 0], [1, 0]]
    content["started"] = [{"arguments": ["experiment=demo"], "config_dirs": []}]
    digest = hashlib.sha256(json.dumps({k: content[k] for k in ("cells", "experiment")}, sort_keys=True).encode())
    (tmp_path / "grids").mkdir()
    (tmp_path / "grids" / f"demo_{digest.hexdigest()[:8]}.json").write_text(json.dumps(content))
    [known], problems = read_asked(tmp_path)
    assert (known.points(), known.name, problems) == (grid.points(), grid.name, [])
    assert write_asked(tmp_path, grid).name == f"demo_{digest.hexdigest()[:8]}.json"


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
