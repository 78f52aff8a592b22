"""A command as a function of its composed and checked config."""

import functools
from collections.abc import Callable

import hydra
from omegaconf import DictConfig

from llp.command import command, told_in_a_line
from llp.config.checks import check_config
from llp.config.command_line import make_parsable
from llp.config.composition import register
from llp.config.grouping_keys import CONF_DIR

START_OVER = ("prepare", "predict", "export")  # commands of which nothing is kept when they are cut off

ConfigFunction = Callable[[DictConfig], None]


def command_of(name: str) -> Callable[[ConfigFunction], Callable[[], None]]:
    """Make a command's main function of a function that takes the composed `conf/<name>.yaml`.

    Wrong input ends the command with one line, before any work.
    """

    def decorate(work: ConfigFunction) -> Callable[[], None]:
        @functools.wraps(work)
        def checked(config: DictConfig) -> None:
            with told_in_a_line():
                check_config(config, name)
                work(config)

        composed = hydra.main(config_path=str(CONF_DIR), config_name=name, version_base="1.3")(checked)

        def main() -> None:
            register()
            make_parsable()
            composed()

        return command(main, resumes=name not in START_OVER)

    return decorate
