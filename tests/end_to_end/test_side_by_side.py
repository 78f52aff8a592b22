"""A grid whose points train side by side in threads ends as the serial one: results, messages, exit codes."""

import json
import re
import signal
import time
from datetime import datetime

import pytest
import torch

from tests.helpers.commands import TINY, Command
from tests.helpers.cutting import untimed_curves, untimed_record, untimed_records

METHODS = ("ot_llp", "soft_erot_llp", "dllp_mae")  # the first two start from the same run of dllp_bce
GRID = ("-m", *TINY, f"method={','.join(METHODS)}", "fold=0")
FAILING = ("-m", "--config-dir", "mine", *TINY, "method=refusing,dllp_mse", "fold=0")
BROKEN = ("-m", "--config-dir", "mine", *TINY, "method=broken,dllp_mse", "fold=0")

METHOD = """
from llp.errors import InputError
from llp.methods.base import LLPMethod


class Broken(LLPMethod):
    def bag_loss(self, scores, batch):
        raise RuntimeError("diverged")


class Refusing(LLPMethod):
    def bag_loss(self, scores, batch):
        raise InputError("no bag of this dataset will do")
"""


@pytest.fixture
def commands(tmp_path, data_dir):
    """The serial command and the one with threads, each with its own outputs."""
    return [Command(data_dir, tmp_path / name, tmp_path) for name in ("serial", "threads")]


def run_both(commands, grid):
    serial, threads = commands
    own = [[f"outputs_dir={serial.outputs_dir}"], [f"outputs_dir={threads.outputs_dir}", "runs_at_once=3"]]
    return serial.many(*([*grid, *options] for options in own))


def test_grid_in_threads_ends_as_the_serial_one(commands):
    """One test, as the commands take most of the time: results, first stage, logs, simultaneity, console."""
    first, second = run_both(commands, GRID)
    assert (first.returncode, second.returncode) == (0, 0), second.stderr
    serial, threads = commands
    expected = untimed_records(serial)
    assert len(expected) == 3 + 1  # with the first stage
    assert untimed_records(threads) == expected
    assert untimed_curves(threads.outputs_dir) == untimed_curves(serial.outputs_dir)
    check_shared_first_stage(threads)
    check_logs(threads)
    assert (most_at_once(serial), most_at_once(threads) > 1) == (1, True)
    check_console(first, second)


def check_shared_first_stage(threads):
    stages = [record["stages"] for record in threads.results().values() if len(record["stages"]) == 2]
    assert sorted(first["reused"] for first, _ in stages) == [False, True]
    attempts = [path.read_text() for path in threads.outputs_dir.rglob("random_64/dllp_bce/**/attempt")]
    assert set(attempts) == {"1"}


def check_logs(threads):
    """Each holds its own lines and all of them."""
    for path, record in threads.results().items():
        text = (threads.outputs_dir / path).with_name("run.log").read_text()
        method, fold = record["method"], record["fold"]
        named = set(re.findall(r"synthetic random_64 (\w+) fold=(\d)", text))
        assert (method, str(fold)) in named
        assert named <= {(method, str(fold)), ("dllp_bce", str(fold))}  # and its first stage
        own = re.findall(rf" {method} fold={fold} seed=0: epoch +(\d+)", text)
        assert own == [str(epoch) for epoch in range(record["stages"][-1]["epochs"])]


def most_at_once(command):
    """How many runs were under way at the same time."""
    times = []
    for method in METHODS:
        for path in command.outputs_dir.glob(f"synthetic/random_64/{method}/**/run.log"):
            lines = [line for line in path.read_text().splitlines() if f"{method} fold" in line]
            ends = [datetime.strptime(line[:23], "%Y-%m-%d %H:%M:%S,%f") for line in (lines[0], lines[-1])]
            times.append(ends)
    return max(sum(start <= moment <= end for start, end in times) for moment, _ in times)


def check_console(first, second):
    """Every epoch is told once, in one format."""
    epochs = [
        sorted(re.findall(r"^\d\d:\d\d:\d\d (synthetic .*: epoch +\d+)", done.stdout, re.M)) for done in (first, second)
    ]
    assert epochs[0] == epochs[1]
    assert len(epochs[0]) >= 4 * 2
    assert "#2 : " in second.stdout


def make_own_methods(commands, folder):
    (folder / "mine" / "method").mkdir(parents=True)
    for name in ("Broken", "Refusing"):
        node = f"_target_: mine.{name}\nname: {name.lower()}\nlabels: [binary]\n"
        (folder / "mine" / "method" / f"{name.lower()}.yaml").write_text(node)
    (folder / "mine" / "__init__.py").write_text(METHOD)
    for command in commands:
        command.env["PYTHONPATH"] += f":{folder}"


def test_points_that_fail_leave_the_others_and_are_told_as_in_the_serial_grid(commands, tmp_path):
    make_own_methods(commands, tmp_path)
    first, second = run_both(commands, FAILING)
    _, threads = commands
    assert (first.returncode, second.returncode) == (1, 1)
    told = [done.stderr for done in (first, second)]
    assert told[0] == told[1]
    assert "1 of 2 points failed" in second.stderr
    assert "  failed: method=refusing: no bag of this dataset will do\n" in second.stderr
    assert "Traceback" not in second.stdout + second.stderr
    [error] = threads.outputs_dir.rglob("refusing/**/error.json")
    assert json.loads(error.read_text())["error"] == "no bag of this dataset will do"
    assert len(threads.results()) == 1


def test_error_of_an_own_method_is_told_with_its_place(commands, tmp_path):
    make_own_methods(commands, tmp_path)
    _, threads = commands
    done = threads(*BROKEN, "runs_at_once=3")
    assert done.returncode == 1
    place = r"RuntimeError: diverged in Broken.bag_loss \(.*__init__.py, line \d+\)"
    assert re.search(f"^  failed: method=broken: {place}", done.stderr, re.M)
    assert len(list(threads.outputs_dir.rglob("broken/**/error.json"))) == 1
    assert len(threads.results()) == 1


LONG = ("-m", *TINY, "trainer.max_epochs=10", "trainer.patience=10", "checkpoint_minutes=0",
        "method=dllp_bce,dllp_mae,dllp_mse", "fold=0")  # fmt: skip


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_on_a_gpu_every_run_learns_as_it_does_alone(tmp_path, data_dir):
    grid = ["-m", *TINY, "hardware.accelerator=gpu", "method=dllp_bce,dllp_mae,easy_llp", "fold=0,1"]
    commands = [Command(data_dir, tmp_path / name, tmp_path) for name in ("serial", "threads")]
    for command, options in zip(commands, ([], ["runs_at_once=6"]), strict=True):
        done = command(*grid, *options)
        assert done.returncode == 0, done.stderr
    alone, together = (command.results() for command in commands)
    assert len(alone) == 6
    assert together.keys() == alone.keys()
    for path, record in alone.items():  # a GPU adds in an order of its own
        assert together[path]["measures"]["auc"] == pytest.approx(record["measures"]["auc"], abs=0.01)


@pytest.fixture
def heard():
    """A process started in the background may have been told to ignore Ctrl+C, and would pass that on."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.stops
@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGTERM])
def test_signal_stops_all_runs_and_the_same_command_goes_on(commands, command, heard, number):
    whole = commands[0]
    assert whole(*LONG).returncode == 0
    grid = (*LONG, "runs_at_once=2")
    process = command.start(*grid)
    deadline = time.monotonic() + command.timeout
    while len(list(command.outputs_dir.rglob("resume.ckpt"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number, err
    assert "Traceback" not in out + err
    logs = [path.read_text() for path in command.outputs_dir.rglob("run.log")]
    assert len(logs) == 2  # the third point was not begun
    assert all(f"stopped by {number.name}; the same command goes on with the run" in text for text in logs)
    assert list(command.outputs_dir.rglob("error.json")) == []
    assert command.results() == {}
    done = command(*grid)
    assert done.returncode == 0, done.stderr
    got, expected = command.results(), whole.results()
    assert sorted(record["attempt"] for record in got.values()) == [1, 2, 2]
    for record in (*got.values(), *expected.values()):
        record.pop("attempt")
    assert {path: untimed_record(one) for path, one in got.items()} == {
        path: untimed_record(one) for path, one in expected.items()
    }
    assert untimed_curves(command.outputs_dir) == untimed_curves(whole.outputs_dir)
