"""One training of the estimators: the same table, config and run as the commands', in a folder that goes away."""

import logging
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray
from omegaconf import OmegaConf, open_dict

from llp.api.bags import BagLabels
from llp.config.checks import check_config
from llp.config.commands import TrainConfig
from llp.config.composition import compose
from llp.config.grouping_keys import read_option
from llp.config.own_datasets import dataset_node, literal
from llp.data.given_bags import write_given_bags
from llp.data.table import InstanceTable, LabelKind
from llp.data.table_writer import CHUNK_ROWS, TableWriter
from llp.datasets.files.features import fit_features, plan_features
from llp.datasets.files.kinds import check_names, find_kinds
from llp.datasets.files.options import FilesOptions, check_files_options
from llp.datasets.files.read import normalised
from llp.datasets.files.recipe import Recipe
from llp.datasets.files.reports import publish
from llp.methods.base import LLPMethod
from llp.runs.identity import Run
from llp.runs.load import load_method
from llp.runs.record import RunRecord
from llp.runs.run import run_one

TABLE = "data"
_WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"  # Lightning sets it with hardware.deterministic


class Trained(NamedTuple):
    """What a training leaves: how rows are encoded, what scores them, and the run's record."""

    recipe: Recipe
    method: LLPMethod
    record: RunRecord


class Sample(NamedTuple):
    """What an estimator is fitted on."""

    frame: pl.DataFrame  # features of n instances
    labels: BagLabels | Mapping[tuple[str, ...], pl.DataFrame]  # or the table of each query, by its columns
    y: NDArray[np.float64] | None  # (n,) labels, where they are known: only the methods that are meant to see them do
    label_kind: LabelKind
    facts: Mapping[str, float]  # what is known of the noise in the sums
    rows: Literal["unknown"] | None = None  # where a report counts others too
    labelled: tuple[pl.DataFrame, NDArray[np.float64]] | None = None  # further rows beside a report, and their labels


def train(sample: Sample, options: FilesOptions, overrides: Sequence[str], *, verbose: bool) -> Trained:
    """Train on bags, with options of `llp.train` as on its command line; `verbose` prints the epochs."""
    sample = sample._replace(frame=normalised(sample.frame, options.reading))
    with tempfile.TemporaryDirectory(prefix="llp-") as name, _process_as_it_was(verbose):
        place = Path(name)
        recipe = _write_table(place / TABLE, sample, options)
        table = InstanceTable.open(place / TABLE)
        given = ["grouping_key=given", "grouping_key.n_folds=1", "fold=0", "save_model=true", "checkpoint_minutes=60"]
        config = compose("train", [*given, f"data_dir='{place}'", f"outputs_dir='{place / 'outputs'}'", *overrides])
        with open_dict(config):
            config.dataset = OmegaConf.create(literal(dataset_node(TABLE, table.schema)))
        checked = check_config(config, TrainConfig)
        record = run_one(checked)
        folder = Run.of(checked.identity, table, checked.outputs_dir).folder
        return Trained(recipe, load_method(folder, table), record)


def files_options(coding: Mapping[str, Any], categorical: Sequence[str]) -> FilesOptions:
    """The options of own files as `conf/dataset/files.yaml` has them, with some replaced."""
    defaults = OmegaConf.to_container(read_option("dataset/files"))
    assert isinstance(defaults, dict)
    replaced = {name: value for name, value in coding.items() if value is not None}
    given = {**defaults, **replaced, "categorical": list(categorical)}
    return check_files_options(
        {
            group: {option: given[option] for option in FilesOptions.model_fields[group].annotation.model_fields}  # type: ignore[union-attr]
            for group in ("reading", "roles", "coding")
        }
    )


def _write_table(folder: Path, sample: Sample, options: FilesOptions) -> Recipe:
    frame, labels, y, label_kind, facts, rows, labelled = sample
    check_names(frame.columns, options.roles)
    lazy = frame.lazy()
    keys = () if isinstance(labels, BagLabels) else {name for query in labels for name in query}
    planned = plan_features(find_kinds(lazy, options), options.coding)
    features, vocabularies = fit_features(lazy, planned, options, whole=keys)
    recipe = Recipe(options, None, features, vocabularies)
    parts = [(frame, y)]
    if labelled is not None:
        parts.append((normalised(labelled[0], options.reading), labelled[1]))
        facts = {**facts, "labelled_rows": len(labelled[1])}
    height = sum(one.height for one, _ in parts)
    with TableWriter(folder, recipe.table_columns, label_kind=label_kind, rows=height) as writer:
        coder, start = recipe.coder(), 0
        for one, known in parts:
            for first in range(0, one.height, CHUNK_ROWS):
                codes, numbers, _ = coder.encode(one.slice(first, CHUNK_ROWS))
                label = np.full(codes.shape[1], np.nan) if known is None else known[first : first + CHUNK_ROWS]
                writer.write(start, codes.T, numbers, label)
                start += len(label)
        recipe.save(writer)
        if isinstance(labels, BagLabels):
            ids = [str(number) for number in range(len(labels.size))]
            bags, row = pl.DataFrame({"id": ids, "size": labels.size, "label_sum": labels.label_sum}), labels.instance
            number = labels.number
        else:
            number, row = None, None
            codes, sampled = writer.categorical[: frame.height], rows == "unknown"
            bags = publish(recipe, codes, labels, binary=label_kind == "binary", sample=sampled)
        write_given_bags(writer.temporary, number, bags, row=row)
        made_by = {"_target_": "llp.api.training.train"} | ({} if rows is None else {"rows": rows})
        writer.finish(made_by=made_by, source={}, facts=dict(facts), given_bags=len(bags), aggregates_only=y is None)
    return recipe


@contextmanager
def _process_as_it_was(verbose: bool) -> Iterator[None]:
    """Leave what torch has for the whole process as it was, and the log: the process is the user's."""
    threads, log = torch.get_num_threads(), logging.getLogger("llp")
    deterministic = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    workspace = os.environ.get(_WORKSPACE)
    level, handler = log.level, logging.StreamHandler(sys.stdout)
    if verbose:
        log.setLevel(logging.INFO)
        log.addHandler(handler)
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(deterministic[0], warn_only=deterministic[1])
        if workspace is None:
            os.environ.pop(_WORKSPACE, None)
        log.removeHandler(handler)
        log.setLevel(level)
