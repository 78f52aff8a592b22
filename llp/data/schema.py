"""What a table says of itself: its columns, where it is from, how its values were made."""

import dataclasses
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from polars.exceptions import PolarsError
from pydantic import TypeAdapter, ValidationError

from llp.errors import InputError
from llp.files import naming

FORMAT_VERSION = 1
LARGEST_NUMBER = float(np.finfo(np.float32).max)  # that a table holds

LabelKind = Literal["binary", "real"]


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    name : str
        Its name, also in a grouping key.
    kind : {'categorical', 'numeric'}
        Whether it is a column of `categorical.npy` or of `numeric.npy`.
    vocab_size : int or None
        Number of codes of a categorical column (codes are 0..vocab_size-1); None for a numeric one.
    transform : str
        What was done to the raw values, for the reader: 'rare merged', 'log squared', 'none', ...
    """

    name: str
    kind: Literal["categorical", "numeric"]
    vocab_size: int | None
    transform: str = "none"


@dataclass(frozen=True)
class Schema:
    """What `schema.json` holds.

    Attributes
    ----------
    columns : tuple of Column
        In order; the i-th categorical one is column i of `categorical.npy`, likewise the numeric ones.
    label_kind : {'binary', 'real'}
        Labels are 0 / 1, or real numbers.
    rows : int
        Number of instances, N.
    made_by : dict
        The function and the options that made the table (a dataset's `prepare` node): another value there
        means another dataset.
    source : dict
        The raw file: name, bytes and checksum, or whatever else identifies it.
    facts : dict
        What preparing found and a reader wants to know (label rate, missing share, best reachable AUC, ...).
    encodings : dict
        By column, and as `label`, how raw values became codes or numbers: see `llp.data.vocabulary`.
    test_rows : int
        So many rows at the end are a given test split; 0 where folds split the rows.
    given_bags : int
        Number of the user's own bags (`llp.data.given_bags`).
    aggregates_only : bool
        Whether only bags have labels: those of their rows are NaN.
    weighted : bool
        Whether `weight.npy` weighs the instances in the evaluation.
    format_version : int
        Raised when the layout of the folder changes.
    """

    columns: tuple[Column, ...]
    label_kind: LabelKind
    rows: int
    made_by: dict[str, Any]
    source: dict[str, Any]
    facts: dict[str, Any]
    encodings: dict[str, dict[str, Any]] = field(default_factory=dict)
    test_rows: int = 0
    given_bags: int = 0
    aggregates_only: bool = False
    weighted: bool = False
    format_version: int = FORMAT_VERSION

    @property
    def categorical(self) -> list[Column]:
        """The categorical columns, in order."""
        return [column for column in self.columns if column.kind == "categorical"]

    @property
    def numeric(self) -> list[Column]:
        """The numeric columns, in order."""
        return [column for column in self.columns if column.kind == "numeric"]

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that change with the columns, the source or the options.

        Encodings follow from those, and a field that a table does without is left out: new fields change no old table.
        """
        content = dataclasses.asdict(self)
        del content["encodings"]
        for name in ("test_rows", "given_bags", "aggregates_only", "weighted"):
            if not content[name]:
                del content[name]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


@contextmanager
def reading(folder: Path, name: str) -> Iterator[None]:
    """Say which file of a table is damaged, or may not be read.

    Raises
    ------
    InputError
        The file is missing or damaged.
    OSError
        It is there and cannot be read: a damaged table is removed, this one need not be.
    """
    path = folder / name
    try:
        with naming(path):
            yield
    except (FileNotFoundError, EOFError, ValueError, PolarsError) as error:
        raise InputError(f"{path} is damaged ({error}); remove {folder} and prepare it again.") from None


def read_schema(folder: Path) -> Schema:
    """Read a table's `schema.json`.

    Raises
    ------
    InputError
        There is none, or it is not one that this version understands.
    OSError
        It cannot be read.
    """
    path = folder / "schema.json"
    if not path.is_file():
        if not folder.exists():
            raise InputError(f"{folder} is not there: prepare the dataset, or name another place with data_dir=FOLDER.")
        raise InputError(
            f"{folder} holds no prepared table (no schema.json in it): remove it, or name another place with data_dir=."
        )
    content = path.read_bytes()
    try:
        version = TypeAdapter(dict[str, Any]).validate_json(content).get("format_version")
        if version != FORMAT_VERSION and isinstance(version, int):
            raise InputError(
                f"{folder} has table format {version}, this version reads {FORMAT_VERSION}; "
                "remove it and prepare it again."
            )
        return TypeAdapter(Schema).validate_json(content, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        flaw = ".".join(map(str, first["loc"])) + ": " * bool(first["loc"]) + str(first["msg"])
        raise InputError(f"{path} is not a table's schema ({flaw}); remove {folder} and prepare it again.") from None
