"""What a user writes on the command line, as Hydra is given it."""

import sys

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.hydra_config import HydraConfig

from llp import train
from llp.config.command_line import make_parsable
from llp.config.grouping_keys import CONF_DIR


@pytest.mark.parametrize(
    ("written", "given"),
    [
        (["fold=0", "-m", "seed=1"], ["-m", "fold=0", "seed=1"]),
        (["a=1", "b=2", "--multirun"], ["--multirun", "a=1", "b=2"]),
        (["-m", "fold=0"], ["-m", "fold=0"]),
        (["--cfg", "job", "fold=0"], ["--cfg", "job", "fold=0"]),
        (["positive=>50K"], ["positive='>50K'"]),
        (["fold=0"], ["fold=0"]),
    ],
)
def test_words_are_made_parsable(monkeypatch, written, given):
    monkeypatch.setattr(sys, "argv", ["llp.train", *written])
    make_parsable()
    assert sys.argv == ["llp.train", *given]


@pytest.mark.parametrize(("experiment", "told"), [("demo", "grouping_key, method and the folds"), (None, "")])
def test_an_experiment_without_its_grid_is_told(caplog, experiment, told):
    with initialize_config_dir(str(CONF_DIR), version_base="1.3"):
        overrides = [f"experiment={experiment}"] if experiment else []
        config = compose("train", ["hydra.mode=RUN", *overrides], return_hydra_config=True)
    HydraConfig.instance().set_config(config)
    train._say_what_is_not_swept()
    assert ("not the experiment's grid" in caplog.text) == bool(told)
    assert told in caplog.text
