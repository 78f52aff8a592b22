"""Checks of the options that a config gives to a class or a function: by the type hints of what is called."""

import inspect
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Annotated, Any, get_type_hints

from pydantic import ConfigDict, Field, PositiveInt, TypeAdapter, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema

from llp.config.complaints import complaint, unknown_option
from llp.errors import InputError, invalid, missing, nearest, plain
from llp.files import YAML_DEPTH

Share = Annotated[float, Field(ge=0, le=1)]
ProperShare = Annotated[float, Field(ge=0, lt=1)]
Widths = Annotated[Sequence[PositiveInt], Field(min_length=1)]

_FINITE = ConfigDict(allow_inf_nan=False, arbitrary_types_allowed=True)
HYDRAS = ("_target_", "_partial_")  # of a group that names what is called
LARGEST = 2**63 - 1  # integer that arrays, data frames and random generators hold


def check_value(name: str, value: Any, hint: Any) -> None:
    """Refuse a value that is not what its type hint says; a plain one, as it comes from YAML."""
    adapter: TypeAdapter[Any] = TypeAdapter(hint, config=_FINITE)
    try:  # strict JSON mode accepts a list for a tuple, but no string for a number
        adapter.validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        try:
            schema = adapter.json_schema()
        except PydanticInvalidForJsonSchema:  # of a class of a user's own
            schema = {}
        raise complaint(error, value, schema, name) from None
    check_size(name, value)


def places(name: str, value: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """A plain value and all inside it, with the option that holds it; InputError where it is nested too deeply."""
    if len(above) == YAML_DEPTH:
        raise InputError(f"Invalid {above[0]}: expected lists and groups nested at most {YAML_DEPTH} deep")
    yield name, value
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from places(f"{name}.{key}", one, (*above, name))
    elif isinstance(value, list | tuple):
        for one in value:
            yield from places(name, one, (*above, name))


def check_size(name: str, value: Any) -> None:
    """Refuse integers, also inside lists and groups, that take more than 64 bits, and what is nested too deeply."""
    for option, one in places(name, value):
        if isinstance(one, int) and abs(one) > LARGEST:
            raise invalid(option, one, "an integer of at most 63 bits")


def check_options(
    group: str, target: Callable[..., Any], options: Mapping[str, Any], given: Collection[str] = ()
) -> None:
    """Refuse options (of `group`) that a class or function does not take, lacks, or that its hints exclude."""
    hints, required = _parameters(target)
    own = {name: value for name, value in options.items() if name not in HYDRAS}
    takes = set(hints) - set(given)
    for name, value in own.items():
        if name not in hints:
            near = nearest(name, takes)
            example = f"{group}.{near}={plain(own.get(near, 'VALUE'))}" if near else f"~{group}.{name}"
            raise unknown_option(f"{group}.{name}", value, takes, example, target.__qualname__)
        for _, nested in places(name, value):
            if isinstance(nested, Mapping) and "_target_" in nested:
                raise invalid(f"{group}.{name}", nested, "plain values, as an option has no _target_ of its own")
        check_value(f"{group}.{name}", value, hints[name])
    lacking = required - set(own) - set(given)
    if lacking:
        name = min(lacking)
        raise missing(f"{group}.{name}", f"what {target.__qualname__} needs", "VALUE")


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
