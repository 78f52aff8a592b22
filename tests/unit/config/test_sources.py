"""A composition outside a command is Hydra's own; a command composes once, without packages that it may not need."""

import subprocess
import sys

import hydra
import pytest
from hydra import initialize_config_dir
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_search_path_impl import ConfigSearchPathImpl
from hydra.types import RunMode
from hydra.version import VersionBase, getbase
from omegaconf import OmegaConf

from llp.config.composition import CheckedLoader, CompositionError, compose, register
from llp.config.grouping_keys import CONF_DIR
from llp.config.sources import search_path, with_names
from tests.helpers.tables import make_table

HEAVY = ("polars", "scipy", "torch", "lightning", "pandas", "numba")

GIVEN = [
    [],
    ["grouping_key=random_64", "method=upm"],
    ["dataset=criteo_ctr", "grouping_key=fixed_C3_C11_128", "seed=3"],
    ["noise=laplace", "dataset=synthetic_sscl"],
    ["experiment=demo", "hydra/launcher=joblib"],
]


@pytest.mark.parametrize("overrides", GIVEN, ids=" ".join)
def test_a_composition_beside_hydra_is_hydras(overrides):
    with initialize_config_dir(str(CONF_DIR), version_base="1.3"):
        register()
        expected = hydra.compose("train", overrides)
    assert compose("train", overrides) == expected


def test_it_takes_its_own_rules_and_leaves_those_of_the_process(monkeypatch):
    expected = compose("train", [])
    hydra.version.setbase("1.1")
    assert compose("train", []) == expected
    assert str(getbase()) == "1.1"
    monkeypatch.setattr(VersionBase.instance(), "version_base", object())
    with pytest.raises(CompositionError, match=r"Invalid method='nothing': expected "):
        compose("train", ["method=nothing"])
    assert type(getbase()) is object


def test_a_command_without_groups_has_none_when_it_is_called():
    path = ConfigSearchPathImpl()
    path.append("main", "pkg://llp")  # Hydra puts it there where the command's module is not __main__
    assert [one.path for one in with_names(path).get_path()] == ["pkg://llp"]


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
