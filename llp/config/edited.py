"""Notices config files that are edited while a grid runs: Hydra reads them again for each point."""

import logging
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

log = logging.getLogger(__name__)

State = dict[Path, tuple[int, int]]  # by file: when it was written, in ns, and its bytes

_told: set[str] = set()  # of this process: a launcher's worker gets a new `ConfigFiles` with every point


class ConfigFiles:
    """The config files of a grid, as they were when its first point was composed."""

    def __init__(self) -> None:
        self._before: State | None = None

    def tell_edited(self, sources: Iterable[tuple[str, str]]) -> None:
        """Warn in one line of the files that were edited, made or removed since the last call.

        Parameters
        ----------
        sources : iterable of (str, str)
            Scheme and path of each part of Hydra's search path.
        """
        now = _state(sources)
        before, self._before = self._before, now
        if before is not None and before != now:
            changes = before.items() ^ now.items()
            if (seen := repr(sorted(changes))) in _told:
                return
            _told.add(seen)
            log.warning(
                "%s changed while the grid runs: from here on its points have another config, and folders of their own",
                ", ".join(sorted({str(path) for path, _ in changes})),
            )


def _state(sources: Iterable[tuple[str, str]]) -> State:
    found: State = {}
    for scheme, place in sources:
        for folder in _folders(scheme, place):
            for path in folder.rglob("*.yaml"):
                if path.parent == folder and path.name != "train.yaml":
                    continue  # another command's
                status = path.stat()
                found[path] = (status.st_mtime_ns, status.st_size)
    return found


def _folders(scheme: str, place: str) -> list[Path]:
    if scheme == "file":
        return [Path(place)]
    if scheme != "pkg" or place.partition(".")[0] == "hydra":
        return []
    try:
        package = find_spec(place)
    except (ImportError, ValueError):
        return []
    return [] if package is None else [Path(one) for one in package.submodule_search_locations or ()]
