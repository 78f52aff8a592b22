"""The code keeps to the project's own settings of its linter; `make lint` checks its types."""

import subprocess
import sys

import pytest

from llp.config.grouping_keys import CONF_DIR

CHECKOUT = CONF_DIR.parent


@pytest.mark.skipif(not (CHECKOUT / "pyproject.toml").is_file(), reason="needs the checkout")
@pytest.mark.parametrize(
    "tool",
    [["ruff", "check", "llp", "benchmarks", "tests"], ["ruff", "format", "--check", "llp", "benchmarks", "tests"]],
    ids=["lint", "format"],
)
def test_clean(tool):
    done = subprocess.run([sys.executable, "-m", *tool], cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
