"""The program `llp`: its list of commands, and that each is what `python -m llp.NAME` is."""

import ast
import os
import signal
import subprocess
import sys
import time

import pytest

from llp import check, demo, new, signals
from llp.__main__ import COMMANDS
from llp.config import commands
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
