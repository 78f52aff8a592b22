"""How raw values became a table's codes and numbers, kept with the table to be applied to new rows.

`schema.json` has a record with kind and version per column under `encodings`, and one for a label that was transformed.
`vocabulary`: `vocabulary/i.parquet` has `value` (text) and `code` of categorical column i, texts in `missing` as null,
others have code 0. `log_squared_bins`: a missing number is `missing`, x > 2 the whole part of ln(x)², the code that
less `low`. `quantile_bins`: 1 + the number of `edges` below x, 0 if missing. `standardised`: (x - `mean`) / `std`, 0 if
missing. `number`: `missing` becomes `fill`, then with `transform` log2_squared x > 2 is log2(x)².
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from llp.data.schema import reading
from llp.errors import InputError

if TYPE_CHECKING:
    import polars as pl

VERSION = 1
FOLDER = "vocabulary"


def encoding(kind: str, **record: Any) -> dict[str, Any]:
    """A record of how a column's raw values became codes or numbers."""
    return {"kind": kind, "version": VERSION, **record}


def write_vocabulary(table: Path, place: int, values: "pl.Series", missing: Sequence[str]) -> dict[str, Any]:
    """Write the texts of codes 1, 2, ... of categorical column `place`; returns the column's record."""
    import polars as pl

    codes = np.arange(1, len(values) + 1, dtype=np.int32)
    (table / FOLDER).mkdir(exist_ok=True)
    frame = pl.DataFrame({"value": values.cast(pl.String), "code": codes})
    frame.write_parquet(table / FOLDER / f"{place}.parquet", statistics=False)
    return encoding("vocabulary", missing=list(missing))


def read_vocabulary(table: Path, place: int) -> "pl.DataFrame":
    """The values and codes of a categorical column: see `write_vocabulary`."""
    import polars as pl

    path = table / FOLDER / f"{place}.parquet"
    with reading(table, f"{FOLDER}/{place}.parquet"):
        frame = pl.read_parquet(path, glob=False)
    if frame.schema != pl.Schema({"value": pl.String, "code": pl.Int32}):
        raise InputError(f"{path} holds no vocabulary; remove {table} and prepare it again.")
    return frame
