"""The options of own files: how they are read, what their columns are for, how values become codes and numbers."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field as Constraint
from pydantic import NonNegativeInt, ValidationError

from llp.config.complaints import complaint
from llp.datasets.reading.options import SEPARATORS, Names, Options, Reading, Text
from llp.errors import InputError

DatePart = Literal["year", "month", "day", "weekday", "hour"]


class Roles(Options):
    """The roles of the columns; kinds of columns that none names are inferred."""

    label: Text | None  # None where only bags have labels
    positive: Text | None  # the text that means 1; every other one means 0
    label_kind: Literal["auto", "binary", "real"]  # auto: binary where the values are 0 and 1, or `positive` is given
    categorical: Names
    numeric: Names
    dates: Names
    ignore: Names  # left out
    id_column: Text | None  # names each instance
    weight_column: Text | None  # weighs it in the evaluation
    bag_column: Text | None  # says in which bag it is
    overlap: bool  # an instance may be in several bags, whose ids stand in `bag_column` with | between them

    @property
    def named(self) -> list[tuple[str, str]]:
        """Options that name columns, each with a column that it names."""
        one = ("label", "id_column", "weight_column", "bag_column")
        several = ("ignore", "categorical", "numeric", "dates")
        return [(option, name) for option in one if (name := getattr(self, option)) is not None] + [
            (option, name) for option in several for name in getattr(self, option)
        ]

    @property
    def not_features(self) -> dict[str, str]:
        """Columns that are no features, and the option that says so."""
        return {name: option for option, name in self.named if option not in ("categorical", "numeric", "dates")}


class Coding(Options):
    """The coding of values as codes and numbers."""

    rare_threshold: NonNegativeInt  # categorical values seen at most this often share one code
    numeric_as: Literal["standardised", "bins", "both"]  # mean 0 and standard deviation 1, quantile bins, or both
    bins: Annotated[int, Constraint(ge=2, le=10_000)]  # quantile bins of a number
    missing_as: Literal["indicator", "mean"]  # a missing number is the mean; with indicator a column beside it says so
    date_parts: tuple[DatePart, ...]  # what a date becomes
    date_format: Annotated[str, Constraint(examples=["iso"])]  # iso, or such as %d.%m.%Y


class FilesOptions(Options):
    """The options of own files."""

    reading: Reading
    roles: Roles
    coding: Coding


def check_files_options(given: Mapping[str, Any]) -> FilesOptions:
    """Check the options of own files; refuses one character, or one column, for two things."""
    checked = {}
    for group, model in (("reading", Reading), ("roles", Roles), ("coding", Coding)):
        try:
            checked[group] = model.model_validate(given[group])
        except ValidationError as error:
            raise complaint(error, given[group], model.model_json_schema()) from None
    options = FilesOptions.model_validate(checked)
    reading, used = options.reading, dict[str, str]()
    if reading.thousands == reading.decimal:
        raise InputError(f"Invalid thousands={reading.thousands}: decimal={reading.decimal} is the same mark")
    if reading.quote == SEPARATORS.get(reading.separator, reading.separator):
        raise InputError(f"Invalid quote={reading.quote!r}: separator={reading.separator} is the same character")
    for option, name in options.roles.named:
        if used.setdefault(name, option) != option:
            raise InputError(f"Invalid {option}={name}: the column stands in {used[name]}= too; name it once")
    return options
