"""Configs of a grid's points, made from few compositions: Hydra takes a tenth of a second for each.

Hydra composes the chosen files of all groups and then applies the other overrides, in their order. So points with the
same choices share a composition, to which each one's overrides are applied, by Hydra's own function. Grouping keys
that are made from their names (`llp.config.grouping_keys`) share one per kind: a key's node is put in its place.
"""

import copy
import functools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hydra._internal.utils import create_config_search_path
from hydra.core.config_search_path import SearchPathQuery
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from llp.config import rerun
from llp.config.checks import check_config
from llp.config.commands import TrainConfig
from llp.config.composition import CheckedLoader
from llp.config.grouping_keys import CONF_DIR, grouping_key_node, key_of, read_columns
from llp.config.launchers import forget_namesakes

# names of keys that nobody has: what a composition changes in their nodes shows
_PROBES = {"feature": "probe", "fixed": "fixed_probe_999983", "random": "random_999983", "prior": "prior_999983"}


class Points:
    """Composes the points of one multirun.

    Parameters
    ----------
    loader : CheckedLoader
        Hydra's config loader.
    master : DictConfig
        The multirun's own config, with Hydra's node.
    """

    def __init__(self, loader: CheckedLoader, master: DictConfig) -> None:
        self._loader = loader
        self._master = master
        self._bases: dict[tuple[str, ...], tuple[DictConfig, str]] = {}
        self._parsed = functools.cache(OverridesParser.create().parse_override)
        self._is_group = functools.cache(loader.is_group)
        self._is_made = functools.cache(self._made)
        self._key_node = functools.cache(grouping_key_node)

    def compose(self, overrides: Sequence[str]) -> DictConfig:
        """The config of a point, without Hydra's node: the same as `ConfigLoader.load_sweep_config` makes.

        Raises
        ------
        InputError
            An override cannot be applied.
        """
        parsed = [self._parsed(override) for override in overrides]
        choices = [one for one in parsed if self.is_choice(one)]
        values = [one for one in parsed if not self.is_choice(one)]
        made = next((str(one.value()) for one in choices if self._is_made_key(one)), None)
        config, key = copy.deepcopy(self._base(choices, made))
        if made is not None and config.grouping_key == self._key_node(_PROBES[_kind(made)]):
            with open_dict(config):
                config.grouping_key = self._key_node(made)
        elif made is not None:  # a file changes the key's options: such a key is composed by Hydra
            config, key = copy.deepcopy(self._base(choices, None))
        self._loader.apply(values, config, self._master, overrides)
        read_columns(config, made or key)
        return config

    def has_option(self, overrides: Sequence[str], name: str) -> bool:
        """Whether a point's config has an option."""
        config = self.compose([one for one in overrides if self.is_choice(self._parsed(one))])
        parent, _, leaf = name.rpartition(".")
        node = OmegaConf.select(config, parent)
        return isinstance(node, DictConfig) and leaf in node

    def is_choice(self, override: Override) -> bool:
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
        lines = [_line(one) for one in choices]
        if made is not None:
            lines = [
                f"grouping_key={_PROBES[_kind(made)]}" if self._is_made_key(one) else line
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


def _line(override: Override) -> str:
    assert override.input_line is not None
    return override.input_line


def _kind(name: str) -> str:
    if sized := re.fullmatch(r"(random|prior)_\d+", name):
        return sized[1]
    return "fixed" if re.fullmatch(r"fixed_.+_\d+", name) else "feature"


def compose_grid(arguments: Sequence[str], config_dirs: Sequence[str] = ()) -> tuple[CheckedLoader, DictConfig]:
    """Compose a grid of `llp.train` as its command would, and leave Hydra's own state as it is.

    Parameters
    ----------
    arguments : sequence of str
        What stands behind `python -m llp.train -m`, but for `--config-dir`.
    config_dirs : sequence of str
        What `--config-dir` names.

    Returns
    -------
    CheckedLoader, DictConfig
        The loader of the points' configs, and the multirun's own config, with Hydra's node.

    Raises
    ------
    CompositionError
        An argument is wrong.
    """
    forget_namesakes()
    path = create_config_search_path(str(CONF_DIR))
    for folder in config_dirs:
        path.prepend("command-line", f"file://{folder}", SearchPathQuery(provider="schema"))
    loader = CheckedLoader(path)
    given = [*arguments, "hydra.job.name=train"]
    return loader, loader.load_configuration("train", given, RunMode.MULTIRUN, from_shell=False)


@dataclass(frozen=True)
class ComposedPoint:
    """A point's config before it is checked, which takes a while and is left out where the point is finished."""

    config: DictConfig

    @functools.cached_property
    def content(self) -> dict[str, Any] | None:
        """Its plain values; None where they are known in a launched job only.

        Raises
        ------
        InputError
            One cannot be told.
        """
        if reads_hydra(self.written):
            return None
        try:
            content = OmegaConf.to_container(self.config, resolve=True, throw_on_missing=True)
        except OmegaConfBaseException:
            self.checked()  # says what is wrong
            raise
        assert isinstance(content, dict)
        return {str(name): value for name, value in content.items()}

    @functools.cached_property
    def written(self) -> str:
        """Its values as they are written, interpolations among them, in one text."""
        return json.dumps(OmegaConf.to_container(self.config, resolve=False), default=str)

    @property
    def names(self) -> tuple[str, str, str]:
        """Dataset, grouping key and method."""
        key: Any = OmegaConf.to_container(self.config.grouping_key, resolve=True)
        return str(self.config.dataset.name), key_of(key).name, str(self.config.method.name)

    @property
    def run(self) -> dict[str, int]:
        """Its fold and its seed."""
        return {"fold": self.config.fold, "seed": self.config.seed}

    def checked(self, **changes: int) -> TrainConfig:
        """The checked config, with another fold or seed.

        Raises
        ------
        InputError
            It cannot run.
        """
        config = copy.deepcopy(self.config) if changes else self.config
        config.update(changes)
        return check_config(config, TrainConfig)


def reads_run(texts: str) -> bool:
    """Whether an interpolation may read fold or seed, so that a point is more than its neighbour's with another one."""
    return bool(re.search(r"\$\{(?:[\w.]+:\s*)?\.*(?:fold|seed)\s*[},]", texts))


def reads_hydra(texts: str) -> bool:
    """Whether an interpolation reads what only a launched job has."""
    return "${hydra:" in texts
