"""A method and a dataset of a user's own package, without a change to this one."""

import re
import shutil

import pytest

from llp.config.grouping_keys import CONF_DIR
from tests.helpers.commands import Command, assert_refused

METHODS = '''
import torch
from llp.methods.base import LLPMethod
from llp.ops.segment import segment_mean


class Huber(LLPMethod):
    """Huber loss between a bag's label proportion and its mean prediction."""

    def __init__(self, *, delta, **shared):
        super().__init__(**shared)
        self.delta = delta

    def bag_loss(self, scores, batch):
        mean = segment_mean(self.predict(scores), batch.segment, batch.size)
        return torch.nn.functional.huber_loss(mean, batch.label_proportion, delta=self.delta)

'''
TOYS = """
import numpy as np
from llp.data.table import Column
from llp.data.table_writer import TableWriter

NAMES = ["shop", "town", "home_town"]


def prepare(*, folder, made_by, rows):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 6, (rows, 3))
    label = (codes.sum(1) + rng.normal(size=rows) > 8).astype(float)
    columns = [Column(name, "categorical", 6) for name in NAMES] + [Column("price", "numeric", None)]
    with TableWriter(folder, columns, label_kind="binary", rows=rows) as writer:
        writer.write(0, codes, rng.normal(size=(rows, 1)), label)
        writer.finish(made_by=made_by, source={}, facts={})
"""
DATASET = """
defaults:
  - override /grouping_key@_global_.grouping_key: shop_town

name: toys
table: toys
label_kind: binary
key_columns: [shop, town, home_town]
embedded: true
learning_rate: 0.01
patience: 3
prepare:
  _target_: mylab.toys.prepare
  rows: 2000
"""
METHOD = """
_target_: mylab.methods.Huber
name: huber
labels: [binary, real]
delta: 0.1
"""
BASE = ["dataset=toys", "trainer.max_epochs=1", "hardware.accelerator=cpu"]


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The package, and the answers of all commands by name; they share one start."""
    place = tmp_path_factory.mktemp("lab")
    package = place / "mylab"
    files = {
        "__init__.py": "",
        "methods.py": METHODS,
        "toys.py": TOYS,
        "conf/__init__.py": "",
        "conf/dataset/toys.yaml": DATASET,
        "conf/method/huber.yaml": METHOD,
    }
    for name, text in files.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    command = Command(place / "data", place / "outputs", place)
    command.env["PYTHONPATH"] += f":{place}"
    pkg, file = "hydra.searchpath=[pkg://mylab.conf]", f"hydra.searchpath=[file://{package}/conf]"
    jobs = {
        "own method": [*BASE, pkg, "method=huber"],
        "from a folder": [*BASE, file, "method=huber", "method.delta=0.2", "grouping_key=random_64"],
        "underscore": [
            *BASE, pkg, "method=huber", "grouping_key=feature", "grouping_key.columns=[town,home_town]",
        ],
    }  # fmt: skip
    return command, dict(zip(jobs, command.many(*jobs.values()), strict=True))


def test_own_method_on_own_dataset(lab):
    command, answers = lab
    for name in ("own method", "from a folder", "underscore"):
        assert answers[name].returncode == 0, answers[name].stderr
    points = {(r["dataset"], r["grouping_key"]) for r in command.results().values() if r["method"] == "huber"}
    assert points == {("toys", "shop_town"), ("toys", "random_64"), ("toys", "town_home_town")}


@pytest.fixture(scope="module")
def installed(lab, tmp_path_factory):
    """The package as what pip installs names it, in a folder of its own, and a command that finds it there."""
    site = tmp_path_factory.mktemp("site")
    shutil.copytree(lab[0].cwd / "mylab", site / "mylab")
    (site / "mylab-1.0.dist-info").mkdir()
    (site / "mylab-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: mylab\nVersion: 1.0\n")
    (site / "mylab-1.0.dist-info" / "entry_points.txt").write_text("[llp.plugins]\nmylab = mylab\n")
    command = Command(site / "data", site / "outputs", site)
    command.env["PYTHONPATH"] = f"{CONF_DIR.parent}:{site}"
    return command


def test_a_plug_in_is_found_without_a_search_path(lab, installed):
    quick = [*BASE, "fold=0", "hardware.accelerator=cpu"]
    jobs = {
        "train": ["method=huber", *quick],
        "again": ["from=", "seed=1", "hardware.accelerator=cpu"],
        "help": ["--help"],
        "unknown": ["method=hubert"],
    }
    [done] = installed.many(jobs["train"])
    assert done.returncode == 0, done.stderr
    [(path, record)] = installed.results().items()
    hashes = {one["config_hash"] for one in lab[0].results().values() if one["method"] == "huber"}
    assert record["config_hash"] in hashes  # the run that hydra.searchpath names
    jobs["again"][0] = f"from={(installed.outputs_dir / path).parent}"
    again, shown, unknown = installed.many(*list(jobs.values())[1:])
    assert again.returncode == 0, again.stderr
    assert {(one["method"], one["seed"]) for one in installed.results().values()} == {("huber", 0), ("huber", 1)}
    assert re.search(r"^ *method .*\bhuber\b", shown.stdout, re.M)
    assert_refused(unknown, r"^Invalid method='hubert': expected .*\bhuber\b.*, such as method=huber$")
    [prepared] = installed.many(["dataset=toys", "force=true"], module="llp.prepare")
    [reported] = installed.many(["dataset=toys", "method=huber"], module="llp.report")  # where toys is a name
    assert (prepared.returncode, reported.returncode) == (0, 0), prepared.stderr + reported.stderr


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("nowhere", r"No module named 'nowhere'"),
        ("mylab.conf", r"mylab/conf/conf is no folder"),
        ("thief", r"its method/upm.yaml is in /.*/conf too"),
    ],
)
def test_a_plug_in_that_cannot_be_used_is_named(installed, tmp_path, entry, message):
    (tmp_path / "other-1.0.dist-info").mkdir()
    (tmp_path / "other-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (tmp_path / "other-1.0.dist-info" / "entry_points.txt").write_text(f"[llp.plugins]\nother = {entry}\n")
    (tmp_path / "thief" / "conf" / "method").mkdir(parents=True)
    (tmp_path / "thief" / "__init__.py").touch()
    (tmp_path / "thief" / "conf" / "method" / "upm.yaml").write_text(METHOD)
    path = f"{installed.env['PYTHONPATH']}:{tmp_path}"
    [refused] = installed.many([], PYTHONPATH=path)
    assert_refused(
        refused, rf"^The plug-in {entry} cannot be used \(.*{message}\): expected a package that can be imported"
    )
