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
from pydantic import TypeAdapter, ValidationError

from llp.errors import InputError
from llp.files import naming

FORMAT_VERSION = 1
LARGEST_NUMBER = float(np.finfo(np.float32).max)  # that a table holds

LabelKind = Literal["binary", "real"]


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    name: str  # also in a grouping key
    kind: Literal["categorical", "numeric"]  # of which of the table's two arrays it is a column
    vocab_size: int | None  # codes are 0..vocab_size-1; None for a numeric column
    transform: str = "none"  # of the raw values, for the reader: 'rare merged', 'log squared', ...


@dataclass(frozen=True)
class Schema:
    """What `schema.json` holds."""

    columns: tuple[Column, ...]  # the i-th categorical one is column i of `categorical.npy`, likewise the numeric ones
    label_kind: LabelKind
    rows: int  # N
    made_by: dict[str, Any]  # `prepare` and its options: other ones are another dataset
    source: dict[str, Any]  # the raw file: name, bytes and checksum, or whatever else identifies it
    facts: dict[str, Any]  # what a reader wants to know: label rate, missing share, best reachable AUC, ...
    encodings: dict[str, dict[str, Any]] = field(default_factory=dict)  # by column or `label`: `llp.data.vocabulary`
    test_rows: int = 0  # at the end, a given test split; 0 where folds split the rows
    given_bags: int = 0  # number of the user's own bags: see `llp.data.given_bags`
    aggregates_only: bool = False  # only bags have labels: those of their rows are NaN
    weighted: bool = False  # `weight.npy` weighs the instances in the evaluation
    format_version: int = FORMAT_VERSION  # raised when the layout of the folder changes

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
        """Sixteen hexadecimal digits of columns, source and options; unused fields do not count."""
        content = dataclasses.asdict(self)
        del content["encodings"]
        for name in ("test_rows", "given_bags", "aggregates_only", "weighted"):
            if not content[name]:
                del content[name]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


@contextmanager
def reading(folder: Path, name: str) -> Iterator[None]:
    """Name the file of a table that is missing or damaged, in an `InputError`; unreadable ones stay an `OSError`."""
    path = folder / name
    try:
        with naming(path):
            yield
    except Exception as error:
        of_polars = type(error).__module__ == "polars.exceptions"  # not imported for what it has not raised
        if not (of_polars or isinstance(error, FileNotFoundError | EOFError | ValueError)):
            raise
        raise InputError(f"{path} is damaged ({error}); remove {folder} and prepare it again.") from None


def read_schema(folder: Path) -> Schema:
    """Read a table's `schema.json`; one that cannot be read stays an `OSError`."""
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
