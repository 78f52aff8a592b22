"""A wheel carries all that a command needs: it runs outside the checkout."""

import json
import subprocess
import sys
import zipfile

import pytest

from llp.config.grouping_keys import CONF_DIR
from tests.helpers.commands import TINY, Command

CHECKOUT = CONF_DIR.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    if not (CHECKOUT / "pyproject.toml").is_file():
        pytest.skip("needs the checkout")
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, CHECKOUT]
    subprocess.run(build, check=True, capture_output=True)
    [path] = folder.glob("llp_bench-*.whl")
    return path


def test_configuration_and_published_numbers_are_inside(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    shipped = {f"llp/conf/{path.relative_to(CONF_DIR)}" for path in CONF_DIR.rglob("*.yaml")}
    tables = {str(path.relative_to(CHECKOUT)) for path in (CHECKOUT / "llp").rglob("*.csv")}
    assert shipped | tables | {"llp/py.typed"} <= names
    assert tables
    assert not [name for name in names if name.startswith(("tests", "outputs", "data", "conf", "benchmarks"))]


def test_it_trains_outside_the_checkout(wheel, tmp_path):
    place = tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", place, wheel]
    subprocess.run(install, check=True, capture_output=True)
    command = Command(tmp_path / "data", tmp_path / "outputs", tmp_path)
    command.env["PYTHONPATH"] = str(place)
    done = command(*TINY, "method=group_prior", "grouping_key=C1_C2", "grouping_key.low_thresh=5")
    assert done.returncode == 0, done.stderr
    [path] = command.outputs_dir.rglob("result.json")
    record = json.loads(path.read_text())
    assert record["grouping_key"] == "C1_C2"
    assert record["git_commit"] is None  # it ran from the wheel, not from the checkout
    assert record["measures"]["auc"] > 0.5
