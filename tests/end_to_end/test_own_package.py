"""A method and a dataset of a user's own package, without a change to this one."""

import re

import pytest

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


def write_plug_in(folder, name, entry):
    """Leave what pip leaves of a package whose entry point is named."""
    about = folder / f"{name}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[llp.plugins]\n{name} = {entry}\n")


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A folder with the package, and a command that finds it there."""
    place = tmp_path_factory.mktemp("lab")
    files = {
        "__init__.py": "",
        "methods.py": METHODS,
        "toys.py": TOYS,
        "conf/__init__.py": "",
        "conf/dataset/toys.yaml": DATASET,
        "conf/method/huber.yaml": METHOD,
    }
    for name, text in files.items():
        (place / "mylab" / name).parent.mkdir(parents=True, exist_ok=True)
        (place / "mylab" / name).write_text(text)
    command = Command(place / "data", place / "outputs", place)
    command.env["PYTHONPATH"] += f":{place}"
    return command


def test_own_method_and_dataset_are_found_by_a_search_path_and_once_installed_without_one(lab):
    point = [*BASE, "method=huber"]
    folder, package = "hydra.searchpath=[file://mylab/conf]", "hydra.searchpath=[pkg://mylab.conf]"
    trained = lab.many(
        [*point, package],
        [*point, folder, "method.delta=0.2", "grouping_key=random_64"],
        [*point, package, "grouping_key=feature", "grouping_key.columns=[town,home_town]"],
    )
    assert [done.returncode for done in trained] == [0] * 3, [done.stderr for done in trained]
    points = {(record["dataset"], record["grouping_key"]) for record in lab.results().values()}
    assert points == {("toys", "shop_town"), ("toys", "random_64"), ("toys", "town_home_town")}
    write_plug_in(lab.cwd, "mylab", "mylab")
    [path] = lab.outputs_dir.rglob("shop_town/huber/**/result.json")
    installed, again, shown, unknown = lab.many(
        point, [f"from={path.parent}", "seed=1", BASE[-1]], ["--help"], ["method=hubert"]
    )
    assert (installed.returncode, again.returncode) == (0, 0), installed.stderr + again.stderr
    assert len(lab.results()) == 3 + 1  # the installed one is the run that hydra.searchpath names
    assert re.search(r"^ *method .*\bhuber\b", shown.stdout, re.M)
    assert_refused(unknown, r"^Invalid method='hubert': expected .*\bhuber\b.*, such as method=huber$")
    [prepared] = lab.many(["dataset=toys", "force=true"], module="llp.prepare")
    [reported] = lab.many(["dataset=toys", "method=huber"], module="llp.report")  # where toys is a name
    assert (prepared.returncode, reported.returncode) == (0, 0), prepared.stderr + reported.stderr


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("nowhere", r"No module named 'nowhere'"),
        ("mylab.conf", r"mylab/conf/conf is no folder"),
        ("thief", r"its method/upm.yaml is in /.*/conf too"),
    ],
)
def test_a_plug_in_that_cannot_be_used_is_named(lab, tmp_path, entry, message):
    write_plug_in(tmp_path, "other", entry)
    (tmp_path / "thief" / "conf" / "method").mkdir(parents=True)
    (tmp_path / "thief" / "__init__.py").touch()
    (tmp_path / "thief" / "conf" / "method" / "upm.yaml").write_text(METHOD)
    [refused] = lab.many([], PYTHONPATH=f"{lab.env['PYTHONPATH']}:{tmp_path}")
    problem = rf"^The plug-in {entry} cannot be used \(.*{message}\): expected a package that can be imported"
    assert_refused(refused, problem)
