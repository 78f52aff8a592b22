"""A multirun, and the configs of its points, made from few compositions: Hydra takes a tenth of a second for each."""

import copy
import functools
import importlib.resources
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, Override, RangeSweep
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf, open_dict

from llp.config import rerun
from llp.config.composition import CheckedLoader
from llp.config.grouping_keys import grouping_key_node, read_columns
from llp.data.keys import KINDS, read_name
from llp.errors import InputError

MOST_POINTS = 1_000_000


class Multirun:
    """A multirun of `llp.train`: what it was given, its points, and their configs."""

    def __init__(self, loader: CheckedLoader, master: DictConfig) -> None:
        self._loader = loader
        self._master = master
        # what was given, but for Hydra's own options; points resolve interpolations
        self.overrides: Any = OmegaConf.to_container(master.hydra.overrides.task)
        self.params: dict[str, Any] = dict(master.hydra.sweeper.get("params") or {})  # what an experiment sweeps over
        self._bases: dict[tuple[str, ...], tuple[DictConfig, str]] = {}
        self._parsed = functools.cache(OverridesParser.create().parse_override)
        self._is_group = functools.cache(loader.is_group)
        self._is_made = functools.cache(self._made)
        self._key_node = functools.cache(grouping_key_node)

    def option(self, name: str) -> Any:
        """An option of its own config, or of Hydra's, as plain values."""
        value = OmegaConf.select(self._master, name)
        return OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value

    def config_files(self) -> dict[Path, int]:
        """When each YAML file of its points was written, in ns: Hydra reads them again for each point."""
        found = dict[Path, int]()
        for source in self.option("hydra.runtime.config_sources"):
            if source["schema"] == "file" or (source["schema"] == "pkg" and not source["path"].startswith("hydra")):
                place = source["path"]
                folder = Path(place if source["schema"] == "file" else str(importlib.resources.files(place)))
                paths = [path for path in folder.rglob("*.yaml") if path.parent != folder or path.name == "train.yaml"]
                found |= {path: path.stat().st_mtime_ns for path in paths}
        return found

    def points(self) -> list[list[str]]:
        """The overrides of its points: every combination of its options' values, 1 to `MOST_POINTS` of them."""
        given = [f"{name}={values}" for name, values in self.params.items()]
        parsed = OverridesParser.create(config_loader=self._loader).parse_overrides([*given, *self.overrides])
        if (n := math.prod({one.key_or_group: _n_values(one) for one in parsed}.values())) > MOST_POINTS:
            n_points = f"{n:,}" if math.isfinite(n) else "endlessly many"
            raise InputError(
                f"Invalid grid of {n_points} points: expected at most {MOST_POINTS:,}, such as seed=range(0,10)"
            )
        try:
            [points] = BasicSweeper.split_arguments(parsed, None)
        except HydraException as error:  # of intervals and the like
            raise InputError(
                "Invalid grid: it has an interval, of which a search (hydra/sweeper=optuna) chooses points as it goes; "
                "expected lists of values, such as optimizer.lr=0.001,0.01"
            ) from error
        if not points:
            raise InputError(
                "Invalid grid: expected values for every option, but one has none, such as fold=range(0,5)"
            )
        return points

    def compose(self, overrides: Sequence[str]) -> DictConfig:
        """The config of a point, without Hydra's node: the same as `ConfigLoader.load_sweep_config` makes."""
        parsed = [self._parsed(override) for override in overrides]
        choices = [one for one in parsed if self._is_choice(one)]
        values = [one for one in parsed if not self._is_choice(one)]
        made = next((str(one.value()) for one in choices if self._is_made_key(one)), None)
        config, key = copy.deepcopy(self._base(choices, made))
        if made is not None and config.grouping_key == self._key_node(_probe(made)):
            with open_dict(config):
                config.grouping_key = self._key_node(made)
        elif made is not None:  # a file changes the key's options: such a key is composed by Hydra
            config, key = copy.deepcopy(self._base(choices, None))
        self._loader.apply(values, config, self._master, overrides)
        read_columns(config, made or key)
        return config

    def _is_choice(self, override: Override) -> bool:
        """Whether an override chooses a file of a group, or the run whose groups they are."""
        return override.key_or_group == rerun.OPTION or (
            self._is_group(override.key_or_group) and not isinstance(override.value(), dict)
        )

    def _is_made_key(self, override: Override) -> bool:
        name = override.value()
        return override.input_line == f"grouping_key={name}" and isinstance(name, str) and self._is_made(name)

    def _made(self, name: str) -> bool:
        return not self._loader.has_file("grouping_key", name, self._master)

    def _base(self, choices: Sequence[Override], made: str | None) -> tuple[DictConfig, str]:
        """The composition of some choices, and the name of its grouping key."""
        lines = [str(one.input_line) for one in choices]
        if made is not None:
            lines = [
                f"grouping_key={_probe(made)}" if self._is_made_key(one) else line
                for one, line in zip(choices, lines, strict=True)
            ]
        key = tuple(lines)
        if key not in self._bases:
            config = self._loader.load_sweep_config(self._master, lines)
            name = str(config.hydra.runtime.choices.get("grouping_key"))
            with open_dict(config):
                del config["hydra"]
            self._bases[key] = config, name
        return self._bases[key]


def _probe(name: str) -> str:
    """The name of a key of the same kind that nobody has: what a composition changes in its node shows."""
    kind = KINDS[read_name(name)[0]]
    return kind.named(columns=("probe",), **dict.fromkeys(kind.integers(), 999983))


def _n_values(override: Override) -> float:
    """Number of an option's values; those of a glob are names, which are few."""
    sweep = override.value()
    if isinstance(sweep, ChoiceSweep):
        return len(sweep.list)
    if not isinstance(sweep, RangeSweep) or sweep.start is None or sweep.stop is None:
        return 1
    n = (sweep.stop - sweep.start) / sweep.step if sweep.step else math.inf
    return max(0, math.ceil(n)) if math.isfinite(n) else math.inf
