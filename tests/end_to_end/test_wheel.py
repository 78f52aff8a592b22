"""A wheel carries all that a command needs: it runs outside the checkout."""

import subprocess
import sys
import zipfile
from pathlib import Path
from textwrap import indent

import pytest

from llp import __version__
from llp.config.grouping_keys import CONF_DIR
from tests.helpers.commands import TINY, Command
from tests.helpers.pages import blocks_of

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


@pytest.fixture(scope="module")
def site(wheel, tmp_path_factory):
    """A folder that the wheel alone is installed into, beside what it depends on."""
    place = tmp_path_factory.mktemp("installed") / "site"
    install = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", place, wheel]
    subprocess.run(install, check=True, capture_output=True)
    return place


@pytest.fixture
def llp(site, tmp_path, data_dir):
    """The installed program, run outside the checkout."""
    command = Command(data_dir, tmp_path / "outputs", tmp_path)
    command.env["PYTHONPATH"] = str(site)

    def run(*arguments, program=site / "bin" / "llp"):
        return subprocess.run(
            [sys.executable, program, *arguments],
            cwd=tmp_path, env=command.env, capture_output=True, text=True, timeout=240, check=False,
        )  # fmt: skip

    run.results, run.env = command.results, command.env
    return run


def test_the_demo_ends_with_its_page(llp, tmp_path):
    small = ["fold=0", "trainer.max_epochs=1", "grouping_key=random_256", "method=group_prior,dllp_bce"]
    done = llp("demo", *small, "outputs_dir=shown")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].endswith(": shown/report/index.html")
    page = (tmp_path / "shown" / "report" / "index.html").read_text()
    assert "Without the label of a single instance, sums over bags reach test AUC" in page
    assert "random_256" in page
    assert "dllp_bce" in page


def test_a_package_that_it_writes_is_a_plug_in(llp, site, tmp_path):
    """`llp new`, installed and trained, and its own tests, as `llp check` does; beside them the README's Python."""
    assert llp("new", "method", "my_gap").returncode == 0
    install = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--no-build-isolation", "--target"]
    subprocess.run([*install, tmp_path / "plugins", tmp_path / "my_gap"], check=True, capture_output=True)
    llp.env["PYTHONPATH"] = f"{site}:{tmp_path / 'plugins'}"
    done = llp("train", *TINY, "method=my_gap", "method.power=1", "fold=0")
    assert done.returncode == 0, done.stderr
    [record] = llp.results().values()
    assert record["config"]["method"] | {"power": 1.0} == record["config"]["method"]
    assert record["git_commit"] is None  # it ran from the wheel, not from the checkout
    blocks = [indent(block.text, "    ") for block in blocks_of("README.md") if block.language == "python"]
    assert blocks
    (tmp_path / "my_gap" / "tests" / "test_readme.py").write_text("\n".join(["def test_it():", *blocks]))
    tested = llp("-q", "-p", "no:cacheprovider", "my_gap", program=Path(sys.executable).parent / "pytest")
    assert "3 passed" in tested.stdout, tested.stdout + tested.stderr


def test_a_version_is_one_wherever_it_is_written(wheel):
    assert wheel.name == f"llp_bench-{__version__}-py3-none-any.whl"
    for name, text in {"README.md": wheel.name, "CITATION.cff": f"\nversion: {__version__}\n"}.items():
        assert text in (CHECKOUT / name).read_text(), name
    first = next(line for line in (CHECKOUT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## "))
    assert first.removeprefix("## ").split()[0] in ("Unreleased", __version__)
