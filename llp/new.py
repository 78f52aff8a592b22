"""The package of a method of one's own, a plug-in: `python -m llp.new method NAME [FOLDER]`."""

import keyword
import re
import sys
from pathlib import Path

from llp.config.grouping_keys import CONF_DIR, options
from llp.config.sources import plugins
from llp.errors import InputError, invalid

USAGE = "llp new method NAME [FOLDER]"
FILES = {
    "pyproject.toml": """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "llp-NAME"
version = "0.1.0"
dependencies = ["llp-bench"]

[project.entry-points."llp.plugins"]
NAME = "llp_NAME"  # whose folder conf every command searches
""",
    "llp_NAME/__init__.py": "",
    "llp_NAME/method.py": '''\
"""Squared gaps between bags' label proportions and mean predictions."""

from typing import Any

from torch import Tensor

from llp.data.batch import BagBatch
from llp.methods.base import LLPMethod
from llp.ops.segment import segment_mean


class CLASS(LLPMethod):
    """Squared gap between a bag's label proportion and its mean prediction, weighted by the bag's size."""

    def __init__(self, *, power: float, **shared: Any) -> None:
        super().__init__(**shared)
        self.power = power

    def bag_loss(self, scores: Tensor, batch: BagBatch) -> Tensor:
        """Mean over the bags."""
        gap = segment_mean(self.predict(scores), batch.segment, batch.size) - batch.label_proportion
        return (batch.size**self.power * gap**2).mean()
''',
    "llp_NAME/conf/__init__.py": "",
    "llp_NAME/conf/method/NAME.yaml": """\
_target_: llp_NAME.method.CLASS
name: NAME
labels: [binary, real]
power: 0.5      # weight of a bag: its size to this power
""",
    "tests/test_NAME.py": """\
import numpy as np
from sklearn.metrics import roc_auc_score

from llp import LLPClassifier
from llp.conformance.findings import findings


def test_it_keeps_what_every_method_keeps():
    assert [one for one in findings("NAME") if not one.kept] == []


def test_it_learns_from_the_proportions_of_bags():
    rng = np.random.default_rng(0)
    X, bags = rng.normal(size=(4000, 3)), np.arange(4000) // 20
    label = X[:, 0] > 0
    proportions = {bag: label[bags == bag].mean() for bag in range(200)}
    classifier = LLPClassifier("NAME", max_epochs=20, learning_rate=0.01, random_state=0)
    classifier.fit(X, bags=bags, proportions=proportions)
    assert roc_auc_score(label, classifier.predict_proba(X)[:, 1]) > 0.9
""",
}


def write_package(name: str, folder: Path) -> None:
    """Write a package whose method has a name; InputError where the name or the folder is in use."""
    known = options("method", [CONF_DIR, *plugins().values()])
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name) or name in known:
        expected = "a name of small letters, digits and _ that no method has yet, such as llp new method my_method"
        raise invalid("method", name, expected)
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise invalid("folder", str(folder), f"one that is empty or not there, such as llp new method {name} my_folder")
    for path, text in FILES.items():
        place = folder / path.replace("NAME", name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text.replace("NAME", name).replace("CLASS", name.title().replace("_", "")), encoding="utf-8")


def main() -> None:
    """Write the package that the command line names, and say what to do next."""
    words = sys.argv[1:]
    if {"-h", "--help"} & {*words}:
        print(USAGE)
        return
    try:
        if not (words[:1] == ["method"] and len(words) in (2, 3)):
            raise InputError(f"Invalid arguments: expected {USAGE}, such as llp new method my_method")
        name, folder = words[1], Path(words[-1])
        write_package(name, folder)
    except (InputError, OSError) as error:
        sys.exit(str(error))
    print(f"{folder}: the method is llp_{name}/method.py, its options llp_{name}/conf/method/{name}.yaml")
    print(f"next: pip install --editable {folder}; llp check {name}; pytest {folder}; llp train method={name}")


if __name__ == "__main__":
    main()
