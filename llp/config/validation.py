"""A composed config against its models: the first thing that is wrong becomes an error of one line."""

import copy
import functools
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException
from pydantic import ValidationError

from llp.config.commands import COMMANDS, TrainConfig, name_of
from llp.config.expected import JsonSchema, example_of, in_words
from llp.config.grouping_keys import options
from llp.config.options import check_depth, check_size, nearest, unknown_option, wrong_value
from llp.config.rerun import IDENTITY, OPTION, identity_of
from llp.config.schema import AnyConfig, DatasetConfig
from llp.errors import InputError, choice, invalid, missing, plain
from llp.files import YAML_DEPTH

Plain = dict[str, Any]


def validate(config: DictConfig, model: type[AnyConfig]) -> AnyConfig:
    """Hold a composed config against its command's model.

    Parameters
    ----------
    config : DictConfig
        What Hydra composed, without its own node.
    model : type
        The command's model.

    Returns
    -------
    ConfigGroup
        The command's model, filled.

    Raises
    ------
    InputError
        Says what was given, what is expected, and how to write it.
    """
    command, written = name_of(model), _content(config, resolve=False)
    for name, value in written.items():
        check_depth(name, value)
    _check_groups(command, written)
    own = _own_options(command, written)
    try:
        given = _content(config, resolve=True)
    except OmegaConfBaseException as error:  # the value that is missing may be there under a misspelt name
        raise _first_error(command, written, own, only_unknown=True) or _interpolation_error(written, error) from None
    identity = copy.deepcopy(identity_of(given)) if model is TrainConfig and {*IDENTITY} <= given.keys() else {}
    _name_columns(given)
    wrong = _first_error(command, given, own)
    if wrong is not None:
        raise wrong
    for name, value in given.items():
        check_size(name, value)
    checked = model.model_validate(_without(given, own))
    return checked.identified(identity) if isinstance(checked, TrainConfig) else checked


def _content(config: DictConfig, *, resolve: bool) -> Plain:
    try:
        content = OmegaConf.to_container(config, resolve=resolve, throw_on_missing=resolve)
    except RecursionError:
        raise InputError(f"Invalid config: expected lists and groups nested at most {YAML_DEPTH} deep") from None
    assert isinstance(content, dict)
    return {str(name): value for name, value in content.items()}


def _check_groups(command: str, written: Plain) -> None:
    """Refuse null, a value or nothing at all in the place of a group."""
    for group, schema in _schema(command)["properties"].items():
        if ("$ref" in schema or "discriminator" in schema) and not isinstance(written.get(group), dict):
            names = ["COLUMN_COLUMN", "random_256"] if group == "grouping_key" else options(group)
            raise invalid(group, written.get(group), choice(names), names[-1])


def _name_columns(given: Plain) -> None:
    """Make texts of column names that YAML reads as numbers."""
    for group, name in (("dataset", "key_columns"), ("grouping_key", "columns")):
        node = given.get(group)
        if isinstance(node, dict) and isinstance(node.get(name), list):
            node[name] = [str(one) if type(one) is int else one for one in node[name]]


def _interpolation_error(written: Plain, error: OmegaConfBaseException) -> InputError:
    """What an interpolation that leads nowhere comes from; `written` is the content with interpolations as texts."""
    dataset, key = (written.get(name) for name in ("dataset", "grouping_key"))
    labels = dataset.get("labels") if isinstance(dataset, dict) else None
    if isinstance(dataset, dict) and isinstance(labels, dict) and labels and dataset.get("label") not in list(labels):
        return invalid("dataset.label", dataset.get("label"), choice(list(labels)), next(iter(labels)))
    if isinstance(error, MissingMandatoryValue) and not str(error.full_key).startswith("grouping_key."):
        return InputError(f"Missing {error.full_key}: expected a value, such as {error.full_key}=VALUE")
    if isinstance(key, dict):
        of_columns = key.get("kind") in ("feature", "fixed")
        known = dataset.get("key_columns") if isinstance(dataset, dict) else None
        if of_columns and key.get("columns") in (None, [], "???") and isinstance(known, list):
            return no_columns(known)
        if key.get("bag_size") == "???":
            short = "grouping_key.bag_size=256" if of_columns else f"grouping_key={key.get('kind')}_256"
            return InputError(f"Missing grouping_key.bag_size: expected the size of its bags, such as {short}")
    return InputError(" ".join(str(error).split()))


def no_columns(key_columns: Iterable[Any]) -> InputError:
    """The error for a grouping key without its columns, which are some of a dataset's."""
    known = [str(column) for column in key_columns]
    example = f"grouping_key.columns={plain(known[:2])}"
    return invalid("grouping_key.columns", [], f"columns of {', '.join(known)}", example)


def _own_options(command: str, written: Plain) -> dict[str, set[str]]:
    """By group the options of a YAML file's own: those that an interpolation reads, so that none is without effect."""
    texts = " ".join(re.findall(r"\$\{.*\}", json.dumps(written)))
    own = {"": set(re.findall(r"\$\{(\w+)\}", texts)) & set(written) - set(COMMANDS[command].model_fields)}
    if isinstance(dataset := written.get("dataset"), dict):
        read = set(re.findall(r"(?:dataset\.|\$\{\.+)(\w+)", texts))
        again = written.get(OPTION) is not None  # a run's config has no interpolations left
        own["dataset"] = (set(dataset) if again else read & set(dataset)) - set(DatasetConfig.model_fields)
    return own


def _without(given: Plain, own: dict[str, set[str]]) -> Plain:
    """The content without what a YAML file has of its own."""
    return {name: value for name, value in given.items() if name not in own[""]}


@dataclass(frozen=True)
class _Place:
    """Where something is wrong: the path to it, what is there, what its schema and its group's schema say."""

    path: list[str]
    value: Any
    schema: JsonSchema
    group: JsonSchema

    @property
    def name(self) -> str:
        return ".".join(self.path)


def _first_error(
    command: str, given: Plain, own: dict[str, set[str]], *, only_unknown: bool = False
) -> InputError | None:
    """The error for the user, if any: an unknown option first, since what is missing may be that one, misspelt."""
    try:
        COMMANDS[command].model_validate(_without(given, own))
        errors = []
    except ValidationError as error:
        errors = error.errors()
    unknown = [one["loc"] for one in errors if one["type"] == "extra_forbidden"]
    if "dataset" in own:  # whose YAML file may have options of its own
        others = given["dataset"].keys() - own["dataset"] - DatasetConfig.model_fields.keys()
        unknown += [("dataset", name) for name in given["dataset"] if name in others]
    if unknown:
        return _unknown(command, given, _find(command, given, unknown[0]), own)
    if only_unknown or not errors:
        return None
    first = errors[0]
    place = _find(command, given, first["loc"])
    if first["type"] == "missing":
        return missing(place.name, in_words(place.schema), example_of(place.schema))
    if first["type"].startswith("union_tag"):  # the option that says which kind of group it is
        tag = place.schema["discriminator"]["propertyName"]
        kinds = list(place.schema["discriminator"]["mapping"])
        return invalid(f"{place.name}.{tag}", place.value.get(tag), choice(kinds), kinds[0])
    return wrong_value(place.name, place.value, place.schema)


def _find(command: str, given: Plain, location: tuple[int | str, ...]) -> _Place:
    """Follow an error's location through the schema, as far as options have names."""
    schema = group = _schema(command)
    definitions, path = schema.get("$defs", {}), list[str]()
    value: Any = given
    for part in location:
        schema, tag = _object(schema, value, definitions)
        if part == tag:
            continue
        if "properties" not in schema:
            break
        path.append(str(part))
        group, value = schema, value.get(part) if isinstance(value, dict) else None
        schema = schema["properties"].get(str(part), {})
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    return _Place(path, value, schema, group)


def _object(schema: JsonSchema, value: Any, definitions: JsonSchema) -> tuple[JsonSchema, str | None]:
    """The schema behind a reference, an optional group or one of several kinds, and the kind's name."""
    tag = None
    if "discriminator" in schema:
        tag = value[schema["discriminator"]["propertyName"]]
        schema = {"$ref": schema["discriminator"]["mapping"].get(tag, "")}
    schema = next((one for one in schema.get("anyOf", []) if "$ref" in one), schema)
    return definitions.get(schema.get("$ref", "").rpartition("/")[2], schema), tag


@functools.cache
def _schema(command: str) -> JsonSchema:
    return COMMANDS[command].model_json_schema()


def _unknown(command: str, given: Plain, place: _Place, own: dict[str, set[str]]) -> InputError:
    """The error for an option that nothing reads, with the nearest one: here or, by the same name, elsewhere."""
    *groups, name = place.path
    there = set(place.group["properties"]) | own.get(".".join(groups), set())
    others = [path for path in _paths(given) if path != place.path]
    same = next((path for path in others if path[-1] == name), None)
    near = same or [*groups, nearest(name, there) or name]
    commands = [f"llp.{other}" for other in COMMANDS if not groups and name in _schema(other)["properties"]]
    if commands:
        example = f"python -m {commands[0]} {name}={plain(place.value)}"
        return unknown_option(place.name, place.value, there, example, f"llp.{command}, not of {choice(commands)}")
    value: Any = given
    for part in near:
        value = value.get(part, "VALUE") if isinstance(value, dict) else "VALUE"
    if isinstance(value, dict):
        value = value.get("name", "NAME")
    if value == "???":
        value = "VALUE"
    return unknown_option(
        place.name, place.value, there, f"{'.'.join(near)}={plain(value)}", "" if groups else f"llp.{command}"
    )


def _paths(node: Plain, above: tuple[str, ...] = ()) -> Iterator[list[str]]:
    for name, value in node.items():
        yield [*above, str(name)]
        if isinstance(value, dict):
            yield from _paths(value, (*above, str(name)))
