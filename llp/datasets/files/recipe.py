"""The recipe of own files' rows, kept with the table and used again for new rows, which it codes block by block."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from llp.data.schema import LARGEST_NUMBER
from llp.data.table import Column
from llp.data.table_writer import TableWriter
from llp.data.vocabulary import encoding, read_vocabulary
from llp.datasets.encode import encode
from llp.datasets.files.features import Feature, Vocabularies, value_of
from llp.datasets.files.label import Label
from llp.datasets.files.options import FilesOptions, check_files_options
from llp.datasets.files.read import normalised
from llp.datasets.files.remembered import Hashes, RememberedCodes
from llp.datasets.files.values import number
from llp.errors import InputError

NO_NUMBER = "no number as in the table's files"
REMEMBERED = 2**16  # values of a column, beside twice its vocabulary


class CodedRows(NamedTuple):
    """Rows, coded."""

    codes: NDArray[np.int32]  # (Fc, n)
    numbers: NDArray[np.float32]  # (n, Fn)
    unknown: NDArray[np.int64]  # (F,) by feature: values that its vocabulary lacks, or missing numbers


class RowCoder:
    """Codes blocks of rows; threads may share it. What is no number is worked out once for each value."""

    def __init__(self, features: list[Feature], vocabularies: Vocabularies, options: FilesOptions) -> None:
        self._features = features
        self._vocabularies = vocabularies
        self._options = options
        self._remembered: dict[tuple[str, str], RememberedCodes] = {}  # by feature and type of the raw column

    def encode(self, frame: pl.DataFrame, place: Callable[[int], str] = "row {}".format) -> CodedRows:
        """Code raw rows; `place` says where a row, from 0, stands that holds no number or date of a table's."""
        # the numbers of categories may differ from block to block
        frame = frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
        hashes, found = self._hashes(frame), dict[str, NDArray[np.float64]]()
        n_numbers = sum(feature.value == "number" for feature in self._features)
        codes = np.empty((len(self._features) - n_numbers, frame.height), np.int32)
        numbers = np.empty((frame.height, n_numbers), np.float32)
        unknown = np.zeros(len(self._features), np.int64)
        to_code, to_number = iter(codes), iter(numbers.T)
        for i, feature in enumerate(self._features):
            raw, out = frame[feature.column], next(to_number if feature.value == "number" else to_code)
            try:
                if feature.has_vocabulary:
                    self._code(feature, raw, hashes, out)
                    unknown[i] = 0 if feature.value == "missing" else np.count_nonzero(out == 0)
                else:
                    x = found[raw.name] if raw.name in found else found.setdefault(raw.name, self._numbers(raw))
                    _put_numbers(feature, raw, x, out)
                    unknown[i] = np.count_nonzero(np.isnan(x))
            except _WrongValueError as wrong:
                values, what = wrong.args
                row = raw.is_in(values.implode()).arg_max() or 0
                raise InputError(
                    f"{place(row)}: column {raw.name!r} holds {str(raw[row])!r}, which is {what}"
                ) from None
        return CodedRows(codes, numbers, unknown)

    def _code(self, feature: Feature, raw: pl.Series, hashes: dict[str, Hashes], out: NDArray[Any]) -> None:
        known, key = self._vocabularies[feature.name], (feature.name, str(raw.dtype))
        if feature.value == "missing":
            missing = self._normalised(raw).is_null().to_numpy().astype(np.int8)
            out[:] = encode(pl.Series(["false", "true"]), known)[missing]
            return
        if key not in self._remembered:
            memory = RememberedCodes(partial(self._codes, feature), REMEMBERED + 2 * len(known))
            self._remembered.setdefault(key, memory)
        self._remembered[key].codes(raw, hashes[raw.name], out)

    def _hashes(self, frame: pl.DataFrame) -> dict[str, Hashes]:
        names = {feature.column for feature in self._features if feature.has_vocabulary and feature.value != "missing"}
        return {one.name: one.to_numpy() for one in frame.select(pl.col(name).hash() for name in names)}

    def _codes(self, feature: Feature, raw: pl.Series) -> NDArray[np.int32]:
        values = self._normalised(raw)
        coded = values.to_frame().select(value_of(feature, values.dtype, self._options)).to_series()
        if feature.value != "text":
            _check(raw, (values.is_not_null() & coded.is_null()).to_numpy(), "no date as in the table's files")
        return encode(coded, self._vocabularies[feature.name])

    def _numbers(self, raw: pl.Series) -> NDArray[np.float64]:
        """Float64 (n,), NaN where a number is missing."""
        if raw.dtype.is_float() or raw.dtype.is_integer() or raw.dtype == pl.Boolean:
            x = raw.cast(pl.Float64).fill_null(float("nan")).to_numpy()
            _check(raw, np.abs(x) > LARGEST_NUMBER, NO_NUMBER)
            return x
        values = self._normalised(raw)
        of_text = number(raw.name, values.dtype, self._options.reading)
        numbers = values.to_frame().select(of_text).to_series()
        _check(raw, (values.is_not_null() & numbers.is_null()).to_numpy(), NO_NUMBER)
        return numbers.fill_null(float("nan")).to_numpy()

    def _normalised(self, raw: pl.Series) -> pl.Series:
        return normalised(raw.to_frame(), self._options.reading).to_series()


class _WrongValueError(Exception):
    """Values, and what they are."""


def _check(raw: pl.Series, wrong: NDArray[np.bool_], what: str) -> None:
    if wrong.any():
        raise _WrongValueError(raw.filter(pl.Series(wrong)), what)


def _put_numbers(feature: Feature, raw: pl.Series, x: NDArray[np.float64], out: NDArray[Any]) -> None:
    """Write the bins of numbers (n,), or the standardised numbers, into `out` (n,): 0 where one is NaN."""
    missing = np.isnan(x)
    if feature.value == "bins":
        out[:] = np.where(missing, 0, 1 + np.searchsorted(feature.edges, x))
    else:
        with np.errstate(over="ignore"):
            out[:] = np.where(missing, 0.0, (x - feature.mean) / feature.std)
        _check(raw, ~np.isfinite(out), "too far from the numbers of the table's files")


FILE = "recipe.json"
FORMAT_VERSION = 3  # 2 coded 1.0 and 1, True and true as different values


@dataclass(frozen=True)
class Recipe:
    """From raw rows to the table's columns."""

    options: FilesOptions
    label: Label | None  # None where only bags have labels
    features: list[Feature]  # the table's columns, in order
    vocabularies: Mapping[str, pl.Series]  # by feature, the values of codes 1, 2, ...

    @property
    def raw_columns(self) -> list[str]:
        """The raw columns that features are made of."""
        return list(dict.fromkeys(feature.column for feature in self.features))

    @property
    def table_columns(self) -> list[Column]:
        """The table's columns."""
        columns = []
        for one in self.features:
            if one.has_vocabulary:
                transform = "rare merged" if one.value == "text" else one.value
                columns.append(Column(one.name, "categorical", len(self.vocabularies[one.name]) + 1, transform))
            elif one.value == "bins":
                columns.append(Column(one.name, "categorical", len(one.edges) + 2, "quantile bins"))
            else:
                columns.append(Column(one.name, "numeric", None, "standardised"))
        return columns

    def coder(self) -> RowCoder:
        """A coder of raw rows that remembers the codes of their values."""
        return RowCoder(self.features, self.vocabularies, self.options)

    def save(self, writer: TableWriter) -> None:
        """Write it into a table that is being written: `recipe.json`, and the columns' vocabularies."""
        content = {
            "format_version": FORMAT_VERSION,
            "options": self.options.model_dump(mode="json"),
            "label": self.label and self.label._asdict(),
            "features": [feature.model_dump(mode="json") for feature in self.features],
        }
        (writer.temporary / FILE).write_text(json.dumps(content, indent=1, allow_nan=False))
        for name, known in self.vocabularies.items():
            writer.set_vocabulary(name, known)
        for one in self.features:
            if one.value == "number":
                writer.set_encoding(one.name, encoding("standardised", mean=one.mean, std=one.std))

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read a table's recipe; refuses a table that has none, or a damaged one."""
        path = folder / FILE
        try:
            content: dict[str, Any] = json.loads(path.read_text())
            if content["format_version"] != FORMAT_VERSION:
                raise InputError(f"{path} has another format than this version reads; prepare {folder} again.")
            features = [Feature.model_validate(one) for one in content["features"]]
            categorical = enumerate(feature for feature in features if feature.value != "number")
            known = {one.name: read_vocabulary(folder, i)["value"] for i, one in categorical if one.has_vocabulary}
            label = content["label"] and Label(**content["label"])
            return cls(check_files_options(content["options"]), label, features, known)
        except FileNotFoundError as error:
            raise InputError(
                f"{folder} has no {Path(error.filename).name}: it was not made from own files, so files= cannot be "
                "coded alike; score its rows with dataset=NAME, or prepare the files by dataset=files and train on that"
            ) from None
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path} is damaged ({error}); prepare {folder} again.") from None
