"""A point of the grid, by the names of its parts."""

import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from llp.files import folder_name


class Point(NamedTuple):
    """A point of the grid, as a run's folder spells it."""

    dataset: str
    grouping_key: str
    method: str
    fold: int
    seed: int

    @classmethod
    def of(cls, folder: Path) -> "Point | None":
        """The point of a run's folder; None for another folder.

        >>> Point.of(Path("outputs/flights/month_dest/dsq/fold=0/seed=3/0a1b2c3d")).seed
        3
        """
        found = re.fullmatch(r"([^/]+)/([^/]+)/([^/]+)/fold=(\d+)/seed=(\d+)/[^/]+", "/".join(folder.parts[-6:]))
        if found is None:
            return None
        dataset, key, method = map(unquote, found.groups()[:3])
        return cls(dataset, key, method, int(found[4]), int(found[5]))

    def folder(self, outputs_dir: Path) -> Path:
        """The folder of its runs, each in one that its hash names."""
        return outputs_dir.joinpath(*map(folder_name, self[:3]), f"fold={self.fold}", f"seed={self.seed}")

    def __str__(self) -> str:
        return f"{self.dataset} {self.grouping_key} {self.method} fold={self.fold} seed={self.seed}"
