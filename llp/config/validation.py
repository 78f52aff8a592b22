"""A composed config against its models: the first thing that is wrong becomes an error of one line."""

import copy
import functools
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException
from pydantic import ValidationError

from llp.config.commands import COMMANDS, PrepareConfig, TrainConfig, name_of
from llp.config.complaints import complaint, place, unknown_option
from llp.config.grouping_keys import options, read_option
from llp.config.options import check_size
from llp.config.rerun import CHOSEN, IDENTITY, OPTION, identity_of
from llp.config.schema import AnyConfig, ConfigGroup, DatasetConfig
from llp.data.keys import KINDS, RandomKey
from llp.errors import InputError, choice, invalid, nearest, plain
from llp.files import YAML_DEPTH

Plain = dict[str, Any]


def validate(config: DictConfig, model: type[AnyConfig]) -> AnyConfig:
    """Hold a composed config, without Hydra's own node, against its command's model, which is returned filled."""
    written = _content(config, resolve=False)
    for name, value in written.items():
        check_size(name, value)
    own = _own_options(model, written)
    try:
        given = _content(config, resolve=True)
    except OmegaConfBaseException as error:  # the value that is missing may be there under a misspelt name
        raise _unknown(model, written, own) or _interpolation_error(written, error) from None
    identity = copy.deepcopy(identity_of(given)) if model is TrainConfig and {*IDENTITY} <= given.keys() else {}
    _name_columns(given)
    if unknown := _unknown(model, given, own):  # first, since what is missing may be that one, misspelt
        raise unknown
    try:
        checked = model.model_validate(_without(given, own))
    except ValidationError as error:
        raise _wrong_group(error, given) or complaint(error, given, model.model_json_schema()) from None
    for name, value in given.items():
        check_size(name, value)
    return checked.identified(identity) if isinstance(checked, TrainConfig) else checked


def _content(config: DictConfig, *, resolve: bool) -> Plain:
    try:
        content = OmegaConf.to_container(config, resolve=resolve, throw_on_missing=resolve)
    except RecursionError:
        raise InputError(f"Invalid config: expected lists and groups nested at most {YAML_DEPTH} deep") from None
    assert isinstance(content, dict)
    return {str(name): value for name, value in content.items()}


def _wrong_group(error: ValidationError, given: Plain) -> InputError | None:
    """The error for null, a value, nothing at all or options alone in the place of a group."""
    first = error.errors()[0]
    group, *inside = first["loc"]
    names = ["COLUMN_COLUMN", "random_256"] if group == "grouping_key" else options(str(group))
    if group in CHOSEN and inside and first["type"] == "missing":  # no file of the group is chosen
        expected = f"{group}={choice(names)} beside the group's options, such as {group}={names[0]}"
        return InputError(f"Missing {group}.{inside[0]}: expected {expected}")
    if not names or isinstance(given.get(str(group)), dict) or inside:
        return None
    return invalid(str(group), given.get(str(group)), choice(names), names[-1])


def _name_columns(given: Plain) -> None:
    """Make texts of column names that YAML reads as numbers."""
    for group, name in (("dataset", "key_columns"), ("grouping_key", "columns")):
        node = given.get(group)
        if isinstance(node, dict) and isinstance(node.get(name), list):
            node[name] = [str(one) if type(one) is int else one for one in node[name]]


def _interpolation_error(written: Plain, error: OmegaConfBaseException) -> InputError:
    """The error for an interpolation that leads nowhere; `written` is the content with interpolations as texts."""
    dataset, key = (written.get(name) for name in ("dataset", "grouping_key"))
    labels = dataset.get("labels") if isinstance(dataset, dict) else None
    if isinstance(dataset, dict) and isinstance(labels, dict) and labels and dataset.get("label") not in list(labels):
        return invalid("dataset.label", dataset.get("label"), choice(list(labels)), next(iter(labels)))
    if isinstance(error, MissingMandatoryValue) and not str(error.full_key).startswith("grouping_key."):
        return InputError(f"Missing {error.full_key}: expected a value, such as {error.full_key}=VALUE")
    if isinstance(key, dict):
        kind = KINDS.get(str(key.get("kind")), RandomKey)
        of_columns = "columns" in kind.model_fields
        known = dataset.get("key_columns") if isinstance(dataset, dict) else None
        if of_columns and key.get("columns") in (None, [], "???") and isinstance(known, list):
            return no_columns(known)
        for option in (one for one in kind.integers() if key.get(one) == "???"):
            whole = kind.named(columns=(), **dict.fromkeys(kind.integers(), 256))
            short = f"grouping_key.{option}=256" if of_columns else f"grouping_key={whole}"
            what = "the size of its bags" if option == "bag_size" else "an integer"
            return InputError(f"Missing grouping_key.{option}: expected {what}, such as {short}")
    return InputError(" ".join(str(error).split()))


def no_columns(key_columns: Iterable[Any]) -> InputError:
    """The error for a grouping key without its columns, which are some of a dataset's."""
    known = [str(column) for column in key_columns]
    example = f"grouping_key.columns={plain(known[:2])}"
    return invalid("grouping_key.columns", [], f"columns of {', '.join(known)}", example)


def _own_options(model: type[ConfigGroup], written: Plain) -> dict[str, set[str]]:
    """By group the options of a YAML file's own: those that an interpolation reads, so that none is without effect."""
    texts = " ".join(re.findall(r"\$\{.*\}", json.dumps(written)))
    own = {"": set(re.findall(r"\$\{(\w+)\}", texts)) & set(written) - set(model.model_fields)}
    if isinstance(dataset := written.get("dataset"), dict):
        read = set(re.findall(r"(?:dataset\.|\$\{\.+)(\w+)", texts))
        again = written.get(OPTION) is not None  # a run's config has no interpolations left
        own["dataset"] = (set(dataset) if again else read & set(dataset)) - set(DatasetConfig.model_fields)
    return own


def _without(given: Plain, own: dict[str, set[str]]) -> Plain:
    """The content without what a YAML file has of its own."""
    return {name: value for name, value in given.items() if name not in own[""]}


def _unknown(model: type[ConfigGroup], given: Plain, own: dict[str, set[str]]) -> InputError | None:
    """The error for an option that nothing reads, with the nearest one: here or, by the same name, elsewhere."""
    unknown = _unknown_paths(model, given, own)
    if not unknown:
        return None
    *groups, name = unknown[0]
    group: Any = functools.reduce(lambda node, part: node[part], groups, given)
    there = {one for one in group if [*groups, one] not in unknown}
    others = [path for path in _paths(given) if path not in unknown]
    near = next((path for path in others if path[-1] == name), None) or [*groups, nearest(name, there) or name]
    option, value = ".".join([*groups, name]), group[name]
    commands = [f"llp.{other}" for other, one in COMMANDS.items() if not groups and name in one.model_fields]
    of_files = name in [*read_option("dataset/files")] and (name == "name" or ["dataset", name] not in others)
    if not groups and issubclass(model, TrainConfig | PrepareConfig) and of_files:
        return unknown_option(option, value, there, f"dataset=files {name}={plain(value)}", f"llp.{name_of(model)}")
    if commands:
        example = f"python -m {commands[0]} {name}={plain(value)}"
        return unknown_option(option, value, there, example, f"llp.{name_of(model)}, not of {choice(commands)}")
    right: Any = functools.reduce(lambda node, part: node.get(part, {}) if isinstance(node, dict) else {}, near, given)
    if isinstance(right, dict):
        right = right.get("name", "VALUE")
    example = f"{'.'.join(near)}={plain('VALUE' if right in ('???', None) else right)}"
    return unknown_option(option, value, there, example, "" if groups else f"llp.{name_of(model)}")


def _unknown_paths(model: type[ConfigGroup], given: Plain, own: dict[str, set[str]]) -> list[list[str]]:
    """Options that nothing reads: neither the command's model nor an interpolation of a YAML file's own."""
    try:
        model.model_validate(_without(given, own))
        unknown = []
    except ValidationError as error:
        unknown = [place(one, given)[0] for one in error.errors() if one["type"] == "extra_forbidden"]
    if "dataset" in own:
        read = own["dataset"] | DatasetConfig.model_fields.keys()
        unknown += [["dataset", name] for name in given["dataset"] if name not in read]
    return unknown


def _paths(node: Plain, above: tuple[str, ...] = ()) -> Iterator[list[str]]:
    for name, value in node.items():
        yield [*above, str(name)]
        if isinstance(value, dict):
            yield from _paths(value, (*above, str(name)))
