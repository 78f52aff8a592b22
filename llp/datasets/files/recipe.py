"""The recipe of own files' rows: kept with the table, and used again for new rows."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import polars as pl

from llp.data.table import Column
from llp.data.table_writer import TableWriter
from llp.data.vocabulary import encoding, read_vocabulary
from llp.datasets.files.coder import RowCoder
from llp.datasets.files.features import Feature
from llp.datasets.files.label import Label
from llp.datasets.files.options import FilesOptions, check_files_options
from llp.errors import InputError

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
