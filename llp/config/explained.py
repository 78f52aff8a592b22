"""The reason for which Hydra refused a composition, in one line."""

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.errors import HydraException, MissingConfigException
from omegaconf.errors import OmegaConfBaseException

from llp.config.command_line import line_of, parse_words, unreadable
from llp.config.complaints import nearest
from llp.errors import InputError, choice, invalid


def explain(loader: ConfigLoaderImpl, error: Exception, overrides: list[str]) -> Exception | str:
    """The error of a composition in this project's words, where there are any; else Hydra's own in a line."""
    if isinstance(error, InputError):
        return error
    if isinstance(error, MissingConfigException) and error.missing_cfg_file and error.options:
        group, _, name = error.missing_cfg_file.rpartition("/")
        for one in parse_words(overrides):  # a name may hold slashes of its own
            if error.missing_cfg_file == f"{one.key_or_group}/{one.value()}":
                group, name = one.key_or_group, str(one.value())
        options = loader.get_group_options(group) or list(error.options)
        return invalid(group, name, choice(options), nearest(name, options))
    if isinstance(error, HydraException | OmegaConfBaseException):
        return line_of(error)
    return unreadable(" ".join(overrides), error)
