"""Errors in a user's own method: one line with the class, the file and the line of their code."""

import json
import re

import pytest

from tests.helpers.commands import TINY, Command, assert_refused

BROKEN = {  # by class, the function that is wrong, and its body
    "RaisesLate": ("bag_loss(self, scores, batch)", """
        if self.current_epoch == 1:
            raise RuntimeError("diverged\\nin two lines")
        return scores.mean()"""),
    "RaisesInInit": ("__init__(self, **shared)", """
        super().__init__(**shared)
        self.width = {}["width"]"""),
    "RaisesInSetup": ("setup(self, stage)", "raise ValueError"),
    "Exits": ("bag_loss(self, scores, batch)", "sys.exit(3)"),
    "Vector": ("bag_loss(self, scores, batch)", "return scores"),
    "Nothing": ("bag_loss(self, scores, batch)", "pass"),
    "NoGradient": ("bag_loss(self, scores, batch)", "return scores.detach().mean()"),
    "TakesNoBatch": ("bag_loss(self, scores)", "return scores.mean()"),
    "Positional": ("__init__(self, model, optimizer)", "super().__init__(model=model, label_kind='binary', seed=0)"),
    "WrongHook": ("on_train_batch_end(self)", "pass"),
    "WrongOdds": ("log_odds(self, scores)", "return None"),
    "NoParent": ("__init__(self, **shared)", "self.width = 3"),
}  # fmt: skip
METHODS = """
import sys
import torch
from llp.methods.base import LLPMethod


class Method(LLPMethod):
    def bag_loss(self, scores, batch):
        return scores.mean()


class Unrelated:
    def __init__(self, **shared):
        pass


class Column(torch.nn.Module):
    def __init__(self, *, vocab_sizes, n_numeric):
        super().__init__()
        self.score = torch.nn.Linear(len(vocab_sizes), 1)

    def forward(self, categorical, numeric):
        return self.score(categorical.float())
"""
METHODS += "".join(
    f"\n\nclass {name}(Method):\n    def {function}:\n        {body.strip()}\n"
    for name, (function, body) in BROKEN.items()
)
DATA = """
def raises(folder, made_by):
    raise ValueError("two\\nlines")


def no_place(made_by):
    pass


def no_table(folder, made_by):
    pass


def no_file(folder, made_by):
    open("nowhere.csv")
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
    "TakesNoBatch": (
        "TakesNoBatch.bag_loss() takes 2 positional arguments but 3 were given in the use of",
        "of class TakesNoBatch",
    ),
    "Positional": (
        "Positional.__init__() got an unexpected keyword argument 'label_kind' in the use of",
        "of class Positional",
    ),
    "WrongHook": ("takes 1 positional argument but 4 were given in the use of WrongHook", "of class WrongHook"),
    "WrongOdds": ("got NoneType in the use of WrongOdds", "of class WrongOdds"),
}
REFUSED = {  # before the run has a folder
    "method=NoParent": r"expected super\(\)\.__init__\(\.\.\.\) to be called first in NoParent\.__init__ \(.*, line ",
    "method=Unrelated": r"^Invalid method._target_='mylab.methods.Unrelated': expected a subclass of llp.methods.base",
    "model=Column": r"expected scores of shape \(n,\), got a tensor of shape \(\d+, 1\) from Column\.forward \(",
}
PREPARED = {
    "raises": ("ValueError: two in raises", "raise ValueError"),
    "no_place": ("expected a function that writes a table, with the parameters folder and made_by", None),
    "no_table": ("mylab.data.no_table has made no table", None),
    "no_file": ("FileNotFoundError: [Errno 2] No such file or directory: 'nowhere.csv' in no_file", 'open("nowhere'),
}
DATASET = """
name: NAME
table: NAME
label_kind: binary
key_columns: [a]
embedded: true
learning_rate: 1e-3
patience: 3
prepare:
  _target_: mylab.data.NAME
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory, data_dir):
    """The answers of a grid of the classes, of each function, and those of the first ones with debug=true."""
    place = tmp_path_factory.mktemp("own")
    for group in ("method", "model", "dataset"):
        (place / "mylab" / group).mkdir(parents=True)
    (place / "mylab" / "methods.py").write_text(METHODS)
    (place / "mylab" / "data.py").write_text(DATA)
    for name in (*SAID, "NoParent", "Unrelated"):
        node = f"_target_: mylab.methods.{name}\nname: {name}\nlabels: [binary]\n"
        (place / "mylab" / "method" / f"{name}.yaml").write_text(node)
    (place / "mylab" / "model" / "Column.yaml").write_text("_target_: mylab.methods.Column\nname: Column\n")
    for name in PREPARED:
        (place / "mylab" / "dataset" / f"{name}.yaml").write_text(DATASET.replace("NAME", name))
    command = Command(data_dir, place / "outputs", place, timeout=600)
    command.env["PYTHONPATH"] += f":{place}"
    own = ("--config-dir", "mylab")
    jobs = {"grid": ("llp.train", ["-m", *own, *TINY, f"method={','.join(SAID)}", "fold=0"])}
    jobs |= {name: ("llp.train", [*own, *TINY, name]) for name in REFUSED}
    jobs |= {name: ("llp.prepare", [*own, f"dataset={name}"]) for name in PREPARED}
    jobs["debug"] = ("llp.train", [*own, *TINY, "method=RaisesLate", "debug=true", "seed=1"])
    jobs["debug of prepare"] = ("llp.prepare", [*own, "dataset=raises", "debug=true"])
    done = [answer for _, answer in command.each([*jobs.values()])]
    return command, place / "mylab", dict(zip(jobs, done, strict=True))


def line_of(text, code):
    """The line of a text; of a class's function where a class is named, unless the class itself is meant."""
    wanted = text.removeprefix("of ")
    number = next(i for i, line in enumerate(code.splitlines(), 1) if wanted in line)
    return number + 1 if text.startswith("class") else number


@pytest.mark.parametrize("name", SAID)
def test_point_of_own_code_is_told_in_a_line(answers, name):
    command, folder, done = answers
    answer, (said, where) = done["grid"], SAID[name]
    assert answer.returncode == 1
    assert "Traceback" not in answer.stdout + answer.stderr
    [line] = [line for line in answer.stderr.splitlines() if line.startswith(f"  failed: method={name}: ")]
    assert said in line
    assert re.search(rf"\({re.escape(str(folder / 'methods.py'))}, line {line_of(where, METHODS)}\)", line)
    [error] = command.outputs_dir.glob(f"synthetic/random_64/{name}/fold=0/seed=0/*/error.json")
    content = json.loads(error.read_text())
    assert said in content["error"]
    assert content["traceback"]


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_config_names_and_is_no_method_or_gives_no_scores_is_refused(answers, name):
    assert_refused(answers[2][name], REFUSED[name])


@pytest.mark.parametrize("name", PREPARED)
def test_own_function_of_a_dataset_is_told_in_a_line(answers, name):
    _, folder, done = answers
    answer, (said, where) = done[name], PREPARED[name]
    assert answer.returncode == 1
    [line] = answer.stderr.splitlines()
    assert said in line
    if where is not None:
        assert f"({folder / 'data.py'}, line {line_of(where, DATA)}); debug=true shows the traceback" in line


def test_debug_shows_the_traceback(answers):
    _, _, done = answers
    assert re.search(
        rf'File ".*methods.py", line {line_of(SAID["RaisesLate"][1], METHODS)}, in bag_loss', done["debug"].stderr
    )
    assert re.search(r'File ".*data.py", line \d+, in raises', done["debug of prepare"].stderr)
    assert {done[name].returncode for name in ("debug", "debug of prepare")} == {1}
