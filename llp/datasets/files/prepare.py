"""Own files to an instance table: `python -m llp.prepare dataset=files name=mine files=... label=...`."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from pydantic import PositiveFloat

from llp.config.grouping_keys import options as known_datasets
from llp.data.noise import LARGEST_SCALE
from llp.data.table import LabelKind
from llp.data.table_place import scratch
from llp.datasets.files.bags import Sizes, Unmatched, check_bags, match_bags, read_bags
from llp.datasets.files.features import Vocabularies, fit_features, plan_features
from llp.datasets.files.ids import note_ids
from llp.datasets.files.kinds import find_kinds, kinds_table
from llp.datasets.files.label import Label, check_weights, find_label
from llp.datasets.files.options import FilesOptions, Roles, check_files_options
from llp.datasets.files.read import stage_files
from llp.datasets.files.recipe import Recipe
from llp.datasets.files.report_files import ReportOptions, label_kind_of, read_reports, with_keys
from llp.datasets.files.values import bags_of, check_date_format
from llp.datasets.files.write import BAG_NUMBERS, LABEL, Found, Labels, Part, write_table
from llp.datasets.reading.find import check_each_once, find_files
from llp.datasets.reading.stage import Staged, in_order
from llp.datasets.staging import progress_bars
from llp.errors import InputError, invalid

log = logging.getLogger(__name__)


FilesGiven = str | list[str]
OF_REPORTS = ("queries", "noise_sd", "rows", "labelled")


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
    reports: FilesGiven | None = None,
    queries: str | None = None,
    noise_sd: PositiveFloat | None = None,
    rows: Literal["unknown"] | None = None,
    labelled: FilesGiven | None = None,
) -> None:
    """Write the instance table of own files; `conf/dataset/files.yaml` says what each option means."""
    if folder.name in known_datasets("dataset"):
        raise InputError(
            f"Invalid name={folder.name}: dataset={folder.name} is another one, expected a name of its own"
        )
    if epsilon is not None and bags is None and reports is None:
        raise InputError(f"Invalid epsilon={epsilon}: it is of the noise in bags=, expected that option too")
    of_reports = dict(zip(OF_REPORTS, (queries, noise_sd, rows, labelled), strict=True))
    _check_reports(reports, of_reports, bags=bags, roles=roles)
    unsaid = ("reports", *OF_REPORTS)  # tables of before there were reports are the same
    made_by = {name: value for name, value in made_by.items() if value is not None or name not in unsaid}
    if epsilon is not None and epsilon < 1 / LARGEST_SCALE:
        expected = f"a number >= {1 / LARGEST_SCALE:g}, as the noise on a sum has to fit into 32 bits"
        raise invalid("epsilon", epsilon, expected, 0.1)
    if bag_sizes != "check" and bags is None:
        raise InputError(f"Invalid bag_sizes={bag_sizes}: they stand in bags=, expected that option too")
    options = check_files_options({"reading": reading, "roles": roles, "coding": coding})
    check_date_format(options.coding.date_format)
    given = {"files": files, "labelled": labelled, "test_files": test_files, "reports": reports}
    aggregates = "bags" if bags is not None else "reports" if reports is not None else None
    labelled_given = [option for option in ("labelled", "test_files") if given[option] is not None]
    of_rows = _roles_of(options.roles, aggregates=aggregates, labelled_given=labelled_given)
    found = {option: find_files(_listed(names), option=option) for option, names in given.items() if names is not None}
    check_each_once(found)
    of_report = ReportOptions(found.pop("reports", []), queries, noise_sd, epsilon, options.roles.label)
    with scratch(folder) as parts, progress_bars() as progress:
        staged = stage_files(found, of_rows, options, errors=errors, folder=parts, progress=progress)
        train = staged["files"]
        report = None
        if reports is not None:
            known = [name for name in train.lazy.collect_schema().names() if name not in options.roles.not_features]
            report = read_reports(of_report, train.lazy, known, options.reading)
            options = with_keys(options, report)
        for option, one in staged.items():
            if options.roles.weight_column is not None:
                check_weights(one.lazy, options.roles.weight_column, option, options.reading)
        label = _label(staged, options, aggregates=aggregates)
        raw_columns = note_ids(train.lazy, find_kinds(train.lazy, options, train.place), options.reading)
        progress.console.print(kinds_table(raw_columns, train.rows))
        if options.coding.date_format != "iso" and all(one.kind != "date" for one in raw_columns):
            said = "date_format=%s has no effect: no column holds dates that are written so"
            log.warning(said, options.coding.date_format)
        keys = {name for query in (() if report is None else report.tables) for name in query}
        planned = plan_features(raw_columns, options.coding)
        features, vocabularies = fit_features(train.lazy, planned, options, whole=keys)
        _tell_rare(vocabularies, options.coding.rare_threshold)
        recipe = Recipe(options, label, features, vocabularies)
        of_bags, kind = None, None if label is None else label.kind
        noise: dict[str, float] = {} if epsilon is None or bags is None else {"epsilon": epsilon}
        if options.roles.bag_column is not None:
            of_bags, kind, stated = _bags(
                train, recipe, bags, kind, sizes=bag_sizes, unmatched=unmatched_bags, noisy=epsilon is not None
            )
            noise |= check_bags(of_bags, kind, stated, epsilon)
        if report is not None and kind is None:
            kind = label_kind_of(report, options.roles)
        assert kind is not None
        some: Labels = "some" if options.roles.label in train.lazy.collect_schema() else "none"
        written = {
            option: Part(
                one,
                recipe,
                "all" if option != "files" or aggregates is None else some,
                None if of_bags is None or option == "test_files" else of_bags["id"],
            )
            for option, one in staged.items()
        }
        everything = Found(written, kind, of_bags, raw_columns, noise, report, sample=rows == "unknown")
        write_table(folder, made_by, everything, progress)


def _listed(files: FilesGiven) -> list[str]:
    return [files] if isinstance(files, str) else list(files)


def _check_reports(
    reports: FilesGiven | None, beside: Mapping[str, Any], *, bags: FilesGiven | None, roles: Mapping[str, Any]
) -> None:
    """Refuse options of reports without these, and other aggregates beside them."""
    for name, value in beside.items():
        if value is not None and reports is None:
            raise InputError(f"Invalid {name}={value}: it goes with reports=, expected that option too")
    others = {"bags": bags, "bag_column": roles["bag_column"], "overlap": roles["overlap"] or None}
    for name, value in others.items():
        if value is not None and reports is not None:
            raise InputError(f"Invalid {name}={value}: the cells of reports= are the bags; expected one of the two")


def _roles_of(roles: Roles, *, aggregates: str | None, labelled_given: Sequence[str]) -> dict[str, Roles]:
    """By option, the roles that its files must have columns for; refuses an option that lacks another one."""
    if aggregates == "bags" and roles.bag_column is None:
        raise InputError("Missing bag_column: expected the column that names the bags, such as bag_column=campaign")
    if roles.label is None and aggregates is None:
        raise InputError("Missing label: expected its column, such as label=clicked, or bags= and bag_column=")
    if roles.label is None and labelled_given:
        option = labelled_given[0]
        raise InputError(f"Missing label: expected the column of the labels of {option}=, such as label=clicked")
    if roles.overlap and roles.bag_column is None:
        raise InputError("Invalid overlap=true: expected the column of the bags too, such as bag_column=campaign")
    no_bags = roles.model_copy(update={"bag_column": None})
    return {
        "files": roles.model_copy(update={"label": None}) if aggregates else roles,
        "labelled": no_bags,
        "test_files": no_bags,
    }


def _label(staged: Mapping[str, Staged], options: FilesOptions, *, aggregates: str | None) -> Label | None:
    """The label of the files that have one: beside a report those that are learnt from, where there are any."""
    column = options.roles.label
    order = {"bags": ("test_files",), "reports": ("labelled", "files", "test_files"), None: ("files",)}[aggregates]
    with_label = [one for one in order if one in staged and column in staged[one].lazy.collect_schema()]
    return find_label(staged[with_label[0]].lazy, options.roles, options.reading) if with_label else None


def _tell_rare(vocabularies: Vocabularies, rare_threshold: int) -> None:
    empty = [name for name, known in vocabularies.items() if known.is_empty()]
    if empty:
        log.warning(
            "no value of %s is seen more than %d times, so all share one code; rare_threshold=0 keeps them apart",
            ", ".join(map(repr, empty)), rare_threshold,
        )  # fmt: skip


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
        part, size, label_sum = Part(train, recipe, "all", known["id"]), np.zeros(len(known), int), np.zeros(len(known))
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
