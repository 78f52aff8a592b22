"""A grid some of whose points fail, each in a way of its own: the others finish, and all is told."""

import json
import re

import pytest

from tests.helpers.commands import TINY, Command

METHODS = """
from llp.methods.base import LLPMethod


class Broken(LLPMethod):
    def bag_loss(self, scores, batch):
        raise RuntimeError("no such bag")


class Diverging(LLPMethod):
    def bag_loss(self, scores, batch):
        return scores.sum() * float("nan")
"""
NODE = "_target_: mine.{0}\nname: {1}\nlabels: [binary]\n"
LOST = """
defaults:
  - synthetic
  - _self_
name: lost
table: lost
embedded: false
source: https://example.org/lost.csv
"""
GRID = ("-m", "--config-dir", "mine", *TINY[1:], "dataset=synthetic,lost", "method=broken,diverging,dllp_bce", "fold=0",
        "trainer.max_epochs=1")  # fmt: skip


@pytest.fixture(scope="module")
def grid(tmp_path_factory, data_dir):
    """The grid, and what llp.status says of it afterwards."""
    folder = tmp_path_factory.mktemp("failing")
    files = {
        "__init__.py": METHODS,
        "method/broken.yaml": NODE.format("Broken", "broken"),
        "method/diverging.yaml": NODE.format("Diverging", "diverging"),
        "dataset/lost.yaml": LOST,
    }
    for name, text in files.items():
        (folder / "mine" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "mine" / name).write_text(text)
    command = Command(data_dir, folder / "outputs", folder)
    command.env["PYTHONPATH"] += f":{folder}"
    jobs = [("llp.train", GRID), ("llp.status", ())]
    return command, *(done for _, done in command.each(jobs))


def test_cells_that_fail_leave_the_others(grid):
    command, trained, _ = grid
    assert [(one["dataset"], one["method"]) for one in command.results().values()] == [("synthetic", "dllp_bce")]
    errors = [json.loads(path.read_text())["error"] for path in command.outputs_dir.rglob("error.json")]
    assert len(errors) == 2
    assert trained.returncode == 1


def test_grid_ends_with_the_list_of_its_failures(grid):
    _, trained, _ = grid
    first, *failed = trained.stderr.splitlines()
    assert first.startswith("5 of 6 points failed; the same command tries them again")
    expected = [
        r"dataset=synthetic method=broken: RuntimeError: no such bag in Broken.bag_loss \(.*line \d+\)",
        r"dataset=synthetic method=diverging: Training diverged: the train loss is nan in epoch 0",
        *(f"dataset=lost method={method}: .*lost.* is not prepared" for method in ("broken", "diverging", "dllp_bce")),
    ]
    for line, pattern in zip(failed, expected, strict=True):
        assert re.match(f"  failed: {pattern}", line), line


def test_status_tells_what_became_of_each(grid):
    _, _, status = grid
    assert status.returncode == 0, status.stderr
    lines = [line.split("│")[1:-1] for line in status.stdout.splitlines() if line.startswith("│")]
    rows = [[cell.strip() for cell in line] for line in lines]
    counts = {row[0].split()[-3] + " " + row[0].split()[-1]: row[1:] for row in rows}
    assert counts == {
        "synthetic broken": ["", "", "", "1", ""],
        "synthetic diverging": ["", "", "", "1", ""],
        "synthetic dllp_bce": ["1", "", "", "", ""],
        **{f"lost {method}": ["", "", "", "", "1"] for method in ("broken", "diverging", "dllp_bce")},
    }
    assert "Points: 6, of which 1 done, 2 failed, 3 missing" in status.stdout
    assert re.search(r"failed: synthetic random_64 broken fold=0 seed=0: .*no such bag", status.stdout)
    assert re.search(r"failed: synthetic random_64 diverging .*the train loss is nan in epoch 0", status.stdout)
    assert "missing: 3 × dataset lost is not prepared" in status.stdout
    assert re.search(r"Lately [\d,]+ runs ended per hour", status.stdout)
