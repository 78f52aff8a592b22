"""Own files to an instance table: `python -m llp.prepare dataset=files name=mine files=... label=...`.

The files are read once, block by block, into Arrow files beside the table's place; kinds, vocabularies and statistics
are found there, column by column; then the rows are coded and written. Memory holds the largest vocabulary and a few
blocks, whatever the number of rows (and four bytes a row where rows name their bags).
"""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from pydantic import PositiveFloat

from llp.config.grouping_keys import options as known_datasets
from llp.data.label_sums import ROUNDING, check_sums
from llp.data.noise import LARGEST_SCALE
from llp.data.table import LabelKind
from llp.datasets.files.bags import Sizes, Unmatched, match_bags, read_bags
from llp.datasets.files.features import Vocabularies, fit_features, plan_features
from llp.datasets.files.ids import tell_ids
from llp.datasets.files.kinds import RawColumn, find_kinds, kinds_table
from llp.datasets.files.label import Label, find_label
from llp.datasets.files.options import FilesOptions, Roles, check_files_options
from llp.datasets.files.recipe import Recipe
from llp.datasets.files.stage import stage_files
from llp.datasets.files.values import bags_of, check_date_format
from llp.datasets.files.weights import check_weights
from llp.datasets.files.write import BAG_NUMBERS, LABEL, Found, Part, write_table
from llp.datasets.reading.find import check_each_once, find_files
from llp.datasets.reading.stage import Staged, in_order
from llp.datasets.staging import progress_bars, scratch
from llp.errors import InputError, invalid

log = logging.getLogger(__name__)


FilesGiven = str | list[str]


def prepare(
    *,
    folder: Path,
    made_by: Mapping[str, Any],
    files: FilesGiven,
    test_files: FilesGiven | None,
    bags: FilesGiven | None,
    bag_sizes: Sizes,
    unmatched_bags: Unmatched,
    epsilon: PositiveFloat | None,
    errors: Literal["stop", "skip"],
    reading: Mapping[str, Any],
    roles: Mapping[str, Any],
    coding: Mapping[str, Any],
) -> None:
    """Write the instance table of own files; the parameters are what `conf/dataset/files.yaml` hands over by name.

    `test_files` hold a given test split, which plays no part in the vocabularies and statistics; `bags` are files with
    the labels of the bags, where `files` hold none. `epsilon` is that of Laplace noise of scale 1/ε in the sums of
    `bags`: labels of 0 and 1 may then sum to less than 0 or more than the rows, and measures of bags tell how many sums
    lie within the noise.
    """
    if folder.name in known_datasets("dataset"):
        raise InputError(
            f"Invalid name={folder.name}: dataset={folder.name} is another one, expected a name of its own"
        )
    if epsilon is not None and bags is None:
        raise InputError(f"Invalid epsilon={epsilon}: it is of the noise in bags=, expected that option too")
    if epsilon is not None and epsilon < 1 / LARGEST_SCALE:
        expected = f"a number >= {1 / LARGEST_SCALE:g}, as the noise on a sum has to fit into 32 bits"
        raise invalid("epsilon", epsilon, expected, 0.1)
    if bag_sizes != "check" and bags is None:
        raise InputError(f"Invalid bag_sizes={bag_sizes}: they stand in bags=, expected that option too")
    options = check_files_options({"reading": reading, "roles": roles, "coding": coding})
    check_date_format(options.coding.date_format)
    of_rows = _roles_of(options.roles, bags_given=bags is not None, test_given=test_files is not None)
    found = {
        option: find_files(_listed(names), option=option)
        for option, names in (("files", files), ("test_files", test_files))
        if names is not None
    }
    check_each_once(found)
    with scratch(folder) as parts, progress_bars() as progress:
        staged = stage_files(found, of_rows, options, errors=errors, folder=parts, progress=progress)
        train = staged["files"]
        for option, one in staged.items():
            if options.roles.weight_column is not None:
                check_weights(one.lazy, options.roles.weight_column, option, options.reading)
        label = _label(staged, options, bags_given=bags is not None)
        raw_columns = find_kinds(train.lazy, options, train.place)
        progress.console.print(kinds_table(raw_columns, train.rows))
        tell_ids([one.name for one in raw_columns if one.maybe_ids])
        _tell_no_date(raw_columns, options.coding.date_format)
        features, vocabularies = fit_features(train.lazy, plan_features(raw_columns, options.coding), options)
        _tell_rare(vocabularies, options.coding.rare_threshold)
        recipe = Recipe(options, label, features, vocabularies)
        of_bags, kind = None, None if label is None else label.kind
        noise: dict[str, float] = {} if epsilon is None else {"epsilon": epsilon}
        if options.roles.bag_column is not None:
            of_bags, kind, stated = _bags(
                train, recipe, bags, kind, sizes=bag_sizes, unmatched=unmatched_bags, noisy=epsilon is not None
            )
            noise |= _check_sums(of_bags, kind, stated, epsilon)
        assert kind is not None
        written = {
            option: Part(
                one,
                recipe,
                option == "test_files" or bags is None,
                None if of_bags is None or option == "test_files" else of_bags["id"],
            )
            for option, one in staged.items()
        }
        write_table(folder, made_by, Found(written, kind, of_bags, raw_columns, noise), progress)


def _listed(files: FilesGiven) -> list[str]:
    return [files] if isinstance(files, str) else list(files)


def _roles_of(roles: Roles, *, bags_given: bool, test_given: bool) -> dict[str, Roles]:
    """By option, the roles that its files must have columns for; refuses an option that lacks another one."""
    if bags_given and roles.bag_column is None:
        raise InputError("Missing bag_column: expected the column that names the bags, such as bag_column=campaign")
    if roles.label is None and not bags_given:
        raise InputError("Missing label: expected its column, such as label=clicked, or bags= and bag_column=")
    if roles.label is None and test_given:
        raise InputError("Missing label: expected the column of the labels of test_files=, such as label=clicked")
    if roles.overlap and roles.bag_column is None:
        raise InputError("Invalid overlap=true: expected the column of the bags too, such as bag_column=campaign")
    return {
        "files": roles.model_copy(update={"label": None}) if bags_given else roles,
        "test_files": roles.model_copy(update={"bag_column": None}),
    }


def _label(staged: Mapping[str, Staged], options: FilesOptions, *, bags_given: bool) -> Label | None:
    """The label of the files that have one."""
    if options.roles.label is None:
        return None
    return find_label(staged["test_files" if bags_given else "files"].lazy, options.roles, options.reading)


def _tell_rare(vocabularies: Vocabularies, rare_threshold: int) -> None:
    """Warn of columns that nothing can be learnt of."""
    empty = [name for name, known in vocabularies.items() if known.is_empty()]
    if empty:
        log.warning(
            "no value of %s is seen more than %d times, so all share one code; rare_threshold=0 keeps them apart",
            ", ".join(map(repr, empty)), rare_threshold,
        )  # fmt: skip


def _tell_no_date(raw_columns: Sequence[RawColumn], date_format: str) -> None:
    """Warn of a date format that no column is written in."""
    if date_format != "iso" and all(one.kind != "date" for one in raw_columns):
        log.warning("date_format=%s has no effect: no column holds dates that are written so", date_format)


def _bags(
    train: Staged, recipe: Recipe, bags: FilesGiven | None, kind: LabelKind | None, *, sizes: Sizes,
    unmatched: Unmatched, noisy: bool,
) -> tuple[pl.DataFrame, LabelKind, str]:  # fmt: skip
    """Id, size and label sum of the bags of the train rows, the kind of the labels, and by what the sums are stated."""
    roles, reading = recipe.options.roles, recipe.options.reading
    column = roles.bag_column
    assert column is not None
    kinds = train.lazy.collect_schema()
    named = bags_of(column, kinds[column], overlap=roles.overlap, reading=reading)
    ids, in_one = train.lazy.select(named.alias("id")), pl.col("id").list.len() > 0
    without = int(ids.select((~in_one).sum()).collect(engine="streaming").item())
    counts = ids.filter(in_one).explode("id").group_by("id").agg(rows=pl.len()).collect(engine="streaming")
    if without and unmatched == "stop":
        raise InputError(
            f"{without} of the {train.rows} rows of files name no bag in {column!r}; correct them, or leave them out "
            "with unmatched_bags=drop"
        )
    if bags is None:
        assert kind is not None
        assert recipe.label is not None
        known = counts.sort("id")
        part, size, label_sum = Part(train, recipe, True, known["id"]), np.zeros(len(known), int), np.zeros(len(known))
        for block in in_order(train.lazy.select({column, recipe.label.column})):
            pairs = part.kept(block).explode(BAG_NUMBERS)
            bag = pairs[BAG_NUMBERS].to_numpy()
            np.add.at(size, bag, 1)
            np.add.at(label_sum, bag, pairs[LABEL].to_numpy())  # one by one: see `in_order`
        summed = known.select("id", size=size, label_sum=label_sum)
        return summed.filter(pl.col("size") > 0), kind, "label_sum"
    stated = read_bags(_listed(bags), column, reading)
    if kind is None:
        found = "binary" if noisy else stated.label_kind  # noise can be stated of labels of 0 and 1 alone
        kind = found if roles.label_kind == "auto" else roles.label_kind
        percent = "; percentages of 0 and 1 have to be divided by 100" if stated.may_be_percentages else ""
        log.info("the labels are taken as %s; label_kind=binary or real says otherwise%s", kind, percent)
    return match_bags(counts, stated, sizes=sizes, unmatched=unmatched), kind, stated.label


def _check_sums(bags: pl.DataFrame, kind: LabelKind, stated: str, epsilon: float | None) -> dict[str, float]:
    """Refuse sums that no bag has, and say how many of them noise has moved where labels of 0 and 1 cannot sum to."""
    label_sum, size = bags["label_sum"].to_numpy(), bags["size"].to_numpy()
    n_outside = check_sums(label_sum, size, bags["id"].to_list(), kind, stated=stated, epsilon=epsilon)
    fractional = bags.filter((pl.col("label_sum") - pl.col("label_sum").round()).abs() > ROUNDING)
    if kind == "binary" and stated == "label_sum" and epsilon is None and len(fractional):
        log.warning(
            "%d of the %d label sums are no integers, such as %g of bag %r, and labels of 0 and 1 sum to integers: if "
            "they hold noise, state it by epsilon=..., if labels are others, write label_kind=real",
            len(fractional), len(bags), fractional[0, "label_sum"], fractional[0, "id"],
        )  # fmt: skip
    if not n_outside:
        return {}
    log.warning("noise has moved %d of the %d sums below 0 or above the size of their bag", n_outside, len(bags))
    return {"sums_outside": n_outside}
