"""How raw values became a table's codes and numbers, kept with the table to be applied to new rows.

`schema.json` has a record per column under `encodings`, and one for a label that was transformed:

- `{"kind": "vocabulary", "version": 1, "missing": [...]}`: `vocabulary/i.parquet`, with i the place among the
  categorical columns, has the columns `value` (text) and `code` (int32). The raw texts in `missing` are the missing
  value, null in the file. A value that is not in the file has code 0.
- `{"kind": "log_squared_bins", "version": 1, "low": l, "missing": m}`: a missing number is m; x > 2 becomes the whole
  part of ln(x)², and the code is that less l, held in 0..vocab_size-1.
- `{"kind": "quantile_bins", "version": 1, "edges": [...]}`: the code is 1 + the number of edges below x, and 0 where x
  is missing.
- `{"kind": "standardised", "version": 1, "mean": m, "std": s}`: a missing number is m; x becomes (x - m) / s.
- `{"kind": "number", "version": 1, "missing": m, "fill": f, "transform": "none" | "log2_squared"}`: m is a missing
  number and becomes f; then x > 2 becomes log2(x)², or nothing is done.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from llp.data.schema import reading
from llp.errors import InputError

VERSION = 1
FOLDER = "vocabulary"


def encoding(kind: str, **record: Any) -> dict[str, Any]:
    """A record of how a column's raw values became codes or numbers."""
    return {"kind": kind, "version": VERSION, **record}


def write_vocabulary(table: Path, place: int, values: pl.Series, missing: Sequence[str]) -> dict[str, Any]:
    """Write the values of codes 1, 2, ... of categorical column `place`, from 0; returns the column's record.

    Values are kept as text; a null is the missing value, and so are the raw texts in `missing`.
    """
    codes = np.arange(1, len(values) + 1, dtype=np.int32)
    (table / FOLDER).mkdir(exist_ok=True)
    frame = pl.DataFrame({"value": values.cast(pl.String), "code": codes})
    frame.write_parquet(table / FOLDER / f"{place}.parquet", statistics=False)
    return encoding("vocabulary", missing=list(missing))


def read_vocabulary(table: Path, place: int) -> pl.DataFrame:
    """The values and codes of a categorical column: see `write_vocabulary`."""
    path = table / FOLDER / f"{place}.parquet"
    with reading(table, f"{FOLDER}/{place}.parquet"):
        frame = pl.read_parquet(path, glob=False)
    if frame.schema != pl.Schema({"value": pl.String, "code": pl.Int32}):
        raise InputError(f"{path} holds no vocabulary; remove {table} and prepare it again.")
    return frame
