"""Points of a grid that differ in fold and seed alone, composed once, and the tables that they train on."""

import functools
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from llp.config.commands import TrainConfig
from llp.config.points import ComposedPoint, Points, reads_run
from llp.data.table import InstanceTable
from llp.errors import InputError, choice
from llp.runs.build import open_table

Overrides = list[str]

_RUN = re.compile(r"(fold|seed)=(0|[1-9]\d*)")


@dataclass
class GridCell:
    """Points that differ in fold and seed alone: the config of one, and their places in the grid."""

    config: ComposedPoint
    places: dict[int, dict[str, int]] = field(default_factory=dict)

    @property
    def content(self) -> dict[str, Any] | None:
        """See `ComposedPoint.content`: where there is none, the points are launched, and check themselves."""
        return self.config.content

    @functools.cached_property
    def checked(self) -> TrainConfig:
        """The config once it is checked."""
        return self.config.checked()


class Tables:
    """The tables that are prepared, each opened once."""

    def __init__(self) -> None:
        self._opened: dict[str, InstanceTable | None] = {}

    def of(self, cell: GridCell) -> InstanceTable | None:
        """A cell's table; None where it is missing or is refused, which is told when a point comes to it."""
        assert cell.content is not None
        key = json.dumps([cell.content["dataset"], cell.content["data_dir"]])
        if key not in self._opened:
            self._opened[key] = None
            if (Path(cell.content["data_dir"]) / str(cell.content["dataset"]["table"])).exists():
                with suppress(InputError, OSError):
                    self._opened[key] = open_table(cell.checked.dataset, cell.checked.data_dir)
        return self._opened[key]


def cells_of(composer: Points, points: Sequence[Overrides]) -> list[GridCell]:
    """Compose the points of a grid, by their overrides; a point's place is its number in the grid."""
    cells: dict[tuple[str, ...], GridCell] = {}
    for place, overrides in enumerate(points):
        numbers = [_RUN.fullmatch(override) for override in overrides]
        run = {match[1]: int(match[2]) for match in numbers if match}
        key = tuple(override for override, match in zip(overrides, numbers, strict=True) if not match)
        cell = cells.get(key) or cells.get(tuple(overrides))
        if cell is None:
            config = ComposedPoint(_compose(composer, overrides, points))
            alone = reads_run(config.written)
            cell = cells[tuple(overrides) if alone else key] = GridCell(config)
        cell.places[place] = run
    return list(cells.values())


def _compose(composer: Points, overrides: Overrides, points: Sequence[Overrides]) -> Any:
    """Compose a point; where one choice of a grid lacks another one's option, the error names both."""
    try:
        return composer.compose(overrides)
    except InputError:
        for override in overrides:
            name = override.partition("=")[0]
            group = name.partition(".")[0]
            choices = {one: point for point in points for one in point if one.startswith(f"{group}=")}
            if "." not in name or len(choices) < 2:
                continue
            has = {one: composer.has_option(point, name) for one, point in choices.items()}
            if any(has.values()) and not all(has.values()):
                having = [one for one in has if has[one]]
                lacking = [one for one in has if not has[one]]
                expected = f"an option of every {group} of the grid: {choice(having)} has it, {choice(lacking)} has not"
                value = override.partition("=")[2]
                raise InputError(f"Invalid {name}={value}: expected {expected}, such as {having[0]}") from None
        raise
