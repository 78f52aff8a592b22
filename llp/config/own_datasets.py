"""Datasets made from own files, found by name in `data_dir`, as the command line or the environment gives it."""

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hydra.core.object_type import ObjectType
from hydra.plugins.config_source import ConfigResult, ConfigSource
from omegaconf import OmegaConf

from llp.data.table import Schema, read_schema
from llp.errors import InputError

MADE_BY = "llp.datasets.files.prepare.prepare"
LEARNING_RATE, PATIENCE = 1e-3, 3

_GROUP = "dataset"


def data_dir() -> Path:
    """The folder of the prepared tables, by the command line or the environment."""
    given = [word.partition("=")[2] for word in sys.argv[1:] if word.startswith("data_dir=")]
    return Path((given or [os.environ.get("LLP_DATA_DIR", "data")])[-1].strip("'\"")).absolute()


def own_names(folder: Path) -> list[str]:
    """Names of the datasets in a folder that were made from own files."""
    return sorted(path.parent.name for path in folder.glob("[!.]*/recipe.json"))


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


class OwnDatasetSource(ConfigSource):
    """A Hydra config source that holds every own dataset of a folder of tables by its name."""

    @staticmethod
    def scheme() -> str:
        """Scheme of its search path entry."""
        return "llp-data"

    def load_config(self, config_path: str) -> ConfigResult:
        """Make the node of `dataset/<name>`."""
        name = self._name(config_path)
        schema = read_schema(Path(self.path) / name)
        if (target := schema.made_by.get("_target_")) != MADE_BY:
            raise InputError(f"{self.path}/{name} names {target!r} as what made it, not {MADE_BY}: it is not called")
        key = [{"override /grouping_key@_global_.grouping_key": "given"}] if schema.given_bags else []
        node = OmegaConf.create({"defaults": key, **literal(dataset_node(name, schema))})
        return ConfigResult(provider=self.provider, path=self.path, config=node, header={"package": None})

    def available(self) -> bool:
        """Say that the source is there."""
        return True

    def is_group(self, config_path: str) -> bool:
        """Whether the path is the group of datasets."""
        return config_path.strip("/") in ("", _GROUP)

    def is_config(self, config_path: str) -> bool:
        """Whether the path names an own dataset."""
        return config_path.startswith(f"{_GROUP}/") and self._name(config_path) in own_names(Path(self.path))

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        """Name the own datasets."""
        if config_path.strip("/") != _GROUP or results_filter is ObjectType.GROUP:
            return []
        return own_names(Path(self.path))

    def _name(self, config_path: str) -> str:
        return self._normalize_file_name(config_path).removeprefix(f"{_GROUP}/").removesuffix(".yaml")
