"""A grid, some of whose points fail, in processes side by side and serially: results, messages, exit codes, status."""

import json
import re
from datetime import datetime

import pytest

from tests.helpers.commands import TINY, Command
from tests.helpers.cutting import untimed_curves, untimed_records

METHODS = ("ot_llp", "soft_erot_llp", "dllp_mae")  # the first two start from the same run of dllp_bce
TWO = ("hydra/launcher=joblib", "hydra.launcher.n_jobs=2")
FAILING = ("refusing", "broken", "diverging")
GRID = ("-m", "--config-dir", "mine", *TINY[1:], "dataset=synthetic,lost", f"method={','.join((*METHODS, *FAILING))}",
        "fold=0")  # fmt: skip

METHOD = """
from llp.errors import InputError
from llp.methods.base import LLPMethod


class Broken(LLPMethod):
    def bag_loss(self, scores, batch):
        raise RuntimeError("diverged")


class Refusing(LLPMethod):
    def bag_loss(self, scores, batch):
        raise InputError("no bag of this dataset will do")


class Diverging(LLPMethod):
    def bag_loss(self, scores, batch):
        return scores.sum() * float("nan")
"""
LOST = """
defaults: [synthetic, _self_]
name: lost
table: lost
embedded: false
source: https://example.org/lost.csv
"""


@pytest.fixture(scope="module")
def both(tmp_path_factory, data_dir):
    """The serial command and the one with processes, each with its own outputs, their answers, and llp.status's."""
    folder = tmp_path_factory.mktemp("both")
    for group in ("method", "dataset"):
        (folder / "mine" / group).mkdir(parents=True)
    for name in FAILING:
        node = f"_target_: mine.{name.capitalize()}\nname: {name}\nlabels: [binary]\n"
        (folder / "mine" / "method" / f"{name}.yaml").write_text(node)
    (folder / "mine" / "dataset" / "lost.yaml").write_text(LOST)
    (folder / "mine" / "__init__.py").write_text(METHOD)
    serial, processes = (Command(data_dir, folder / name, folder) for name in ("serial", "processes"))
    serial.env["PYTHONPATH"] += f":{folder}"
    own = [[f"outputs_dir={serial.outputs_dir}"], [f"outputs_dir={processes.outputs_dir}", *TWO]]
    jobs = [("llp.train", [*GRID, *options]) for options in own] + [("llp.status", ())]
    return serial, processes, *(done for _, done in serial.each(jobs))


def test_grid_in_processes_ends_as_the_serial_one(both):
    """One test of results, first stage, logs, simultaneity and console."""
    serial, processes, first, second, _ = both
    expected = untimed_records(serial)
    assert len(expected) == 3 + 1  # with the first stage
    assert untimed_records(processes) == expected
    assert untimed_curves(processes.outputs_dir) == untimed_curves(serial.outputs_dir)
    check_shared_first_stage(processes)
    check_logs(processes)
    assert (most_at_once(serial), most_at_once(processes) > 1) == (1, True)
    check_console(first, second)


def check_shared_first_stage(processes):
    stages = [record["stages"] for record in processes.results().values() if len(record["stages"]) == 2]
    assert sorted(first["reused"] for first, _ in stages) == [False, True]
    attempts = [path.read_text() for path in processes.outputs_dir.rglob("random_64/dllp_bce/**/attempt")]
    assert set(attempts) == {"1"}


def check_logs(processes):
    """Each holds its own lines and all of them."""
    for path, record in processes.results().items():
        text = (processes.outputs_dir / path).with_name("run.log").read_text()
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


def test_points_that_fail_leave_the_others_and_are_told_as_in_the_serial_grid(both):
    _, processes, first, second, _ = both
    assert (first.returncode, second.returncode) == (1, 1)
    assert first.stderr == second.stderr
    assert "Traceback" not in second.stderr
    headline, *failed = second.stderr.splitlines()
    assert headline.startswith("9 of 12 points failed; the same command tries them again")
    expected = [
        "dataset=synthetic method=refusing: no bag of this dataset will do$",
        r"dataset=synthetic method=broken: RuntimeError: diverged in Broken.bag_loss \(.*__init__.py, line \d+\)",
        "dataset=synthetic method=diverging: Training diverged: the train loss is nan in epoch 0",
        *(f"dataset=lost method={method}: .*lost.* is not prepared" for method in (*METHODS, *FAILING)),
    ]
    for line, pattern in zip(failed, expected, strict=True):
        assert re.match(f"  failed: {pattern}", line), line
    [error] = processes.outputs_dir.rglob("refusing/**/error.json")
    assert json.loads(error.read_text())["error"] == "no bag of this dataset will do"
    assert len(list(processes.outputs_dir.rglob("error.json"))) == 3


def test_status_tells_what_became_of_each(both):
    *_, status = both
    assert status.returncode == 0, status.stderr
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in status.stdout.splitlines() if line[:1] == "│"]
    counts = {row[0].split()[-3] + " " + row[0].split()[-1]: row[1:] for row in rows}
    assert counts == {
        **{f"synthetic {method}": ["1", "", "", "", ""] for method in ("dllp_bce", *METHODS)},
        **{f"synthetic {method}": ["", "", "", "1", ""] for method in FAILING},
        **{f"lost {method}": ["", "", "", "", "1"] for method in (*METHODS, *FAILING)},
    }
    assert "Points: 13, of which 4 done, 3 failed, 6 missing" in status.stdout
    assert re.search(r"failed: synthetic random_64 broken fold=0 seed=0: .*diverged", status.stdout)
    assert re.search(r"failed: synthetic random_64 diverging .*the train loss is nan in epoch 0", status.stdout)
    assert "missing: 6 × dataset lost was not prepared when the grid was started" in status.stdout
    assert re.search(r"Lately [\d,]+ runs ended per hour", status.stdout)
