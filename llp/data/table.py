"""InstanceTable: a prepared dataset on disk, opened memory-mapped.

A folder with `schema.json`, `categorical.npy` (rows × Fc, int32), `numeric.npy` (rows × Fn, float32), `label.npy`
(float32), `columns.parquet`, the codes by column, and `vocabulary/i.parquet`; `TableWriter` renames it into place
whole.
"""

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from llp.data.schema import Column, LabelKind, Schema, read_schema, reading
from llp.data.vocabulary import read_vocabulary
from llp.errors import InputError

if TYPE_CHECKING:  # polars takes as long to import as a finished run to be skipped
    import polars as pl

__all__ = ["Column", "InstanceTable", "LabelKind", "Schema", "read_schema"]


class InstanceTable:
    """A prepared dataset: features and labels of N instances, memory-mapped.

    Parameters
    ----------
    folder : Path
        The table's folder; use `InstanceTable.open`, which checks it.
    schema : Schema
        The content of its `schema.json`.
    """

    def __init__(self, folder: Path, schema: Schema) -> None:
        self.folder = folder
        self.schema = schema
        self.labels = "own"  # or a digest of those that are put in their place

    @classmethod
    def open(cls, folder: Path, made_by: Mapping[str, Any] | None = None) -> Self:
        """Open a table and check that it is whole and the one that is meant.

        Parameters
        ----------
        folder : Path
            The table's folder.
        made_by : Mapping, optional
            The function and options that should have made it; None takes any table.

        Raises
        ------
        InputError
            The folder holds no table, a damaged one, or one made by something else.
        """
        table = cls.of(folder, made_by)
        table.check_files()
        return table

    @classmethod
    def of(cls, folder: Path, made_by: Mapping[str, Any] | None = None) -> Self:
        """What `schema.json` says of a table, for `check_files` to hold its files against; else as `open`."""
        schema = read_schema(folder)
        if made_by is not None and _given(schema.made_by) != _given(made_by):
            there, asked = _flat(schema.made_by), _flat(made_by)
            differ = [name for name in asked | there if there.get(name) != asked.get(name)]
            made, wanted = (json.dumps({name: by[name] for name in differ if name in by}) for by in (there, asked))
            raise InputError(
                f"{folder} holds another table: it was made by {made}, this run asks for {wanted}. Make it again "
                "(llp.prepare with these options and force=true), or give this one another place (dataset.table=NAME; "
                "for dataset=files, name=NAME)"
            )
        return cls(folder, schema)

    def check_files(self) -> None:
        """Refuse files that are damaged, or other than `schema.json` says."""
        import polars as pl

        rows, schema = self.schema.rows, self.schema
        expected = {
            "categorical.npy": ((rows, len(schema.categorical)), np.int32),
            "numeric.npy": ((rows, len(schema.numeric)), np.float32),
            "label.npy": ((rows,), np.float32),
        } | ({"weight.npy": ((rows,), np.float32)} if schema.weighted else {})
        for name, (shape, dtype) in expected.items():
            with reading(self.folder, name):
                array = np.load(self.folder / name, mmap_mode="r")
            if array.shape != shape or array.dtype != dtype:
                raise InputError(
                    f"{self.folder / name} is {array.dtype} {array.shape}, schema.json says {np.dtype(dtype)} {shape}; "
                    f"remove {self.folder} and prepare it again."
                )
        with reading(self.folder, "columns.parquet"):
            names = list(pl.scan_parquet(self.folder / "columns.parquet", glob=False).collect_schema())
        if names != self.categorical_names:
            raise InputError(
                f"{self.folder / 'columns.parquet'} holds other columns than schema.json says; "
                f"prepare {self.folder} again."
            )

    @cached_property
    def categorical(self) -> NDArray[np.int32]:
        """(N, Fc) int32 memory map: codes from 0 within each column."""
        return self._map("categorical.npy")

    @cached_property
    def numeric(self) -> NDArray[np.float32]:
        """(N, Fn) float32 memory map."""
        return self._map("numeric.npy")

    @cached_property
    def label(self) -> NDArray[np.float32]:
        """(N,) float32 memory map."""
        return self._map("label.npy")

    def relabelled(self, label: NDArray[np.float32]) -> "InstanceTable":
        """The same table with other labels (N,)."""
        table = InstanceTable(self.folder, self.schema)
        table.label, table.labels = label, hashlib.sha256(np.ascontiguousarray(label).data).hexdigest()
        return table

    @cached_property
    def weight(self) -> NDArray[np.float32] | None:
        """(N,) float32 memory map of the instances' weights in the evaluation; None where all count alike."""
        return self._map("weight.npy") if self.schema.weighted else None

    def _map(self, name: str) -> NDArray[Any]:
        array: NDArray[Any] = np.load(self.folder / name, mmap_mode="r")
        return array

    def codes(self, column: str) -> NDArray[np.int32]:
        """(N,) int32: the codes of one categorical column, contiguous."""
        import polars as pl

        frame = pl.read_parquet(self.folder / "columns.parquet", columns=[column], glob=False)
        return frame[column].to_numpy()

    def vocabulary(self, column: str) -> "pl.DataFrame":
        """Which raw values of a categorical column have which code: columns `value` (text) and `code` (int32).

        A value that is not in it has code 0, as has every value seen too seldom; a null is the missing value.

        Raises
        ------
        InputError
            The column has no vocabulary, or its file is damaged.
        """
        if self.schema.encodings.get(column, {}).get("kind") != "vocabulary":
            raise InputError(
                f"{self.folder} holds no vocabulary of {column!r}: it is no categorical column, its numbers were cut "
                "into bins, or an earlier version prepared it (force=true prepares it again)"
            )
        return read_vocabulary(self.folder, self.categorical_names.index(column))

    def encoding(self, column: str) -> dict[str, Any]:
        """How the raw values of a column became codes or numbers: a record of `llp.data.vocabulary`.

        Raises
        ------
        InputError
            The table does not say.
        """
        if column not in self.schema.encodings:
            raise InputError(
                f"{self.folder} does not say how {column!r} was made: an earlier version prepared it (force=true "
                "prepares it again)"
            )
        return self.schema.encodings[column]

    @property
    def n_rows(self) -> int:
        """Number of instances, N."""
        return self.schema.rows

    @property
    def label_kind(self) -> LabelKind:
        """Whether labels are 0 / 1 or real numbers."""
        return self.schema.label_kind

    @property
    def categorical_names(self) -> list[str]:
        """Names of the categorical columns, in order."""
        return [column.name for column in self.schema.categorical]

    @property
    def vocab_sizes(self) -> list[int]:
        """Number of codes of each categorical column, in order."""
        return [column.vocab_size or 0 for column in self.schema.categorical]

    @property
    def n_numeric(self) -> int:
        """Number of numeric columns, Fn."""
        return len(self.schema.numeric)

    @property
    def fingerprint(self) -> str:
        """See `Schema.fingerprint`."""
        return self.schema.fingerprint


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options that are given: one that a table was made before is null."""
    return {name: value for name, value in options.items() if value is not None}


def _flat(options: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Options of groups by their whole names: {"reading": {"decimal": "comma"}} is {"reading.decimal": "comma"}."""
    flat: dict[str, Any] = {}
    for name, value in options.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {prefix + name: value}
    return flat
