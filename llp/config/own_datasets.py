"""Datasets made from own files, found by name in `data_dir`, as the command line or the environment gives it."""

import os
import re
import sys
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from hydra.core.object_type import ObjectType
from hydra.plugins.config_source import ConfigResult, ConfigSource
from omegaconf import DictConfig, OmegaConf

from llp.data.table import Schema, read_schema
from llp.errors import InputError

MADE_BY = "llp.datasets.files.prepare.prepare"
LEARNING_RATE, PATIENCE = 1e-3, 3


def data_dir() -> Path:
    """The folder of the prepared tables, by the command line or the environment."""
    given = [word.partition("=")[2] for word in sys.argv[1:] if word.startswith("data_dir=")]
    return Path((given or [os.environ.get("LLP_DATA_DIR", "data")])[-1].strip("'\"")).absolute()


def dataset_node(name: str, schema: Schema) -> dict[str, Any]:
    """The `dataset` group of a table that was made from own files."""
    parts = [column for column in schema.categorical if column.transform != "missing"]
    return {
        "name": name,
        "table": name,
        "label_kind": schema.label_kind,
        "key_columns": [column.name for column in parts],
        "embedded": False,
        "learning_rate": LEARNING_RATE,
        "patience": PATIENCE,
        "source": "your own files",
        "prepare": schema.made_by,
    }


def literal(value: Any) -> Any:
    r"""Text from data or a file as OmegaConf takes it for itself, also inside lists and groups: never an interpolation.

    >>> OmegaConf.to_container(OmegaConf.create(literal({"a": ["${oc.env:HOME}", "???"]})), resolve=True)
    {'a': ['${oc.env:HOME}', '???']}
    """
    if isinstance(value, Mapping):
        return {name: literal(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [literal(one) for one in value]
    if value == "???":  # which would be a value that is missing
        return """${oc.decode:"'???'"}"""
    return re.sub(r"(\\*)\$\{", r"\1\1\\${", value) if isinstance(value, str) else value


class GroupSource(ConfigSource):
    """A Hydra config source that makes the options of one group from their names."""

    group: ClassVar[str]

    @abstractmethod
    def node(self, name: str) -> DictConfig:
        """Make the node of an option."""

    @abstractmethod
    def names(self) -> list[str]:
        """Names of the options, for shell completion."""

    def load_config(self, config_path: str) -> ConfigResult:
        """See `ConfigSource`."""
        return ConfigResult(self.provider, self.path, self.node(self.name_of(config_path)), {"package": None})

    def available(self) -> bool:
        """See `ConfigSource`."""
        return True

    def is_group(self, config_path: str) -> bool:
        """See `ConfigSource`."""
        return config_path.strip("/") in ("", self.group)

    def is_config(self, config_path: str) -> bool:
        """See `ConfigSource`; also an option that cannot be: its error then says what fits."""
        return config_path.startswith(f"{self.group}/")

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        """See `ConfigSource`."""
        return self.names() if config_path.strip("/") == self.group and results_filter is not ObjectType.GROUP else []

    def name_of(self, config_path: str) -> str:
        """The option's name in a path."""
        return self._normalize_file_name(config_path).removeprefix(f"{self.group}/").removesuffix(".yaml")


class OwnDatasetSource(GroupSource):
    """A Hydra config source that holds every own dataset of a folder of tables by its name."""

    group = "dataset"

    @staticmethod
    def scheme() -> str:
        """Scheme of its search path entry."""
        return "llp-data"

    def node(self, name: str) -> DictConfig:
        """Make the node of `dataset/<name>`."""
        schema = read_schema(Path(self.path) / name)
        if (target := schema.made_by.get("_target_")) != MADE_BY:
            raise InputError(f"{self.path}/{name} names {target!r} as what made it, not {MADE_BY}: it is not called")
        key = [{"override /grouping_key@_global_.grouping_key": "given"}] if schema.given_bags else []
        return OmegaConf.create({"defaults": key, **literal(dataset_node(name, schema))})

    def is_config(self, config_path: str) -> bool:
        """Whether the path names an own dataset."""
        return super().is_config(config_path) and self.name_of(config_path) in self.names()

    def names(self) -> list[str]:
        """Names of the datasets in the folder that were made from own files."""
        return sorted(path.parent.name for path in Path(self.path).glob("[!.]*/recipe.json"))
