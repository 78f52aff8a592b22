"""Words of a command line that Hydra does not take as a user may write them: bare texts, flags behind options."""

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.utils import get_args_parser
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, OverrideType
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from llp.config.options import check_size
from llp.errors import InputError, choice, invalid, nearest, plain, shortened

_ALONE = ("run", "multirun", "cfg", "shell_completion", "info")  # flags of which Hydra takes one


def make_parsable() -> None:
    """Change `sys.argv` into what Hydra parses, or exit with one line: flags in front, values in quotes again."""
    try:
        flags, words = split_flags(sys.argv[1:])
    except InputError as error:
        sys.exit(str(error))
    sys.argv[1:] = [*flags, *(_parsable(word) for word in words)]


def split_flags(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Tell Hydra's flags, in their long forms and with what belongs to them, from overrides."""
    parser = get_args_parser()
    known = [name for action in parser._actions for name in action.option_strings if name.startswith("--")]

    def refuse(message: str) -> NoReturn:
        reason = shortened(" ".join(message.split()))
        raise InputError(f"Invalid flags: {reason}; expected {', '.join(known)} or NAME=VALUE, such as fold=0")

    parser.error = refuse  # type: ignore[method-assign]
    given, unknown = parser.parse_known_intermixed_args(words)
    if unknown:
        near, option = nearest(unknown[0], known), _option_of(unknown[0])
        expected = f"a flag, of which {near} is nearest, or an option as NAME=VALUE, such as {option}"
        raise InputError(f"Invalid {shortened(unknown[0])}: expected {expected}")
    if sum(getattr(given, name) not in (None, False) for name in _ALONE) > 1:
        refuse(f"only one of {', '.join(_ALONE)} at a time")
    if given.resolve and not (given.cfg or given.help):
        refuse("--resolve goes with --cfg or --help")
    asked = next((word for word in given.overrides if given.shell_completion and word.startswith("query=")), None)
    if asked is not None and "COMP_LINE" not in os.environ:
        refuse(f"{asked} is what a shell asks while one types; -sc {asked.replace('query', 'install', 1)} installs it")
    if given.experimental_rerun is not None:
        raise InputError("Invalid --experimental-rerun: expected an option of llp.train, such as from=FOLDER")
    if given.config_dir is not None and not Path(given.config_dir).is_dir():
        raise InputError(f"Invalid --config-dir {shortened(given.config_dir)}: expected a folder that is there")
    flags = list[str]()
    for action in parser._actions:
        value = getattr(given, action.dest, None)
        if action.option_strings and value not in (None, False):
            flags += [action.option_strings[0], *([] if value is True else [value])]
    return flags, given.overrides


def _option_of(flag: str) -> str:
    """A flag that is none as the option that may be meant: `--fold=1`, as other programs take it, is fold=1."""
    name, _, value = flag.lstrip("-").replace("-", "_").partition("=")
    return f"{name}={value or 'VALUE'}" if name.replace(".", "_").isidentifier() and len(name) > 1 else "fold=0"


def _parsable(word: str) -> str:
    name, equals, value = word.partition("=")
    if word.startswith("-") or not equals:
        return word
    try:
        return word if _parses(word) else f"{name}={_in_quotes(value)}"
    except (ValueError, RecursionError):  # which `parse_words` tells
        return word


def _in_quotes(value: str) -> str:
    """A value in quotes; of a plain list, those of its elements that need them."""
    elements = [one.strip() for one in value[1:-1].split(",")]
    plain_list = value.startswith("[") and value.endswith("]") and not set(value[1:-1]) & set("[]{}'\"")
    if not plain_list or "" in elements:
        return _quoted(value)
    return f"[{','.join(one if _parses(f'x={one}') else _quoted(one) for one in elements)}]"


def _parses(word: str) -> bool:
    try:
        OverridesParser.create().parse_override(word)
    except HydraException:
        return False
    return True


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'") if "'" in value or value.endswith("\\") else value
    return f"'{escaped}'"


def parse_words(words: Sequence[str]) -> list[Override]:
    """Parse overrides as Hydra does; InputError also where it would break down: no name, or nested too deeply."""
    return [_parsed(word) for word in words]


def _parsed(word: str) -> Override:
    try:
        [one] = OverridesParser.create().parse_overrides([word])
        check_size(one.key_or_group, None if one.is_sweep_override() else one.value())
    except OverrideParseException as error:
        raise InputError(
            f"Invalid {shortened(word)}: expected NAME=VALUE, and quotes around other characters than letters, "
            f"digits and -_. ({shortened(' '.join(error.message.split()))}), such as fold=0,1"
        ) from None
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        reason = "fewer brackets" if isinstance(error, RecursionError) else "an integer of at most 63 bits"
        name, _, value = word.partition("=")
        raise invalid(name, value, reason) from None
    if not one.key_or_group:
        raise InputError(f"Invalid {shortened(word)}: expected NAME=VALUE, such as fold=0")
    return one


_apply_overrides = ConfigLoaderImpl._apply_overrides_to_config


def apply_as_written(overrides: list[Override], config: DictConfig) -> None:
    """Apply overrides as Hydra does, also to options that are not there; an integer for a float is one."""
    for one in overrides:
        there = (
            None
            if one.is_delete()
            else OmegaConf.select(config, one.key_or_group, throw_on_missing=False, throw_on_resolution_failure=False)
        )
        if one.is_add() and there is not None and not isinstance(one.value(), dict | list):
            example = f"{one.key_or_group}={plain(one.value())}"
            raise invalid(f"+{one.key_or_group}", one.value(), "no + before an option that is there", example)
        of_user = not (one.is_delete() or one.is_hydra_override())
        kind = OverrideType.FORCE_ADD if of_user else one.type
        try:
            _apply_overrides([replace(one, type=kind, _value=_as_float(one._value, there))], config)
        except (HydraException, OmegaConfBaseException):
            raise
        except Exception as error:  # Hydra asserts and descends by what is given
            raise unreadable(str(one.input_line), error) from None


def unreadable(given: str, error: Exception) -> InputError:
    """The error for words that Hydra breaks down on."""
    return InputError(f"Invalid {shortened(given)}: expected what Hydra can compose ({line_of(error)}), such as fold=0")


def line_of(error: Exception) -> str:
    """Hydra's error in a line."""
    cause = f" ({error.__cause__})" if isinstance(error.__cause__, OmegaConfBaseException) else ""
    return " ".join(f"{error}{cause}".split()) or type(error).__name__


def _as_float(value: Any, there: Any) -> Any:
    if isinstance(value, list) and isinstance(there, ListConfig) and len(value) == len(there):
        return [_as_float(one, other) for one, other in zip(value, there, strict=True)]
    return float(value) if type(value) is int and isinstance(there, float) and abs(value) < 2**53 else value


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
