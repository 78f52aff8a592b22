"""The notebooks run from their first cell to their last, and are kept without outputs."""

import os
import sys
from pathlib import Path

import pytest

from tests.helpers.pages import CHECKOUT, NOTEBOOKS

nbformat = pytest.importorskip("nbformat", reason="needs the extra site: make test-docs")


@pytest.mark.docs
@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", NOTEBOOKS)
def test_a_notebook_runs(page, tmp_path, monkeypatch):
    from nbclient import NotebookClient

    notebook = nbformat.read(CHECKOUT / page, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)
    for name in ("LLP_DATA_DIR", "LLP_OUTPUTS_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONPATH", f"{CHECKOUT}:{tmp_path}")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
