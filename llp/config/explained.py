"""What was wrong with a composition that Hydra refused, in one line."""

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.errors import ConfigCompositionException, HydraException, MissingConfigException
from hydra.types import RunMode
from omegaconf import open_dict
from omegaconf.errors import OmegaConfBaseException

from llp.config.command_line import parse_words
from llp.config.commands import COMMANDS, TrainConfig
from llp.config.complaints import nearest
from llp.config.schema import DatasetConfig
from llp.config.targets import check_preparation, check_targets
from llp.config.validation import validate
from llp.errors import InputError, choice, invalid, plain, shortened


def explain(
    loader: ConfigLoaderImpl, error: Exception, config_name: str | None, overrides: list[str], run_mode: RunMode
) -> Exception | str:
    """The error of a composition in this project's words, where there are any; else Hydra's own in a line.

    Parameters
    ----------
    loader : ConfigLoaderImpl
        What composed.
    error : Exception
        What it raised.
    config_name : str or None
        The command.
    overrides : list of str
        What it was given.
    run_mode : RunMode
        Whether it composed a multirun.
    """
    if isinstance(error, InputError):
        return error
    if isinstance(error, MissingConfigException) and error.missing_cfg_file and error.options:
        group, _, name = error.missing_cfg_file.rpartition("/")
        for one in parse_words(overrides):  # a name may hold slashes of its own
            if error.missing_cfg_file == f"{one.key_or_group}/{one.value()}":
                group, name = one.key_or_group, str(one.value())
        options = loader.get_group_options(group) or list(error.options)
        return invalid(group, name, choice(options), nearest(name, options))
    if isinstance(error, ConfigCompositionException) and config_name in COMMANDS:
        try:
            return _unknown_option(loader, config_name, overrides, run_mode) or _line(error)
        except Exception:  # what is accepted instead may be what Hydra breaks down on
            pass
    if isinstance(error, HydraException | OmegaConfBaseException):
        return _line(error)
    given = shortened(_breaking(loader, config_name, overrides, run_mode))
    return InputError(f"Invalid {given}: expected what Hydra can compose ({_line(error)}), such as fold=0")


def _breaking(loader: ConfigLoaderImpl, config_name: str | None, overrides: list[str], run_mode: RunMode) -> str:
    """The override that Hydra breaks down on also alone; all of them where none does."""
    for word in overrides:
        try:
            ConfigLoaderImpl.load_configuration(loader, config_name, [word], run_mode, from_shell=False)
        except (HydraException, OmegaConfBaseException):
            continue
        except Exception:
            return word
    return " ".join(overrides)


def _unknown_option(
    loader: ConfigLoaderImpl, command: str, overrides: list[str], run_mode: RunMode
) -> InputError | None:
    """Compose with every option accepted; the models then say which one nothing reads."""
    accepted = []
    for one in parse_words(overrides):
        sweep = one.is_sweep_override() or one.is_delete() or one.is_hydra_override()
        if not sweep and not loader.repository.group_exists(one.key_or_group):
            accepted.append("++" + (one.input_line or "").lstrip("+"))
        else:
            accepted.append(one.input_line or "")
    config = ConfigLoaderImpl.load_configuration(loader, command, accepted, run_mode)
    with open_dict(config):
        del config["hydra"]
    try:
        checked = validate(config, COMMANDS[command])
        if isinstance(checked, TrainConfig):
            check_targets(checked)
        elif isinstance(dataset := getattr(checked, "dataset", None), DatasetConfig):
            check_preparation(dataset)
    except InputError as error:
        return error
    added = next((one for one in parse_words(overrides) if one.is_add()), None)
    if added is None:
        return None
    name, value = added.key_or_group, added.value()
    return invalid(f"+{name}", value, "no + before an option that is there", f"{name}={plain(value)}")


def _line(error: Exception) -> str:
    cause = f" ({error.__cause__})" if isinstance(error.__cause__, OmegaConfBaseException) else ""
    return " ".join(f"{error}{cause}".split()) or type(error).__name__
