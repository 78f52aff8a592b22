"""A composition outside a command is Hydra's own, whatever rules and plugins its process has."""

import hydra
import pytest
from hydra import initialize_config_dir
from hydra._internal.config_search_path_impl import ConfigSearchPathImpl
from hydra.version import VersionBase, getbase

from llp.config.composition import CompositionError, compose, register
from llp.config.grouping_keys import CONF_DIR
from llp.config.sources import with_names

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
