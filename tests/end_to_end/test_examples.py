"""Every script of examples/ runs from its first cell to its last."""

import subprocess
import sys

import pytest

from llp.config.grouping_keys import CONF_DIR

EXAMPLES = sorted((CONF_DIR.parent / "examples").glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_runs(tmp_path, path):
    env = {"PYTHONPATH": str(CONF_DIR.parent), "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, path], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-2000:]
    assert path.read_text().count("# %%") >= 2
