"""What docs/extend.md adds to the package is found by name alone: in a copy of the checkout, no test has to follow."""

import re
import shutil
import subprocess
import sys

import polars as pl
import pytest

from tests.helpers.commands import Command
from tests.helpers.pages import CHECKOUT, blocks_of, change_checkout

PAGE = "docs/extend.md"
ADDED = {  # of the page's own package: where it lies in this one
    "mylab/gap.py": "llp/methods/gap.py",
    "mylab/conf/method/gap.yaml": "conf/method/gap.yaml",
    "mylab/visits.py": "llp/datasets/visits.py",
    "mylab/conf/dataset/visits.yaml": "conf/dataset/visits.yaml",
}
# that list methods, kinds of bags, datasets, tables, modules or pages, with what they do not train
ENUMERATE = (
    "tests/unit/test_architecture.py", "tests/unit/data/test_bags.py",
    "tests/unit/config/test_grouping_keys.py", "tests/end_to_end/test_docs.py", "tests/unit/runs/test_identities.py",
    "tests/unit/results/test_paper_items.py::test_every_item_names_what_the_report_makes",
    "tests/unit/results/test_tables.py", "tests/unit/metrics/test_evaluation.py", "tests/unit/benchmarks/test_suite.py",
)  # fmt: skip
BY_NAME = (
    "tests/unit/methods/test_every_method.py", "tests/unit/conformance/test_labels.py",
    "tests/unit/training/test_chunks.py", "tests/unit/training/test_label_start.py",
    "tests/unit/api/test_estimators.py", "tests/unit/test_doctests.py",
)  # fmt: skip

pytestmark = pytest.mark.skipif(not (CHECKOUT / "pyproject.toml").is_file(), reason="needs the checkout")


@pytest.fixture
def copy(tmp_path):
    """A copy of the checkout with all that the page adds, and the page's made visits in a file."""
    copied, without = tmp_path / "checkout", shutil.ignore_patterns("__pycache__")
    copied.mkdir()
    for path in CHECKOUT.iterdir():
        if path.is_file():
            shutil.copy(path, copied)
        elif path.name not in (".git", ".venv", "data", "outputs", "site"):
            shutil.copytree(path, copied / path.name, ignore=without)
    blocks = blocks_of(PAGE)
    for block in blocks:
        if place := ADDED.get(block.file):
            folder = "methods" if "gap" in place else "datasets"
            (copied / place).write_text(block.text.replace("_target_: mylab.", f"_target_: llp.{folder}."))
    change_checkout(PAGE, copied)
    (made,) = (block.text for block in blocks if block.text.startswith("import random\n"))
    subprocess.run([sys.executable, "-c", made], cwd=tmp_path, check=True)
    return copied


@pytest.mark.docs
@pytest.mark.timeout(900)
def test_a_method_a_kind_of_bags_a_dataset_a_measure_and_a_table_are_added_as_the_page_says(copy, tmp_path):
    command = Command(tmp_path / "data", tmp_path / "outputs", tmp_path, timeout=600)
    command.env["PYTHONPATH"] = str(copy)
    point = [
        "dataset=visits",
        "method=gap",
        "grouping_key=block_64",
        "hardware.accelerator=cpu",
        "trainer.max_epochs=1",
    ]
    jobs = [
        ("llp.prepare", ["dataset=visits", "raw=visits.csv"]),
        ("llp.train", ["-m", *point, "fold=0,1"]),
        ("llp.report", ["tables=[run_counts,wins]"]),
    ]
    for module, arguments in jobs:
        done = command(*arguments, module=module)  # a process of its own: it imports the copy
        assert done.returncode == 0, (module, done.stderr[-2000:])
    records = [*command.results().values()]
    assert [(one["dataset"], one["method"], one["bag_kind"]) for one in records] == [("visits", "gap", "block")] * 2
    assert all(0 < one["measures"]["largest_error"] < 1 for one in records)
    report = tmp_path / "outputs" / "report"
    assert "measures.largest_error" in pl.read_csv(report / "results.csv").columns
    tables = {path.stem: path.read_text() for path in (report / "tables").glob("*.md")}
    assert re.search(r"\| gap \| 2 \|", next(text for name, text in tables.items() if name.endswith("run_counts")))

    marks = "not slow and not docs and not gpu and not browser and not stops"
    pytested = ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", marks]
    for tool in (
        ["-m", "ruff", "check", "llp"],
        ["-m", "ruff", "format", "--check", "llp"],
        ["-c", "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"],
        [*pytested, *ENUMERATE],
        [*pytested, *BY_NAME, "-k", "gap or block or visits"],
    ):
        run = subprocess.run(
            [sys.executable, *tool], cwd=copy, env=command.env, capture_output=True, text=True, check=False
        )
        assert run.returncode == 0, run.stdout[-4000:]
