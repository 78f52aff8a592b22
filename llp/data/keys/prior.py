"""Curated bags: instances of like prior predictions lie together, whose labels nobody needs to know.

The best bags for given expected labels are those of the one-dimensional k-means problem with sizes (A. Javanmard, M.
Fahrbach, V. Mirrokni, "PriorBoost", ICML 2024, arXiv 2402.04987); here every bag but one has the same size.
"""

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import NonNegativeInt

from llp.data.bags import Rows
from llp.data.keys.base import SizedKey
from llp.data.table import InstanceTable
from llp.errors import InputError, first_line, invalid

SCORES = ("probability", "prediction")  # what llp.predict calls them, for binary and real labels
_SCANS = {".parquet": "scan_parquet", ".arrow": "scan_ipc", ".csv": "scan_csv"}  # of polars


class PriorKey(SizedKey):
    """Runs of rows sorted by a prior prediction, equal ones at random: a numeric column, or a file of scores."""

    pattern = "prior_{bag_size}"
    words = "curated bags"
    cut_from_sorted = True

    kind: Literal["prior"] = "prior"
    column: str | None
    scores: str | None
    seed: NonNegativeInt

    def check(self) -> None:
        """Refuse no prediction, or two, or a file that cannot be one."""
        if (self.column is None) == (self.scores is None):
            raise InputError(
                f"Invalid grouping_key={self.name}: expected the prior prediction by which its bags are sorted, either "
                "grouping_key.column=NAME or grouping_key.scores=scores.parquet"
            )
        if self.scores is not None:
            check_scores(Path(self.scores))

    def check_table(self, table: InstanceTable) -> None:
        """Refuse a table without these predictions too."""
        super().check_table(table)
        self.values(table)

    def digests(self) -> dict[str, str]:
        """That of the scores."""
        return {"scores": scores_digest(self.scores)} if self.scores else {}

    def values(self, table: InstanceTable) -> NDArray[np.float64]:
        """The prior prediction of every row; InputError where the table has none of that name or number."""
        if self.column is not None:
            names = [column.name for column in table.schema.numeric]
            if self.column not in names:
                has = f"which has {', '.join(names)}" if names else "which has none"
                example = names[0] if names else "grouping_key.scores=scores.parquet"
                expected = f"a numeric column of {table.folder.name}, {has}"
                raise invalid("grouping_key.column", self.column, expected, example)
            return np.asarray(table.numeric[:, names.index(self.column)], np.float64)
        prior = _read_scores(Path(self.scores or ""))
        if len(prior) != table.n_rows:
            expected = f"a score for each of the {table.n_rows} rows of {table.folder.name}, it has {len(prior)}"
            raise invalid("grouping_key.scores", self.scores, expected)
        return prior

    def group(self, rows: Rows, values: NDArray[Any], rng: np.random.Generator) -> tuple[Rows, NDArray[np.int64]]:
        """The best runs of the predictions."""
        order, offsets = curated_runs(values, self.bag_size, rng)
        return rows[order], offsets


def check_scores(path: Path) -> None:
    """Refuse what cannot be a file of scores."""
    try:
        is_file = path.is_file()
    except OSError:  # a name that is too long, a folder that may not be searched
        is_file = False
    if path.suffix not in _SCANS or not is_file:
        expected = f"a file of scores that ends in {', '.join(_SCANS)}, as llp.predict writes it"
        raise invalid("grouping_key.scores", str(path), expected, "scores.parquet")


def _read_scores(path: Path) -> NDArray[np.float64]:
    import polars as pl

    check_scores(path)
    try:
        lazy: pl.LazyFrame = getattr(pl, _SCANS[path.suffix])(path)
        name = next((one for one in SCORES if one in lazy.collect_schema()), None)
        frame = None if name is None else lazy.select(pl.col(name).cast(pl.Float64)).collect()
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{path} cannot be read: {first_line(error)}") from None
    if frame is None or not bool(frame.to_series().is_finite().fill_null(False).all()):
        expected = f"a column {' or '.join(SCORES)} of finite numbers, as llp.predict writes it"
        raise invalid("grouping_key.scores", str(path), expected, "scores.parquet")
    scores: NDArray[np.float64] = frame.to_series().to_numpy()
    return scores


def scores_digest(path: str) -> str:
    """Digest of the content of a file of scores: with it, a run knows which bags it had."""
    check_scores(Path(path))
    status = Path(path).stat()
    return _digest(path, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=16)
def _digest(path: str, size: int, changed: int) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def curated_runs(
    prior: NDArray[np.float64], bag_size: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cut instances into bags of `bag_size`, one of them smaller, with the least sum of squares within the bags.

    Bags whose values interleave can exchange instances at a gain, so the best are runs of sorted values; only the
    smaller one's place is to be found. Returns positions (n,) bag after bag, and where each begins (K + 1).
    """
    shuffled = rng.permutation(len(prior))
    order = shuffled[np.argsort(prior[shuffled], kind="stable")]
    n_full, rest = divmod(len(prior), bag_size)
    offsets = np.append(np.arange(0, len(prior), bag_size), len(prior))
    if rest and n_full:
        # a sum of squares within bags is that of all values less, for each bag, its sum squared over its size
        total = np.append(0.0, np.cumsum(prior[order] - prior.mean()))
        begins = np.arange(n_full + 1) * bag_size  # of the smaller bag, if so many full ones lie before it
        before = np.append(0.0, np.cumsum(np.diff(total[begins]) ** 2))
        after = np.append(0.0, np.cumsum(np.diff(total[begins + rest]) ** 2))
        saved = (before + after[-1] - after) / bag_size + (total[begins + rest] - total[begins]) ** 2 / rest
        offsets[1 + int(saved.argmax()) : -1] += rest - bag_size
    return order, offsets.astype(np.int64)
