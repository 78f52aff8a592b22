"""What grids ask for: a small record per grid beside its runs, so that a report can say what is missing.

`<outputs_dir>/grids/<experiment or grid>_<digest>.json` is written when a multirun starts and names its points,
finished ones among them; the same grid has the same file.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict, NonNegativeInt, ValidationError

from llp.errors import InputError
from llp.files import folder_name, write_atomically
from llp.runs.point import Point

FOLDER = "grids"
_LARGEST = 100_000_000  # bytes: no grid that can be trained has so long a record


class AskedCell(BaseModel):
    """The points of a grid that differ in fold and seed alone."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    dataset: str
    grouping_key: str
    method: str
    runs: tuple[tuple[NonNegativeInt, NonNegativeInt], ...]  # fold, seed


class AskedGrid(BaseModel):
    """A grid: the experiment that it is of, if any, and its points."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    experiment: str | None
    cells: tuple[AskedCell, ...]

    @classmethod
    def of(cls, experiment: str | None, points: Iterable[Point]) -> "AskedGrid":
        """The grid of some points, in any order."""
        runs: dict[tuple[str, str, str], set[tuple[int, int]]] = defaultdict(set)
        for point in points:
            runs[point[:3]].add(point[3:])
        cells = (
            AskedCell(dataset=cell[0], grouping_key=cell[1], method=cell[2], runs=tuple(sorted(runs[cell])))
            for cell in sorted(runs)
        )
        return cls(experiment=experiment, cells=tuple(cells))

    def points(self) -> Iterator[Point]:
        """Its points."""
        for cell in self.cells:
            for fold, seed in cell.runs:
                yield Point(cell.dataset, cell.grouping_key, cell.method, fold, seed)

    @property
    def name(self) -> str:
        """Its experiment, or 'grid', and a digest of its points."""
        text = json.dumps(self.model_dump(), sort_keys=True)
        return f"{self.experiment or 'grid'}_{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def write_asked(outputs_dir: Path, grid: AskedGrid) -> Path:
    """Leave the record of a grid below the folder of its runs."""
    path = outputs_dir / FOLDER / f"{folder_name(grid.name)}.json"
    text = grid.model_dump_json()
    write_atomically(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))
    return path


def read_asked(outputs_dir: Path) -> tuple[list[AskedGrid], list[str]]:
    """The grids that were asked for, by name, and what is wrong with records that cannot be used."""
    grids, problems = [], []
    for path in sorted((outputs_dir / FOLDER).glob("[!.]*.json")):
        try:
            grids.append(_read(path))
        except (OSError, InputError) as error:
            problems.append(str(error))
    return sorted(grids, key=lambda grid: grid.name), problems


def _read(path: Path) -> AskedGrid:
    if not path.is_file() or path.stat().st_size > _LARGEST:
        raise InputError(f"{path} is no record of a grid")
    try:
        return AskedGrid.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"{path} is no record of a grid: {first['msg']}; remove it") from None
