"""Checks of the options that a config gives to a class or a function: by the type hints of what is called.

A hint says what fits: `PositiveInt`, `Literal["soft", "hard"]`, `Share`. So a wrong value is told before any work, and
a user's own method or model has its options checked by the hints that it carries.
"""

import inspect
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Annotated, Any, get_type_hints

from pydantic import ConfigDict, Field, PositiveInt, TypeAdapter, ValidationError

from llp.errors import InputError

Share = Annotated[float, Field(ge=0, le=1)]
Widths = Annotated[Sequence[PositiveInt], Field(min_length=1)]

_FINITE = ConfigDict(allow_inf_nan=False, arbitrary_types_allowed=True)


def check_value(name: str, value: Any, hint: Any) -> None:
    """Refuse a value that is not what its type hint says; a plain one, as it comes from YAML.

    Raises
    ------
    InputError
        Says what was given and what fits.
    """
    try:  # as JSON a list fits a tuple, and strict then means that no text fits a number
        TypeAdapter(hint, config=_FINITE).validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        raise InputError(f"{name}={value} does not fit{_remedy(name, error)}") from None


def _remedy(name: str, error: ValidationError) -> str:
    first = error.errors()[0]
    if first["type"] == "literal_error":
        choices: str = first["ctx"]["expected"]  # in quotes
        return f"; write {name}=" + choices.replace("'", "")
    return f": {reason(error)}"


def reason(error: ValidationError) -> str:
    """What fits, in a line: the first complaint."""
    message: str = error.errors()[0]["msg"]
    return message.replace("Input should", "it should", 1)


def find_target(group: str, path: str) -> Callable[..., Any]:
    """What a `_target_` names.

    Raises
    ------
    InputError
        It cannot be imported.
    """
    from hydra.utils import get_object

    try:
        target: Callable[..., Any] = get_object(path)
    except (ImportError, ValueError) as error:
        raise InputError(f"{group}._target_={path} does not fit: {' '.join(str(error).split())}") from error
    return target


def check_options(
    group: str, target: Callable[..., Any], options: Mapping[str, Any], given: Collection[str] = ()
) -> None:
    """Refuse options that a class or a function does not take, lacks, or that do not fit its type hints.

    Parameters
    ----------
    group : str
        Where the options are in the config, such as 'method'.
    target : callable
        What they are for.
    options : Mapping
        Plain values by name. Hydra's own (`_partial_`) and nodes that name a target of their own are left alone.
    given : collection of str
        Parameters that the program fills.

    Raises
    ------
    InputError
        Says what was given and what fits.
    """
    hints, required = _parameters(target)
    own = {name: value for name, value in options.items() if not name.startswith("_")}
    for name, value in own.items():
        if name not in hints:
            fits = ", ".join(sorted(set(hints) - set(given))) or "none"
            raise InputError(f"{group}.{name}={value} does not fit: {target.__qualname__} takes {fits}")
        if not (isinstance(value, Mapping) and "_target_" in value):
            check_value(f"{group}.{name}", value, hints[name])
    missing = required - set(own) - set(given)
    if missing:
        name = min(missing)
        raise InputError(f"{group}.{name} is missing, which {target.__qualname__} needs; write +{group}.{name}=VALUE")


def _parameters(target: Callable[..., Any]) -> tuple[dict[str, Any], set[str]]:
    """Type hints by name and the names without a default; also those to which a class passes **keywords on."""
    constructors = [vars(one)["__init__"] for one in getattr(target, "__mro__", ()) if "__init__" in vars(one)]
    hints: dict[str, Any] = {}
    required: set[str] = set()
    for function in constructors or [target]:
        parameters = [one for one in inspect.signature(function).parameters.values() if one.name != "self"]
        named = {one.name: one for one in parameters if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)}
        known = _hints(function)
        hints = {name: known.get(name, Any) for name in named} | hints
        required |= {name for name, one in named.items() if one.default is one.empty}
        if not any(one.kind is one.VAR_KEYWORD for one in parameters):
            break
    return hints, required


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except NameError:  # names that only a type checker imports
        return {}
