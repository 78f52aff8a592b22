"""What a user writes on the command line, as Hydra is given it."""

import sys

import pytest
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode

from llp import train
from llp.config.command_line import make_parsable
from llp.config.commands import SEVERAL
from llp.errors import InputError
from tests.helpers.composed import composition, hydras_loader


@pytest.mark.parametrize(
    ("written", "given"),
    [
        (["fold=0", "-m", "seed=1"], ["--multirun", "fold=0", "seed=1"]),
        (["a=1", "b=2", "--multirun"], ["--multirun", "a=1", "b=2"]),
        (["-m", "fold=0"], ["--multirun", "fold=0"]),
        (["a=1", "--config-dir", ".", "experiment=mine"], ["--config-dir", ".", "a=1", "experiment=mine"]),
        (["a=1", "-c", "job", "--resolve"], ["--cfg", "job", "--resolve", "a=1"]),
        (["--info"], ["--info", "all"]),
        (["-h"], ["--help"]),
        (["seed=-1"], ["seed=-1"]),
        (["--cfg", "job", "fold=0"], ["--cfg", "job", "fold=0"]),
        (["positive=>50K"], ["positive='>50K'"]),
        (["run=[out/fold=0/a,out/fold=0/*]"], ["run=['out/fold=0/a','out/fold=0/*']"]),
        (["columns=[age,income (k), b]"], ["columns=[age,'income (k)',b]"]),
        (["files=[0-9][=]"], ["files='[0-9][=]'"]),
        (["x=[a=b,]"], ["x='[a=b,]'"]),
        (["fold=0"], ["fold=0"]),
    ],
)
def test_words_are_made_parsable(monkeypatch, written, given):
    monkeypatch.setattr(sys, "argv", ["llp.train", *written])
    make_parsable()
    assert sys.argv == ["llp.train", *given]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--nonsense"], r"Invalid --nonsense: expected a flag, of which --\S+ is nearest, or an option as NAME=VALUE"),
        (["--multrun"], r"Invalid --multrun: expected a flag, of which --multirun is nearest"),
        (["fold=0", "-x"], r"Invalid -x: .* or an option as NAME=VALUE, such as fold=0$"),
        (["--fold=1"], r"Invalid --fold=1: .* or an option as NAME=VALUE, such as fold=1$"),
        (["--max-epochs", "3"], r"Invalid --max-epochs: .*, such as max_epochs=VALUE$"),
        (["--cfg", "no"], r"Invalid flags: argument --cfg/-c: invalid choice: 'no' .*; expected --help, "),
        (["-p"], r"Invalid flags: argument --package/-p: expected one argument; expected --help, "),
        (["--conf", "x"], r"Invalid flags: ambiguous option: --conf could match"),
        (["--run", "-m"], r"Invalid flags: only one of run, multirun, "),
        (["--resolve"], r"Invalid flags: --resolve goes with --cfg or --help"),
        (["--experimental-rerun", "x"], r"Invalid --experimental-rerun: expected .*, such as from=FOLDER"),
        (["-sc", "query=bash"], r"Invalid flags: query=bash .* -sc install=bash installs it"),
        (["--config-dir", "/no/such"], r"Invalid --config-dir /no/such: expected a folder that is there"),
    ],
)
def test_flags_that_are_none_are_told_in_a_line(monkeypatch, words, said):
    monkeypatch.setattr(sys, "argv", ["llp.train", *words])
    with pytest.raises(SystemExit, match=f"^{said}") as end:
        make_parsable()
    assert "\n" not in str(end.value)


@pytest.mark.parametrize(
    ("mode", "word", "told"),
    [
        (RunMode.MULTIRUN, "hydra.mode=MULTIRUN", "-m"),
        (RunMode.RUN, "hydra.mode=MULTIRUN", "-m"),
        (RunMode.RUN, "x=1,2", "x=1,2"),
    ],
)
@pytest.mark.parametrize("command", SEVERAL)
def test_command_without_a_grid_refuses_to_run_one(command, mode, word, told):
    with hydras_loader(command) as loader:
        said = rf"^Invalid {told}: only llp\.train has a grid; expected .*, such as python -m llp\.{command}\b"
        with pytest.raises(InputError, match=said):
            loader.load_configuration(command, [word], mode, from_shell=False)


@pytest.mark.parametrize(("experiment", "told"), [("demo", "grouping_key, method and the folds"), (None, "")])
def test_an_experiment_without_its_grid_is_told(caplog, experiment, told):
    overrides = [f"experiment={experiment}"] if experiment else []
    config = composition("train", "hydra.mode=RUN", *overrides, return_hydra_config=True)
    HydraConfig.instance().set_config(config)
    train._say_what_is_not_swept()
    assert ("not the experiment's grid" in caplog.text) == bool(told)
    assert told in caplog.text
