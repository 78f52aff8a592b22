"""What a kind of bags is: the pattern of its name, its options, its bags, its words for tables."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, ConfigDict, PositiveInt

from llp.data.bags import Bags, Rows, make_bags
from llp.data.folds import fold_positions
from llp.data.table import InstanceTable
from llp.errors import InputError, invalid

MIN_ROWS = 10  # five folds of at least two rows
Columns = Annotated[tuple[str, ...], BeforeValidator(lambda value: tuple(value) if isinstance(value, list) else value)]


@dataclass(frozen=True)
class FoldBags:
    """The bags of one fold: `train` ones, rising `test_rows`, or `test_bags` where no row has a label to measure."""

    train: Bags  # they partition the train rows
    test_rows: Rows  # rising: rows with labels that measure the run; empty where there is none
    test_bags: Bags | None = None  # None where these rows, or held-out bags, measure the run
    n_left_out: int = 0  # given bags that are neither, as they share rows with `test_bags`


class GroupingKey(BaseModel):
    """How a dataset's instances are put into bags; a kind of bags is a class of its own, with its options as fields.

    A kind says by which value of each row its bags are made (`values`), which rows are in bags (`kept`), and which rows
    lie together (`group`). A fold's bags, and those of a whole table, follow.

    Attributes
    ----------
    pattern : str
        Of the name that selects it on the command line, with its options in braces; `columns` stand side by side.
    words : str
        What tables and sentences call its bags.
    refits : bool
        Whether its bags differ by what they are made of, so that each one says something of its own: under
        `protocol.refit=auto` the final model is then trained again on all of them.
    cut_from_sorted : bool
        Whether its bags are cut from sorted rows: their instances neither share a value nor are drawn at random.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)
    pattern: ClassVar[str]
    words: ClassVar[str]
    refits: ClassVar[bool] = False
    cut_from_sorted: ClassVar[bool] = False

    kind: str

    @classmethod
    def read_name(cls, name: str) -> dict[str, Any] | None:
        """The options that a name says; None if it is the name of another kind."""
        pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>\\d+)", cls.pattern.replace("{columns}", "(?P<columns>.*)"))
        if not (found := re.fullmatch(pattern, name, re.DOTALL)):
            return None
        said = found.groupdict().items()
        return {option: text.split("_") if option == "columns" else int(text) for option, text in said}

    @classmethod
    def integers(cls) -> list[str]:
        """The integers of its name, such as bag_size."""
        return [option for option in re.findall(r"\{(\w+)\}", cls.pattern) if option != "columns"]

    @classmethod
    def named(cls, *, columns: Columns = (), **sizes: int) -> str:
        """Name of the key with these options."""
        return cls.pattern.format(columns="_".join(columns), **sizes)

    @property
    def options(self) -> dict[str, Any]:
        """Its kind and options by name."""
        return dict(self)

    @property
    def name(self) -> str:
        """The name that selects it on the command line: C3_C11, random_64, fixed_C3_C11_128, prior_64."""
        return self.named(**self.options)

    def check(self) -> None:
        """Refuse options that do not go together, before there is a table.

        Raises
        ------
        InputError
            Says which ones.
        """

    def check_table(self, table: InstanceTable) -> None:
        """Refuse a table that has no such bags, before any work on it.

        Raises
        ------
        InputError
            Only its given bags have labels, or it lacks what the key names.
        """
        if table.schema.aggregates_only:
            raise InputError(
                f"Invalid grouping_key={self.name}: only the given bags of {table.folder.name} have labels, expected "
                "grouping_key=given"
            )

    def digests(self) -> dict[str, str]:
        """Digest of the content of each file that an option names: with it, a run knows which bags it had."""
        return {}

    def values(self, table: InstanceTable) -> NDArray[Any]:
        """By what each row (N,) is put into a bag: all alike, if nothing else is said."""
        return np.zeros(table.n_rows, np.bool_)

    def kept(self, values: NDArray[Any], least: int) -> Rows:
        """Rows that are in bags, rising; all of them, if nothing else is said.

        Parameters
        ----------
        values : ndarray
            (n,) of the first n rows of a table.
        least : int
            Fewest rows that can be split into folds.

        Raises
        ------
        InputError
            Fewer are kept.
        """
        return np.arange(len(values))

    def group(self, rows: Rows, values: NDArray[Any], rng: np.random.Generator) -> tuple[Rows, NDArray[np.int64]]:
        """Bring rows (m,) with these values (m,) together: the rows bag after bag, and where each begins (K + 1)."""
        raise NotImplementedError

    def bags(self, table: InstanceTable, rows: Rows, values: NDArray[Any], rng: np.random.Generator) -> Bags:
        """The bags of rows (m,) with these values (m,)."""
        return make_bags(*self.group(rows, values, rng), table.label)

    def generator(self, *fold: int | None) -> np.random.Generator:
        """The source of a fold's draws; they are the dataset's, not the run's."""
        return np.random.default_rng([self.options.get("seed", 0), *(one for one in fold if one is not None)])

    def fold_bags(self, table: InstanceTable, fold: int, repeat: int | None = None) -> FoldBags:
        """Build the train bags and find the test rows of a fold, in a fraction of a second per million rows.

        Each repeat has five other folds; None has the published ones.

        The folds split the rows that are kept on the whole table; the train rows are then grouped by themselves, so
        that no bag reaches over the folds (a feature bag may become smaller than `low_thresh`).

        Raises
        ------
        InputError
            Too few rows are there, or kept, for five folds; or the table has a given test split and the fold is not 0.
        """
        self.check_table(table)
        n_test = table.schema.test_rows
        if n_test and fold != 0:
            raise InputError(f"Invalid fold={fold}: {table.folder.name} has a given test split, expected fold=0")
        values = self.values(table)[: table.n_rows - n_test]  # test rows are the last
        rows = self.kept(values, 1 if n_test else MIN_ROWS)
        if n_test:
            train, test = rows, np.arange(len(values), table.n_rows)
        elif len(values) < MIN_ROWS:
            raise InputError(f"{table.folder} has {table.n_rows} rows, five folds need at least {MIN_ROWS}")
        else:
            train, test = (rows[part] for part in fold_positions(len(rows), fold, repeat))
        return FoldBags(self.bags(table, train, values[train], self.generator(fold, repeat)), test)

    def all_bags(self, table: InstanceTable) -> Bags:
        """Build the bags of the whole table, without folds: what an analysis looks at."""
        values = self.values(table)
        rows = self.kept(values, 0)
        return self.bags(table, rows, values[rows], self.generator())

    def measured_by_bags(self, table: InstanceTable) -> bool:
        """Whether no row with a label is left to measure a run, so that bags do."""
        return False

    def most_bags_of_a_row(self, table: InstanceTable) -> int:
        """In how many bags a row is at most."""
        return 1

    def shares_of_queries(self, table: InstanceTable, shares: Mapping[str, float] | None) -> NDArray[np.float64] | None:
        """What part of the noise's promise each query has, in their order; other bags than a report's have none."""
        if shares is not None:
            raise invalid("noise.shares", dict(shares), "null, as only grouping_key=report has queries", None)
        return None


class SizedKey(GroupingKey):
    """Runs of `bag_size` rows in an order; the rest, a smaller run, stays a bag."""

    bag_size: PositiveInt

    def cut(self, ordered: Rows) -> tuple[Rows, NDArray[np.int64]]:
        """Cut ordered rows (m,) into runs; the train bags partition the train rows, so the last one may be short."""
        return ordered, np.append(np.arange(0, len(ordered), self.bag_size), len(ordered))
