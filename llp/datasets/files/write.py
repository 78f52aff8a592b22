"""The rows of own files coded and written as a table: features, label, weight, bag, id."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.progress import Progress

from llp.data.given_bags import NO_BAG, write_given_bags
from llp.data.table import LabelKind
from llp.data.table_writer import TableWriter
from llp.datasets.files.kinds import RawColumn
from llp.datasets.files.recipe import FORMAT_VERSION, Recipe, RowCoder
from llp.datasets.files.report_files import Reports
from llp.datasets.files.reports import publish
from llp.datasets.files.values import bags_of, number, text
from llp.datasets.ordered_map import ordered_map
from llp.datasets.reading.stage import Staged
from llp.errors import InputError

LABEL, BAG_NUMBERS = "\0label", "\0bags"  # names of made columns: no file's has a zero byte

Labels = Literal["all", "some", "none"]
Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)


@dataclass(frozen=True)
class Part:
    """The files of one option: their rows, and which label and which bag each of them has."""

    staged: Staged
    recipe: Recipe
    labels: Labels  # NaN stands for that of a row without one
    bag_ids: pl.Series | None  # of bags 0, 1, ...; rows of other bags alone are left out

    def kept(self, frame: Frame) -> Frame:
        """Those of some rows that are kept, with `LABEL` and `BAG_NUMBERS`."""
        kinds = self.staged.lazy.collect_schema()
        label, bags, kept = pl.lit(float("nan")), pl.lit([], pl.List(pl.Int32)), pl.col(LABEL).is_not_null()
        if self.labels != "none":
            assert self.recipe.label is not None
            label = self.recipe.label.values(kinds[self.recipe.label.column], self.recipe.options.reading)
            label = label if self.labels == "all" else label.fill_null(float("nan"))
        if self.bag_ids is not None:
            roles, known = self.recipe.options.roles, self.bag_ids
            assert roles.bag_column is not None
            numbers = pl.Series(np.arange(len(known), dtype=np.int32))
            bags = bags_of(
                roles.bag_column, kinds[roles.bag_column], overlap=roles.overlap,
                reading=self.recipe.options.reading,
                known_as=lambda ids: ids.replace_strict(known, numbers, default=None, return_dtype=pl.Int32),
            )  # fmt: skip
            kept &= pl.col(BAG_NUMBERS).list.len() > 0
        return frame.with_columns(label.alias(LABEL), bags.alias(BAG_NUMBERS)).filter(kept)

    def count(self, option: str) -> int:
        """The number of rows that are kept; refuses lacking labels, unless they may be left out, and equal labels."""
        found = self.kept(self.staged.lazy).select(n=pl.len(), sum=pl.col(LABEL).sum()).collect(engine="streaming")
        n, total = found.row(0)
        if self.labels != "all":
            return int(n)
        assert self.recipe.label is not None
        column, everything = self.recipe.label.column, self.staged.rows
        if self.bag_ids is None and n < everything and self.staged.bad_lines.errors == "stop":
            raise InputError(
                f"{everything - n} of the {everything} rows of {option} have no label in {column!r}, or one that is no "
                "number; correct them, or leave them out with errors=skip"
            )
        if self.recipe.label.kind == "binary" and total in (0, n) and option != "labelled":
            raise InputError(
                f"all {n} rows of {option} have the label {min(total, 1):g} in {column!r}: both are needed"
            )
        return int(n)


class _Encoded(NamedTuple):
    """Rows, coded."""

    codes: NDArray[np.int32]  # (Fc, m)
    numbers: NDArray[np.float32]  # (m, Fn)
    label: NDArray[np.float64]  # (m,)
    weight: NDArray[np.float64] | None  # (m,)
    row: NDArray[np.int64]  # (k,) of each pair of a row and a bag
    bag: NDArray[np.int32]  # (k,) its number


@dataclass(frozen=True)
class Found:
    """Everything that is known of own files before their rows are coded."""

    parts: Mapping[str, Part]  # by option: files, and perhaps test_files
    label_kind: LabelKind
    bags: pl.DataFrame | None  # id, size and label_sum of the given bags
    raw_columns: Sequence[RawColumn]  # the feature columns of files
    noise: dict[str, float]  # what is known of the noise in the sums
    report: Reports | None = None  # whose cells are the bags of the rows of files
    sample: bool = False  # whether it counts further rows than those


def write_table(folder: Path, made_by: Mapping[str, Any], found: Found, progress: Progress) -> None:
    """Code the rows of the files, and of the test files behind them, and write the table."""
    parts, bags = found.parts, found.bags
    counted = {option: part.count(option) for option, part in parts.items()}
    recipe, rows = parts["files"].recipe, sum(counted.values())
    overlap = recipe.options.roles.overlap
    bag_of_row, label_sum = np.full(0 if bags is None or overlap else rows, NO_BAG, np.int32), 0.0
    pairs: list[tuple[NDArray[np.int64], NDArray[np.int32]]] = []  # of row and bag, where a row may have several
    with TableWriter(folder, recipe.table_columns, label_kind=found.label_kind, rows=rows) as writer:
        task = progress.add_task("code", total=rows, detail="")
        start, some_labels = 0, parts["files"].labels == "some"
        groups = [(part, group) for part in parts.values() for group in part.staged.groups()]
        coded = partial(_encoded, recipe.coder())
        for encoded in ordered_map(coded, groups):
            stop = start + len(encoded.label)
            writer.write(
                start, encoded.codes.T, encoded.numbers, encoded.label, weight=encoded.weight, some_labels=some_labels
            )
            if overlap:
                pairs.append((start + encoded.row, encoded.bag))
            else:
                bag_of_row[start + encoded.row] = encoded.bag
            label_sum += float(np.nansum(encoded.label))
            start = stop
            progress.update(task, completed=start, detail=f"{start:,} rows")
        recipe.save(writer)
        id_column = recipe.options.roles.id_column
        if id_column is not None:
            ids = [part.kept(part.staged.lazy).select(id_column) for part in parts.values()]
            kinds = [one.collect_schema()[id_column] for one in ids]
            if len({*kinds}) > 1:  # of a text file and of a typed one
                texts = (text(id_column, kind, recipe.options.reading) for kind in kinds)
                ids = [one.select(as_text.alias(id_column)) for one, as_text in zip(ids, texts, strict=True)]
            pl.concat(ids).sink_parquet(writer.temporary / "ids.parquet")
        row: NDArray[np.int64] | None = None
        bag: NDArray[np.int32] | None = bag_of_row
        if found.report is not None:
            codes, binary = writer.categorical[: counted["files"]], found.label_kind == "binary"
            bag = None
            bags = publish(
                recipe, codes, found.report.tables, binary=binary, sample=found.sample, place=found.report.place
            )
        elif overlap:
            row, bag = (np.concatenate(one) for one in zip(*pairs, strict=True))
        if bags is not None:
            write_given_bags(writer.temporary, bag, bags, row=row)
        aggregates_only = parts["files"].labels != "all"
        sources = {option: part.staged.source for option, part in parts.items()}
        writer.finish(
            made_by=made_by,
            source=sources | ({} if found.report is None else {"reports": found.report.source}),
            facts=_facts(found, bags, rows)
            | found.noise
            | ({} if aggregates_only else {"label_mean": label_sum / rows}),
            test_rows=counted.get("test_files", 0),
            given_bags=0 if bags is None else bags.height,
            aggregates_only=aggregates_only,
        )


def _encoded(coder: RowCoder, what: tuple[Part, list[Path]]) -> _Encoded:
    part, paths = what
    frame = part.kept(pl.scan_ipc(paths, glob=False).collect())
    options = part.recipe.options
    column, weight = options.roles.weight_column, None
    if column is not None:
        weights = frame.select(number(column, frame.schema[column], options.reading)).to_series()
        weight = weights.fill_null(float("nan")).to_numpy()
    bags, n_bags = frame[BAG_NUMBERS], frame[BAG_NUMBERS].list.len()
    row = np.repeat(np.arange(frame.height), n_bags.to_numpy())
    bag = bags.filter(n_bags > 0).explode().to_numpy()
    codes, numbers, _ = coder.encode(frame)
    return _Encoded(codes, numbers, frame[LABEL].to_numpy(), weight, row, bag)


def _facts(found: Found, bags: pl.DataFrame | None, rows: int) -> dict[str, Any]:
    staged = [part.staged for part in found.parts.values()]
    facts = {
        "coding_version": FORMAT_VERSION,  # the same rows coded in another way are another table
        "missing_share": {one.name: one.missing / staged[0].rows for one in found.raw_columns},
        "lines_left_out": sum(one.bad_lines.count for one in staged),
        "rows_left_out": sum(one.rows for one in staged) - rows,
        "repeated_headers": sum(one.repeated_headers for one in staged),
    }
    if "labelled" in found.parts:
        facts["labelled_rows"] = found.parts["labelled"].count("labelled")
    if bags is not None:
        size, label_sum = bags["size"].to_numpy(), bags["label_sum"].to_numpy()
        facts |= {"bags": bags.height, "bag_sizes": f"{size.min()} to {size.max()}, mean {size.mean():.1f}"}
        facts["bag_label_mean"] = float(label_sum.sum() / size.sum())
    return facts
