"""The demo: which trainings it asks for, and that these are what the README says."""

import math
import runpy
import sys

import pytest

from llp import demo, signals
from llp.config.composition import compose, register
from llp.config.grouping_keys import CONF_DIR
from llp.files import read_yaml


@pytest.fixture
def called(monkeypatch):
    """The commands that it becomes, in order."""
    made = []
    monkeypatch.setattr(signals, "exit_at_once", lambda: None)
    monkeypatch.setattr(runpy, "run_module", lambda name, **how: made.append([name, *sys.argv[1:]]))
    return made


@pytest.mark.parametrize(
    ("given", "trained"),
    [
        ([], ["demo", "demo_report"]),
        (["outputs_dir=shown", "trainer.max_epochs=1"], ["demo", "demo_report"]),
        (["method=upm"], ["demo"]),
        (["dataset=synthetic", "dataset.rows=9"], ["demo"]),
        (["grouping_key=random_64"], ["demo"]),
    ],
)
def test_it_trains_its_grids_and_reports(called, monkeypatch, given, trained):
    """Of other data, bags or methods there is no report of flights."""
    monkeypatch.setattr(sys, "argv", ["llp", *given])
    demo.main()
    folders = [word for word in given if word.startswith("outputs_dir=")]
    expected = [["llp.train", "-m", f"experiment={name}", *given] for name in trained]
    assert called == [*expected, ["llp.report", *folders]]


def test_its_runs_are_those_that_the_readme_counts():
    register()
    n_runs = 0
    for name in ("demo", "demo_report"):
        params = read_yaml(CONF_DIR / "experiment" / f"{name}.yaml")["hydra"]["sweeper"]["params"]
        n_runs += math.prod(len(values.split(",")) for values in params.values())
        config = compose("train", [f"experiment={name}"])
        assert (config.dataset.name, config.protocol.name) == ("flights", "holdout")
    assert (config.method.name, config.noise.mechanism, config.noise.epsilon) == ("cell_glm", "laplace", 1.0)
    assert f"trains {n_runs} runs on real flights" in (CONF_DIR.parent / "README.md").read_text()
