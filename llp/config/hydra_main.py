"""A command as a function of its checked config: the one way in which Hydra is wired."""

import functools
import sys
from collections.abc import Callable
from typing import Any

import hydra
from hydra.core.config_store import ConfigStore
from omegaconf import DictConfig, OmegaConf

from llp.command import command, launched, told_in_a_line
from llp.config.checks import check_config
from llp.config.command_line import make_parsable
from llp.config.commands import name_of
from llp.config.composition import install_loader, register
from llp.config.grouping_keys import CONF_DIR
from llp.config.schema import AnyConfig
from llp.errors import InputError

START_OVER = ("prepare", "predict", "export")  # commands of which nothing is kept when they are cut off


def store(name: str) -> None:
    """Have Hydra know a command's config by itself: with conf/ on its search path, a name would choose a YAML file."""
    ConfigStore.instance().store(name, OmegaConf.load(CONF_DIR / f"{name}.yaml"))


def command_of(
    model: type[AnyConfig], *, groups: bool = True, beforehand: Callable[[list[str]], list[str]] = list
) -> Callable[[Callable[[AnyConfig], Any]], Callable[[], None]]:
    """Make a command's main function of one that takes its checked config; wrong input ends it with one line.

    What is to be done `beforehand` gets the command line's words, and gives those that are composed.
    """
    name = name_of(model)

    def decorate(work: Callable[[AnyConfig], Any]) -> Callable[[], None]:
        @functools.wraps(work)
        def checked(config: DictConfig) -> Any:
            with launched(), told_in_a_line():
                return work(check_config(config, model))

        composed = hydra.main(config_path=str(CONF_DIR) if groups else None, config_name=name, version_base="1.3")

        def main() -> None:
            try:
                if groups:
                    register()
                else:
                    install_loader()
                    store(name)
                make_parsable()
                sys.argv[1:] = beforehand(sys.argv[1:])
            except InputError as error:
                sys.exit(str(error))
            composed(checked)()

        return command(main, resumes=name not in START_OVER)

    return decorate
