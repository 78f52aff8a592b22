"""Tables of files in installed packages, each described by a YAML file of `conf/dataset`; no package is imported."""

import hashlib
import io
import lzma
import pickle
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.exceptions import PolarsError
from pydantic import NonNegativeInt, PositiveInt

from llp.data.table import LabelKind
from llp.datasets.frames import FrameColumns, write_frame
from llp.datasets.installed import package_folder
from llp.errors import InputError, invalid
from llp.seeding import keyed_seed


def prepare(
    *,
    folder: Path,
    made_by: Mapping[str, Any],
    package: str,
    file: str,
    sha256: str,
    label: str,
    label_kind: LabelKind,
    categories: list[str],
    binned: list[str],
    rare_at_most: NonNegativeInt,
    bins: PositiveInt,
    header: list[str] | None = None,
    missing: list[str] | None = None,
    sample: PositiveInt | None = None,
) -> None:
    """Write the instance table of a package's file, a CSV (`header` names its columns if it does not) or a pickle.

    `label`, `categories`, `binned` are SQL over its columns; texts in `missing` are null. Of rows with a label `sample`
    are drawn, always the same.
    """
    path = package_folder(package, dataset=folder.name, extra="suite") / file
    raw = path.read_bytes() if path.is_file() else b""
    if hashlib.sha256(raw).hexdigest() != sha256:
        raise InputError(f"{path} is missing or of another version of {package}: expected sha256 {sha256}.")
    of_csv: dict[str, Any] = {"has_header": not header, "new_columns": header, "null_values": missing}
    pickled = file.endswith(".pkl.compress")
    frame = _pickled(raw) if pickled else pl.read_csv(raw, infer_schema_length=None, **of_csv)
    frame = frame.with_columns(pl.col(pl.String).str.strip_chars().replace(dict.fromkeys(missing or ())))
    labels, inputs = _select(frame, [label]), _select(frame, [*categories, *binned])
    rows = labels.select(pl.first().is_not_null().arg_true()).to_series().to_numpy()
    if sample is not None and sample < len(rows):
        rows = np.sort(np.random.default_rng(keyed_seed(0, "sample")).choice(rows, sample, replace=False))
    columns = FrameColumns(
        label_kind=label_kind,
        categories=tuple(inputs.columns[: len(categories)]),
        binned=tuple(inputs.columns[len(categories) :]),
        rare_at_most=rare_at_most,
        bins=bins,
        missing=("", *(missing or ())),
    )
    source = {"package": package, "file": file, "sha256": sha256}
    write_frame(folder, made_by, inputs[rows], labels[rows].to_series().cast(pl.Float32).to_numpy(), columns, source)


def _select(frame: pl.DataFrame, expressions: list[str]) -> pl.DataFrame:
    try:
        return frame.select(pl.sql_expr(expressions))
    except PolarsError as error:
        expected = f"SQL over the columns {', '.join(frame.columns)} ({error})"
        raise invalid("dataset.prepare", expressions, expected) from None


class _Part:
    """A pandas object in a pickle: its parts, as they are, with no behaviour."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Parts(pickle.Unpickler):
    """Reads arrays and what pandas keeps beside them; any other class or function that a pickle names is refused."""

    ARRAYS = re.compile(
        r"numpy\.(ndarray|dtype)|numpy\._?core\.(multiarray\._reconstruct|numeric\._frombuffer)|builtins\.slice"
    )

    def find_class(self, module: str, name: str) -> Any:
        """Look up what a pickle names."""
        if module.partition(".")[0] == "pandas":
            return _Part
        if not self.ARRAYS.fullmatch(f"{module}.{name}"):
            raise InputError(f"The pickle names {module}.{name}, expected arrays in a pandas frame: it is not read")
        return super().find_class(module.replace("numpy.core", "numpy._core"), name)


def _pickled(raw: bytes) -> pl.DataFrame:
    """A pandas frame with an index of row numbers, from its xz-compressed pickle, without pandas."""
    columns: dict[str, pl.Series] = {}
    try:
        blocks, (labels, _) = _Parts(io.BytesIO(lzma.decompress(raw))).load().state["_mgr"].parts
        names = labels.parts[1]["data"]
        for values, places, _ in (block.parts for block in blocks):  # (k, N) and which k columns these are
            columns.update(zip(names[places], map(_series, values), strict=True))
        return pl.DataFrame({name: columns[name] for name in names})
    except InputError:
        raise
    except (lzma.LZMAError, pickle.UnpicklingError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"Expected an xz-compressed pickle of a pandas frame of NumPy arrays ({error})") from None


def _series(values: NDArray[Any]) -> pl.Series:
    """A column of a pandas frame, whose missing values are NaN; whole numbers among floats are integers again."""
    if values.dtype == object:
        return pl.Series([value if value == value else None for value in values])
    series = pl.Series(values, nan_to_null=True)
    whole = series.dtype.is_float() and (series.drop_nulls() % 1 == 0).all()
    return series.cast(pl.Int64) if whole else series
