"""Points of a grid that differ in fold and seed alone: composed once, and checked where they are not finished."""

import copy
import functools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from llp.config.checks import check_config
from llp.config.commands import TrainConfig
from llp.config.grouping_keys import key_of
from llp.config.points import Multirun

_RUN = re.compile(r"(fold|seed)=(0|[1-9]\d*)")


@dataclass
class GridCell:
    """Points that differ in fold and seed alone."""

    config: DictConfig  # of one of them; checked where one is not finished, as that takes a while
    places: dict[int, dict[str, int]] = field(default_factory=dict)  # number in the grid to fold and seed, if given

    @functools.cached_property
    def content(self) -> dict[str, Any] | None:
        """Its plain values; None where they are known in a launched job only, which checks itself."""
        if "${hydra:" in self.written:
            return None
        try:
            content = OmegaConf.to_container(self.config, resolve=True, throw_on_missing=True)
        except OmegaConfBaseException:
            check_config(self.config, TrainConfig)  # says what is wrong
            raise
        assert isinstance(content, dict)
        return {str(name): value for name, value in content.items()}

    @functools.cached_property
    def written(self) -> str:
        """Its values as they are written, interpolations among them, in one text."""
        return json.dumps(OmegaConf.to_container(self.config, resolve=False), default=str)

    @property
    def reads_run(self) -> bool:
        """Whether an interpolation may read fold or seed: with another one a point is more than its neighbour's."""
        return bool(re.search(r"\$\{(?:[\w.]+:\s*)?\.*(?:fold|seed)\s*[},]", self.written))

    @property
    def names(self) -> tuple[str, str, str]:
        """Dataset, grouping key and method."""
        key: Any = OmegaConf.to_container(self.config.grouping_key, resolve=True)
        return str(self.config.dataset.name), key_of(key).name, str(self.config.method.name)

    @functools.cached_property
    def checked(self) -> TrainConfig:
        """The config once it is checked."""
        return check_config(self.config, TrainConfig)

    def check(self, **changes: int) -> None:
        """Check the config with another fold or seed."""
        config = copy.deepcopy(self.config)
        config.update(changes)
        check_config(config, TrainConfig)


def cells_of(multirun: Multirun, points: Sequence[list[str]]) -> list[GridCell]:
    """Compose the points of a grid, by their overrides; a point's place is its number in the grid."""
    cells: dict[tuple[str, ...], GridCell] = {}
    for place, overrides in enumerate(points):
        numbers = [_RUN.fullmatch(override) for override in overrides]
        key = tuple(override for override, match in zip(overrides, numbers, strict=True) if not match)
        cell = cells.get(key) or cells.get(tuple(overrides))
        if cell is None:
            cell = GridCell(multirun.compose(overrides))
            cells[tuple(overrides) if cell.reads_run else key] = cell
        cell.places[place] = {match[1]: int(match[2]) for match in numbers if match}
    return list(cells.values())
