"""A grid before its first point: finished points are left out, and the others are checked as single runs are."""

import importlib.util
import itertools
import logging
import re

import pytest
from hydra.types import RunMode

from llp.config.points import Multirun
from llp.errors import InputError
from llp.runs.book import RunState, read_asked
from llp.runs.grid import crowding, points_to_launch
from llp.runs.point import Point
from tests.helpers.commands import TINY
from tests.helpers.composed import hydras_loader, open_table, run_one


@pytest.fixture
def launched(tmp_path, data_dir):
    """What a multirun would launch: the overrides of each point."""

    def launch(*overrides, tiny=TINY, places=(f"data_dir={data_dir}", f"outputs_dir={tmp_path / 'outputs'}")):
        with hydras_loader() as loader:
            named = {override.split("=")[0] for override in overrides}
            base = ["hydra.sweeper.params=null", *(one for one in tiny if one.split("=")[0] not in named), *places]
            master = loader.load_configuration("train", [*base, *overrides], RunMode.MULTIRUN)
            multirun = Multirun(loader, master)
            return points_to_launch(multirun, multirun.points(), record=True)

    return launch


def test_points_that_are_finished_are_left_out(launched, tiny, caplog):
    caplog.set_level(logging.INFO, "llp")
    grid = ("method=group_prior,dllp_bce", "fold=0,1", "seed=0,1")
    assert len(launched(*grid)) == 8
    run_one(tiny("method=group_prior", "fold=1", "seed=0"))
    left = launched(*grid)
    assert len(left) == 7
    assert not [point for point in left if {"method=group_prior", "fold=1", "seed=0"} <= set(point)]
    assert "1 of 8 points are finished" in caplog.text
    assert len(launched(*grid, "force=true")) == 8
    assert len(launched(*grid, "trainer.max_epochs=3")) == 8
    assert len(launched(*grid, "save_model=true")) == 8  # its weights were not kept


def test_what_a_grid_asks_for_is_recorded_with_what_is_finished(launched, tiny, tmp_path):
    run_one(tiny("method=group_prior", "fold=1", "seed=2"))
    grid = ("method=group_prior,dllp_bce", "grouping_key=random_64,C1_C2", "fold=0,1", "seed=2")
    launched(*grid)
    launched(*grid)
    launched(*grid, "trainer.max_epochs=3")  # the same points under other settings
    launched("experiment=demo", "fold=0", "method=dllp_bce")
    grids, problems = read_asked(tmp_path / "outputs")
    assert problems == []
    demo, mine = grids
    assert (demo.experiment, mine.experiment) == ("demo", None)
    places = itertools.product(("C1_C2", "random_64"), ("dllp_bce", "group_prior"), (0, 1), (2,))
    assert mine.points() == {Point("synthetic", *place) for place in places}
    assert states_in(tmp_path / "outputs", "demo") == [RunState.MISSING]
    assert sorted(states_in(tmp_path / "outputs", None)) == [RunState.DONE, *[RunState.MISSING] * 15]
    launched(*grid, "save_model=true")  # its weights were not kept
    assert states_in(tmp_path / "outputs", None) == [RunState.MISSING] * 16


def states_in(outputs_dir, experiment):
    """State of each run of an experiment's grid, by the record of it."""
    [grid] = [one for one in read_asked(outputs_dir)[0] if one.experiment == experiment]
    return [*{state.folder: state.state for state in grid.states(outputs_dir)}.values()]


def test_two_settings_of_a_point_are_two_runs_of_its_grid(launched, tiny, tmp_path):
    run_one(tiny("method=group_prior", "trainer.max_epochs=3"))
    launched("method=group_prior", "fold=0", "trainer.max_epochs=2,3")
    assert sorted(states_in(tmp_path / "outputs", None)) == [RunState.DONE, RunState.MISSING]


def test_fold_and_seed_that_other_options_read_make_points_of_their_own(launched, tiny):
    run_one(tiny("method=group_prior", "fold=0", "trainer.threads=1"))
    left = launched("method=group_prior", "fold=0,1", "trainer.threads=${fold}", "fold=1,2")
    assert len(left) == 2
    run_one(tiny("method=group_prior", "fold=2", "trainer.threads=2"))
    assert [point[0] for point in launched("trainer.threads=${fold}", "method=group_prior", "fold=1,2")] == [
        "dataset=synthetic"
    ]


WRONG = {
    "optimizer.lr=0.001,-1": r"lr=-1",
    "method=dllp_bce,sim_llp method.bag_weight=1.0": r"^Invalid method.bag_weight=1.0: expected an option of DLLP ",
    "grouping_key=random_64,C1_C2 grouping_key.low_thresh=3": (
        r"^Invalid grouping_key.*low_thresh=3: expected an option of grouping_key"
    ),
    "method=dllp_bce method.reduction=sum,median": r"^Invalid method.reduction='median': expected mean or sum, such as",
    "method=dllp_bce,dllp_mse +method.foo=1": r"^Invalid method.foo=1: expected an option of DLLP ",
    "method=mean_map,dllp_bce model=mlp": r"model=linear",
    "method=dllp_bce,upm dataset.prepare.rate=0.3": r"holds another table: it was made by {.*0.25}, this run asks for",
    "fold=0,5": r"^Invalid fold=5: expected an integer >= 0 and <= 4, such as fold=0$",
    "fold=range(0,0)": r"^Invalid grid: expected values for every option, but one has none",
    "seed=range(0,3000000000) fold=0,1": r"^Invalid grid of 6,000,000,000 points: expected at most 1,000,000, such as",
    "seed=range(0,1e400)": r"^Invalid grid of endlessly many points: expected at most 1,000,000, such as",
    "trainer.max_epoch=3,4": r"^Invalid trainer.max_epoch=3: expected an option of trainer .*trainer.max_epochs=",
    "noise.epsilon=1,2": r"^Missing noise.mechanism: expected noise=gaussian, .* such as noise=gaussian$",
    "seed=0,1 trainer.patience=${nothing}": r"^Interpolation key 'nothing' not found",
    "dataset=synthetic,synthetic_sscl method=dllp_bce": r"^Invalid method='dllp_bce': expected one for real labels",
}


@pytest.mark.parametrize("given", WRONG)
def test_no_point_is_launched_where_one_cannot_run(launched, tiny, tmp_path, given):
    open_table(tiny())  # what a model takes is checked where there is a table
    with pytest.raises(InputError) as error:
        launched(*given.split())
    assert re.search(WRONG[given], str(error.value)), error.value
    assert "\n" not in str(error.value)
    assert not (tmp_path / "outputs").exists()


def test_a_tracker_whose_package_is_missing_is_told_before_any_point(launched, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "mlflow" else found(name))
    with pytest.raises(InputError, match="Invalid logger=mlflow: expected its package installed"):
        launched("method=dllp_bce,upm", "logger=mlflow")


def test_point_without_a_table_leaves_the_others(launched):
    assert len(launched("dataset=synthetic,criteo_ctr", "method=dllp_bce", tiny=["grouping_key=random_64"])) == 2


def test_intervals_are_for_a_search(launched):
    with pytest.raises(InputError, match=r"^Invalid grid: it has an interval, of which a search .* chooses points"):
        launched("method=dllp_bce", "optimizer.lr=interval(0.1,1)")


@pytest.mark.parametrize(
    ("n_jobs", "n_points", "threads", "processes"),
    [(2, 9, 2, 2), (-1, 9, 2, 2), (8, 9, 1, 8), (8, 2, 1, None), (2, 1, 2, None), (-1, 9, 1, None), (-5, 9, 2, None)],
)
def test_more_threads_than_cores_are_reported(n_jobs, n_points, threads, processes):
    line = crowding(n_jobs, n_points, threads, n_cores=2)
    expected = f"{processes} processes × trainer.threads={threads} are more than the 2 cores"
    assert line is None if processes is None else line.startswith(expected)
