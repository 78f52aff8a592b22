"""Checks of a composed config: what is wrong is refused before any work."""

import math
import os
from pathlib import Path

from omegaconf import DictConfig

from llp.config.commands import AnalyzeConfig, TrainConfig, name_of
from llp.config.grouping_keys import key_of, options, read_option
from llp.config.schema import AnyConfig, DatasetConfig, ProtocolConfig
from llp.config.validation import no_columns, validate
from llp.data.keys import GroupingKey
from llp.data.keys.feature import check_thresholds
from llp.data.noise import LARGEST_SCALE, LEAST_EPSILON, LEAST_SHARE, Noise
from llp.data.table import LabelKind
from llp.errors import InputError, choice, invalid, missing, nearest, plain


def check_config(config: DictConfig, model: type[AnyConfig]) -> AnyConfig:
    """Parse a composed config, and refuse one that cannot run before any work.

    Parameters
    ----------
    config : DictConfig
        What Hydra composed for a command.
    model : type
        The command's model, of `llp.config.commands`.

    Returns
    -------
    ConfigGroup
        The config as that model: from here on it is what is handed on.

    Raises
    ------
    InputError
        Says what was given, what is expected, and how to write it.
    """
    checked, command = validate(config, model), name_of(model)
    for name in ("data_dir", "outputs_dir"):
        if name in model.model_fields:
            write = command == "prepare" or (name == "outputs_dir" and command != "status")
            _check_folder(name, getattr(checked, name), write=write)
    dataset = getattr(checked, "dataset", None)
    if isinstance(dataset, DatasetConfig) and not dataset.embedded and dataset.source is None:
        raise missing("dataset.source", "where its raw files are had", "https://example.org/data.csv")
    if isinstance(checked, TrainConfig | AnalyzeConfig):
        _check_key(checked.grouping_key, checked.dataset)
    if isinstance(checked, AnalyzeConfig):
        check_thresholds("", checked.low_thresh, checked.high_thresh)
        if len(set(checked.bag_sizes)) < len(checked.bag_sizes):
            raise invalid("bag_sizes", checked.bag_sizes, "a list of sizes, each once", sorted(set(checked.bag_sizes)))
    if isinstance(checked, TrainConfig):
        _check_protocol(checked.protocol, checked.dataset.label_kind)
        _check_noise(checked.noise, checked.dataset.label_kind, checked.grouping_key)
        _check_labels(checked)
    return checked


def _check_folder(name: str, value: Path, *, write: bool) -> None:
    folder = value.absolute()
    try:
        there = next(path for path in (folder, *folder.parents) if path.exists() or path.is_symlink())
        is_folder = there.is_dir()
    except OSError as error:
        raise invalid(name, str(value), f"a folder, but it is none that can be ({error.strerror})", "FOLDER") from None
    readable = not write and there == folder  # what is prepared need not be writable
    if not is_folder or not (readable or os.access(there, os.W_OK)):
        lost = there.is_symlink() and not there.exists()
        problem = "may not be written" if is_folder else "is a link to nothing" if lost else "is not a folder"
        raise invalid(name, str(value), f"a folder, but {there} {problem}", "FOLDER")


def _check_protocol(protocol: ProtocolConfig, label_kind: LabelKind) -> None:
    for name, only in (("held_out", 0), ("select_by", "test"), ("test_in_curve", None), ("refit", None)):
        value = getattr(protocol, name)
        if protocol.name == "paper" and value != only:
            example = f"protocol=holdout protocol.{name}={plain(value)}"
            expected = "nothing" if only is None else plain(only)
            raise invalid(f"protocol.{name}", value, f"{expected} under protocol=paper", example)
    if protocol.name == "paper":
        return
    if protocol.held_out == 0:
        raise invalid("protocol.held_out", protocol.held_out, "a number > 0 and < 1", 0.1)
    if protocol.refit is None:
        raise missing("protocol.refit", "auto, true or false", "auto")
    fits = ["auto", "bag_loss", "upm"] + ([] if label_kind == "real" else ["debiased", "easy_llp"])
    if protocol.select_by not in fits:
        expected = f"{choice(fits)} for {label_kind} labels under protocol=holdout"
        raise invalid("protocol.select_by", protocol.select_by, expected, "auto")


def _check_noise(noise: Noise | None, label_kind: LabelKind, key: GroupingKey) -> None:
    """Refuse what a mechanism does not promise."""
    if noise is None:
        return
    if noise.flips and label_kind == "real":
        raise invalid("noise", "randomised_response", "laplace or gaussian for real labels", "laplace")
    if noise.flips and key.kind in ("given", "report"):
        raise InputError(
            f"Invalid noise=randomised_response: it flips labels of rows, which {key.words} share or lack; expected "
            "other bags, such as grouping_key=random_1, each label by itself, of which method=cell_glm takes sums over "
            "the cells of method.queries"
        )
    for name, only in (("neighbours", "label"), ("sensitivity", 1.0)):
        if noise.flips and getattr(noise, name) != only:
            raise invalid(f"noise.{name}", getattr(noise, name), f"{only} under noise=randomised_response", only)
    shares = None if noise.shares is None else [*noise.shares.values()]
    if shares is not None and not (shares and min(shares) >= LEAST_SHARE and abs(math.fsum(shares) - 1) <= 1e-6):
        expected = f"numbers >= {LEAST_SHARE:g} that sum to 1"
        raise invalid("noise.shares", dict(noise.shares or {}), expected, {"a": 0.5, "b": 0.3, "a_b": 0.2})
    if (pure := noise.flips or noise.mechanism == "laplace") and noise.delta != 0:
        chosen = f"noise=gaussian noise.delta={noise.delta}"
        raise invalid("noise.delta", noise.delta, f"0 under noise={noise.mechanism}", chosen)
    if not pure and noise.delta == 0:
        raise invalid("noise.delta", noise.delta, "a number > 0 and < 1 under noise=gaussian", "1e-6")
    if noise.mechanism != "laplace" and noise.epsilon < LEAST_EPSILON:
        expected = f"a number >= {LEAST_EPSILON:g} under noise={noise.mechanism.removeprefix('analytic_')}"
        raise invalid("noise.epsilon", noise.epsilon, expected, LEAST_EPSILON)
    if noise.epsilon < (least := noise.sensitivity / LARGEST_SCALE):
        expected = f"a number >= {least:g}, as the noise on a sum has to fit into 32 bits"
        raise invalid("noise.epsilon", noise.epsilon, expected, 0.1)


def _check_key(key: GroupingKey, dataset: DatasetConfig) -> None:
    """Refuse a key of columns that the dataset lacks, that are not in order, or that keeps no bag."""
    if key.options.get("columns") == ():
        raise no_columns(dataset.key_columns)
    check_columns("grouping_key", key, dataset)
    key.check()


def check_columns(option: str, key: GroupingKey, dataset: DatasetConfig) -> None:
    """Refuse a key of columns that the dataset lacks, or that are not in order; `option` is grouping_key or matrix."""
    known, columns = dataset.key_columns, key.options.get("columns", ())
    if unknown := [column for column in columns if column not in known]:
        named = ", ".join(column or "''" for column in unknown)
        meant = {column if column in known else nearest(column, known) for column in columns}
        example = _written(option, key_of({"kind": "feature", "columns": [one for one in known if one in meant]}))
        if option == "grouping_key" and "columns=" not in example:
            chosen = f"grouping_key=feature grouping_key.columns={plain(known[:2])}"
            example = f"{example}, or for names with an underscore {chosen}"
        expected = f"key columns of dataset {dataset.name}, which has no {named} but {', '.join(known)}"
        raise invalid(option, key.name, expected, example)
    right = sorted(set(columns), key=known.index)
    if list(columns) != right:
        example = _written(option, key.model_copy(update={"columns": tuple(right)}))
        raise invalid(option, key.name, "columns in table order, each once", example)


def _written(option: str, key: GroupingKey) -> str:
    """The words that ask for a key: its name, unless a column's own name holds an underscore."""
    columns, size = key.options["columns"], key.options.get("bag_size")
    if option == "grouping_key" and any("_" in column for column in columns):
        sized = f" grouping_key.bag_size={size}" if size else ""
        return f"grouping_key={key.kind} grouping_key.columns={plain(columns)}{sized}"
    return f"{option}={key.name}"


def _check_labels(config: TrainConfig) -> None:
    kind = config.dataset.label_kind
    for method in filter(None, (config.method, config.method.first_stage)):
        if kind not in method.labels:
            names = [name for name in options("method") if kind in read_option(f"method/{name}").labels]
            expected = f"one for {kind} labels, as dataset {config.dataset.name} has them: {choice(names)}"
            raise invalid("method", method.name, expected, names[0])
