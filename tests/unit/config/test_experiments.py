"""Experiments: what their files override stands in the composed config."""

import re

import pytest
from hydra import compose, initialize_config_dir

from llp.config.composition import register
from llp.config.grouping_keys import CONF_DIR, options

pytestmark = pytest.mark.run  # composes many configs


@pytest.mark.parametrize("name", options("experiment"))
def test_what_an_experiment_overrides_is_what_it_gets(name):
    text = (CONF_DIR / "experiment" / f"{name}.yaml").read_text()
    asked = dict(re.findall(r"^  - override /(\S+): (\S+)", text, re.M))
    register()
    with initialize_config_dir(str(CONF_DIR), version_base="1.3"):
        hydra = compose("train", [f"experiment={name}"], return_hydra_config=True).hydra
    chosen = {str(group).split("@")[0]: option for group, option in hydra.runtime.choices.items()}
    assert {group: chosen[group] for group in asked} == asked
    searches = "n_trials" in hydra.sweeper
    assert hydra.sweeper._target_.endswith(".OptunaSweeper" if searches else ".GridSweeper")
