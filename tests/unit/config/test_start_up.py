"""What stands before a command's work: one composition, and no package that a finished run does not need."""

import subprocess
import sys

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.types import RunMode
from omegaconf import OmegaConf

from llp.config.composition import CheckedLoader, register
from llp.config.sources import search_path
from tests.helpers.tables import make_table

HEAVY = ("polars", "scipy", "torch", "lightning", "pandas", "numba")


def test_commands_start_and_know_a_table_without_heavy_packages(tmp_path):
    folder = make_table(tmp_path / "table").folder
    code = (
        "import sys, llp.train, llp.status, llp.predict; from pathlib import Path\n"
        "from llp.data.table import InstanceTable; InstanceTable.of(Path(sys.argv[1])).fingerprint\n"
        f"print(*(one for one in {HEAVY} if one in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code, folder], check=True, capture_output=True, text=True)
    assert done.stdout.split() == []


def test_a_command_composes_its_config_once(tmp_path, monkeypatch):
    register()
    words = [
        "dataset=flights",
        "method=rot",
        "trainer.max_epochs=2",
        f"hydra.run.dir={tmp_path}",
        "hydra.job.name=train",
    ]
    wholes, loads = [], []
    load = ConfigLoaderImpl.load_configuration
    monkeypatch.setattr(ConfigLoaderImpl, "load_configuration", lambda *given: loads.append(1) or load(*given))
    for probes in (True, False):
        loader = CheckedLoader(search_path())
        if probes:  # as Hydra does to find the mode
            loader.load_configuration("train", words, RunMode.MULTIRUN, validate_sweep_overrides=False)
        config = loader.load_configuration("train", [*words, "hydra.mode=RUN"], RunMode.RUN)
        wholes.append(OmegaConf.to_container(config))
    assert len(loads) == 2
    assert wholes[0] == wholes[1]
