"""Where the configuration lies, and grouping keys by name (C3_C11, random_64, ...), of which no YAML files exist."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, ListConfig, OmegaConf
from pydantic import ValidationError

from llp.config.complaints import complaint
from llp.config.own_datasets import GroupSource, literal
from llp.data.keys import KINDS, GroupingKey, read_name

_PACKAGE = Path(__file__).resolve().parents[1]
# a wheel carries the configuration inside the package, a checkout beside it
CONF_DIR = _PACKAGE / "conf" if (_PACKAGE / "conf").is_dir() else _PACKAGE.parent / "conf"

_GROUP = "grouping_key"
BAG_SIZES = (64, 128, 256, 512)


def options(group: str, folders: Iterable[Path] = (CONF_DIR,)) -> list[str]:
    """Names of the YAML files of one config group, in the program's folder or in several."""
    return sorted({path.stem for folder in folders for path in (folder / group).glob("*.yaml")})


def read_option(name: str) -> DictConfig:
    """Read the YAML file of an option, by GROUP/NAME."""
    node = OmegaConf.load(CONF_DIR / f"{name}.yaml")
    assert isinstance(node, DictConfig)
    return node


def grouping_key_node(name: str) -> DictConfig:
    """Make the config node of a key's name: its kind's YAML file with the columns and the bag size filled in.

    >>> grouping_key_node("fixed_C3_C11_128")["columns"]
    ['C3', 'C11']
    """
    kind, given = read_name(name)
    node = read_option(f"{_GROUP}/{kind}")
    node.update(given)
    return node


def readings(name: str, known: Sequence[str]) -> Iterator[list[str]]:
    """The ways to read a key's name as known columns side by side.

    >>> list(readings("home_town_age", ["home_town", "home", "town_age", "age"]))
    [['home_town', 'age'], ['home', 'town_age']]
    """
    for column in known:
        if name == column:
            yield [column]
        elif name.startswith(f"{column}_"):
            yield from ([column, *rest] for rest in readings(name.removeprefix(f"{column}_"), known))


def named_key(name: str, key_columns: Sequence[str]) -> GroupingKey:
    """The key of a name, with its kind's other options as their YAML file has them.

    Parameters
    ----------
    name : str
        Such as C3_C11 or random_64.
    key_columns : sequence of str
        The dataset's: see `read_columns`.

    Raises
    ------
    InputError
        No bag can have the size that it says.
    """
    config = OmegaConf.create({_GROUP: grouping_key_node(name), "dataset": {"key_columns": literal([*key_columns])}})
    read_columns(config, name)
    node: Any = OmegaConf.to_container(config[_GROUP], resolve=True)
    try:
        return KINDS[node["kind"]].model_validate(node)
    except ValidationError as error:
        raise complaint(error, node, KINDS[node["kind"]].model_json_schema(), _GROUP) from None


def read_columns(config: DictConfig, name: str) -> None:
    """Give a key made from its name the dataset's columns, where it can be read in one way with underscores."""
    key, dataset = config.get("grouping_key"), OmegaConf.select(config, "dataset")
    if not (isinstance(key, DictConfig) and isinstance(dataset, DictConfig)):  # names, of commands that read no data
        return
    columns = OmegaConf.select(dataset, "key_columns")  # plain, as ListConfig takes a column ??? for a missing value
    known: Any = OmegaConf.to_container(columns, resolve=True) if isinstance(columns, ListConfig) else []
    parts = [str(column) for column in key.get("columns", [])]
    joined = "_".join(parts)
    if not set(parts) <= set(known) and joined in name:
        found = list(itertools.islice(readings(joined, [str(column) for column in known]), 2))
        if len(found) == 1:
            key.columns = literal(found[0])


class GroupingKeySource(GroupSource):
    """A Hydra config source that holds every grouping key by its name."""

    group = _GROUP

    @staticmethod
    def scheme() -> str:
        """Scheme of its search path entry."""
        return "llp-keys"

    def node(self, name: str) -> DictConfig:
        """Make the node of `grouping_key/<name>`."""
        return grouping_key_node(name)

    def names(self) -> list[str]:
        """Names of the keys of the datasets that ship with the package."""
        names = set[str]()
        for dataset in options("dataset"):
            columns = list(read_option(f"dataset/{dataset}").get("key_columns", []))
            chosen = [(), *itertools.combinations(columns, 1), *itertools.combinations(columns, 2)]
            for key in KINDS.values():
                of = key.integers()
                names.update(key.named(columns=some, **dict.fromkeys(of, n)) for some in chosen for n in BAG_SIZES)
        return sorted(names)


def key_of(node: dict[str, Any]) -> GroupingKey:
    """The grouping key of a config's plain node, which is not checked here."""
    named = {"columns": tuple(map(str, node["columns"]))} if "columns" in node else {}
    return KINDS[node["kind"]].model_construct(**node | named)
