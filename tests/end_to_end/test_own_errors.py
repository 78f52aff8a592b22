"""Errors in a user's own method: one line with the class, the file and the line of their code."""

import json
import re

import pytest

from tests.helpers.commands import TINY, Command

METHODS = """
import sys
import torch
from llp.methods.base import LLPMethod


class Method(LLPMethod):
    def bag_loss(self, scores, batch):
        return scores.mean()


class RaisesLate(Method):
    def bag_loss(self, scores, batch):
        if self.current_epoch == 1:
            raise RuntimeError("diverged\\nin two lines")
        return scores.mean()


class RaisesInInit(Method):
    def __init__(self, **shared):
        super().__init__(**shared)
        self.width = {}["width"]


class RaisesInSetup(Method):
    def setup(self, stage):
        raise ValueError


class Exits(Method):
    def bag_loss(self, scores, batch):
        sys.exit(3)


class Vector(Method):
    def bag_loss(self, scores, batch):
        return scores


class Nothing(Method):
    def bag_loss(self, scores, batch):
        pass


class NoGradient(Method):
    def bag_loss(self, scores, batch):
        return scores.detach().mean()


class Dictionary(Method):
    def bag_loss(self, scores, batch):
        return {"loss": scores.mean()}
"""
SCALAR = "expected a scalar tensor with a gradient, got "
SAID = {
    "RaisesLate": ("RuntimeError: diverged in RaisesLate.bag_loss", 'raise RuntimeError("diverged'),
    "RaisesInInit": ("KeyError: 'width' in RaisesInInit.__init__", '{}["width"]'),
    "RaisesInSetup": ("ValueError in RaisesInSetup.setup", "raise ValueError"),
    "Exits": ("sys.exit(3) in Exits.bag_loss", "sys.exit(3)"),
    "Vector": (SCALAR + r"a tensor of shape (", "class Vector"),
    "Nothing": (SCALAR + "None from Nothing.bag_loss", "class Nothing"),
    "NoGradient": (SCALAR + "a tensor without gradient from NoGradient.bag_loss", "class NoGradient"),
    "Dictionary": (SCALAR + "a dict from Dictionary.bag_loss", "class Dictionary"),
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory, data_dir):
    """Each method's answer, and the one of the first with debug=true."""
    place = tmp_path_factory.mktemp("own")
    (place / "mylab" / "method").mkdir(parents=True)
    (place / "mylab" / "methods.py").write_text(METHODS)
    for name in SAID:
        node = f"_target_: mylab.methods.{name}\nname: {name}\nlabels: [binary]\n"
        (place / "mylab" / "method" / f"{name}.yaml").write_text(node)
    command = Command(data_dir, place / "outputs", place, timeout=600)
    command.env["PYTHONPATH"] += f":{place}"
    jobs = [["--config-dir", "mylab", *TINY, f"method={name}"] for name in SAID]
    jobs.append([*jobs[0], "debug=true", "seed=1"])
    return command, place / "mylab" / "methods.py", dict(zip([*SAID, "debug"], command.many(*jobs), strict=True))


def line_of(text):
    number = next(i for i, line in enumerate(METHODS.splitlines(), 1) if text in line)
    return number + 1 if text.startswith("class") else number


@pytest.mark.parametrize("name", SAID)
def test_point_of_own_code_is_told_in_a_line(answers, name):
    command, path, done = answers
    answer, (said, where) = done[name], SAID[name]
    assert answer.returncode == 1
    assert "Traceback" not in answer.stdout + answer.stderr
    [line] = [line for line in answer.stderr.splitlines() if said in line]
    assert re.search(rf"\({re.escape(str(path))}, line {line_of(where)}\)", line)
    [error] = command.outputs_dir.glob(f"synthetic/random_64/{name}/fold=0/seed=0/*/error.json")
    content = json.loads(error.read_text())
    assert said in content["error"]
    assert "methods.py" in content["traceback"] or name in ("Vector", "Nothing", "NoGradient", "Dictionary")


def test_debug_shows_the_traceback(answers):
    answer = answers[2]["debug"]
    assert answer.returncode == 1
    assert re.search(rf'File ".*methods.py", line {line_of(SAID["RaisesLate"][1])}, in bag_loss', answer.stderr)
