"""Checks of a composed config, of one point or of a whole grid: what does not fit is told before any work."""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException
from pydantic import Field, NonNegativeFloat

from llp.config.grouping_keys import grouping_key, options, read_option
from llp.config.options import check_value
from llp.data.bags import GroupingKey
from llp.data.folds import N_FOLDS
from llp.errors import InputError


class CheckGrid(Callback):
    """Checks the points of a multirun before the first one starts."""

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Compose and check each point; the first that does not fit stops the multirun."""
        from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
        from hydra.core.global_hydra import GlobalHydra
        from hydra.core.override_parser.overrides_parser import OverridesParser

        if not config.hydra.sweeper._target_.endswith("BasicSweeper"):
            return  # another sweeper chooses its points as it goes; each run checks its own
        given = list(config.hydra.overrides.task)
        keys = {override.split("=")[0] for override in given}
        given += [f"{key}={value}" for key, value in (config.hydra.sweeper.params or {}).items() if key not in keys]
        loader = GlobalHydra.instance().config_loader()
        points = BasicSweeper.split_arguments(OverridesParser.create(config_loader=loader).parse_overrides(given), None)
        composed = []
        try:
            for overrides in _representatives(points[0]):
                point = loader.load_sweep_config(config, list(overrides))
                with open_dict(point):
                    del point.hydra
                check_config(point)
                composed.append(point)
            _check_side_by_side(config.runs_at_once, composed)
        except InputError as error:
            sys.exit(str(error))  # Hydra turns a callback's exceptions into warnings


def _check_side_by_side(runs_at_once: int, points: Sequence[DictConfig]) -> None:
    """Refuse points that cannot train in one process together."""
    if any(point.runs_at_once != runs_at_once for point in points):
        raise InputError("runs_at_once is one number for the whole grid; write runs_at_once=2")
    if runs_at_once == 1:
        return
    for name in ("threads", "deterministic"):  # torch has one of each for the whole process
        if len({point.trainer[name] for point in points}) > 1:
            raise InputError(
                f"runs_at_once={runs_at_once} needs one trainer.{name} for all points; write runs_at_once=1"
            )
    if any(point.num_workers for point in points):  # a fork of a process with threads may wait for ever
        raise InputError(f"runs_at_once={runs_at_once} does not fit num_workers above 0; write num_workers=0")


def _representatives(points: Sequence[Sequence[str]]) -> Iterator[Sequence[str]]:
    """Points that hold every fold, every seed and every combination of the other overrides: composing takes time."""
    seen: set[tuple[str, ...]] = set()
    for overrides in points:
        apart = [(override,) for override in overrides if override.startswith(("fold=", "seed="))]
        parts = {tuple(override for override in overrides if (override,) not in apart), *apart}
        if not parts <= seen:
            seen |= parts
            yield overrides


def check_config(config: DictConfig) -> None:
    """Refuse a composed config that cannot run, before any work.

    Raises
    ------
    InputError
        Says what was given, what fits, and how to write it.
    """
    for group in ("dataset", "grouping_key", "method", "model", "optimizer", "trainer", "protocol", "logger"):
        if group not in config:
            raise InputError(f"{group} is missing; write {group}=NAME")
    try:
        OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
        _check_values(config)
    except OmegaConfBaseException as error:
        raise InputError(_composition_error(config, error)) from None


def _check_values(config: DictConfig) -> None:
    for name in ("data_dir", "outputs_dir"):
        _check_folder(name, config[name])
    for name in ("force", "save_model"):
        check_value(name, config[name], bool)
    check_value("checkpoint_minutes", config.checkpoint_minutes, NonNegativeFloat)
    check_value("trainer.accelerator", config.trainer.accelerator, Literal["auto", "cpu", "gpu"])
    check_value("trainer.features_on", config.trainer.features_on, Literal["auto", "device", "host"])
    for name in ("cuda_graphs", "deterministic"):
        check_value(f"trainer.{name}", config.trainer[name], bool)
    _check_whole_number("fold", config.fold, 0, N_FOLDS - 1)
    _check_whole_number("seed", config.seed, 0, None)
    check_value("seed", config.seed, Annotated[int, Field(lt=2**63)])  # what a data frame holds
    for name in ("max_epochs", "patience", "bags_per_batch", "instances_per_batch", "threads"):
        _check_whole_number(f"trainer.{name}", config.trainer[name], 1, None)
    _check_whole_number("num_workers", config.num_workers, 0, None)
    _check_whole_number("runs_at_once", config.runs_at_once, 1, None)
    _check_protocol(config)
    _check_logger(config)
    _check_key(config)
    _check_method(config)
    for name, value in (("dataset.name", config.dataset.name), ("method.name", config.method.name)):
        if not re.fullmatch(r"[^/]*[^/.][^/]*", str(value)):
            raise InputError(f"{name}={value} does not fit: it names a folder; write {name}=NAME")


def _composition_error(config: DictConfig, error: OmegaConfBaseException) -> str:
    labels = OmegaConf.select(config, "dataset.labels")
    if labels is not None and config.dataset.label not in labels:
        return f"dataset.label={config.dataset.label} is not a label of this dataset; write dataset.label=" + (
            " or dataset.label=".join(labels)
        )
    if OmegaConf.is_missing(config.grouping_key, "columns"):
        return _no_columns(config)
    return str(error).splitlines()[0]


def _no_columns(config: DictConfig) -> str:
    fits = ", ".join(config.dataset.key_columns)
    return f"grouping_key={config.grouping_key.kind} needs grouping_key.columns=[A,B], of {fits}"


def _check_whole_number(name: str, value: Any, low: int, high: int | None) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < low or (high is not None and value > high):
        fits = f"{low}..{high}" if high is not None else f"a whole number from {low}"
        raise InputError(f"{name}={value} does not fit: {name} is {fits}; write {name}={low}")


def _check_folder(name: str, value: Any) -> None:
    check_value(name, value, str)
    if not value:
        raise InputError(f"{name} is empty; write {name}=FOLDER")
    folder = Path(value).absolute()
    there = next(path for path in (folder, *folder.parents) if path.exists())
    readable = name == "data_dir" and there == folder  # what is prepared need not be writable
    if not there.is_dir() or not (readable or os.access(there, os.W_OK)):
        problem = "may not be written" if there.is_dir() else "is not a folder"
        raise InputError(f"{name}={value} does not fit: {there} {problem}; write {name}=FOLDER")


def _check_protocol(config: DictConfig) -> None:
    held_out = config.protocol.held_out
    check_value("protocol.name", config.protocol.name, Literal["paper", "holdout"])
    check_value("protocol.held_out", held_out, float)
    if config.protocol.name == "paper" and held_out != 0:
        raise InputError(f"protocol.held_out={held_out} does not fit protocol=paper; write protocol=holdout with it")
    if config.protocol.name == "holdout" and not 0 < held_out < 1:
        raise InputError(f"protocol.held_out={held_out} does not fit: it is a share; write protocol.held_out=0.1")


def _check_logger(config: DictConfig) -> None:
    fits = {"name": Literal["csv", "wandb"], "mode": Literal["auto", "online", "offline"], "tags": list[str]}
    for name, value in OmegaConf.to_container(config.logger).items():  # type: ignore[union-attr]
        if name in fits:
            check_value(f"logger.{name}", value, fits[name])


def _check_key(config: DictConfig) -> None:
    if config.grouping_key is None:
        raise InputError("no grouping key: the dataset names no default one; write grouping_key=COLUMN_COLUMN")
    key, known = grouping_key(config), list(config.dataset.key_columns)
    for name, default in read_option(f"grouping_key/{key.kind}").items_ex(resolve=False):
        given = config.grouping_key[str(name)]
        if default in (None, []) and given not in (None, []):
            raise InputError(f"grouping_key.{name!s}={given} means nothing for {key.kind} bags; leave it out")
    if key.kind in ("random", "fixed"):
        _check_whole_number("grouping_key.bag_size", key.bag_size, 1, None)
    if key.kind == "random":
        return
    if not key.columns:
        raise InputError(_no_columns(config))
    unknown = [column for column in key.columns if column not in known]
    if unknown:
        named = ", ".join(column or "''" for column in unknown)
        example = _written(GroupingKey("feature", tuple(known[:2])))
        raise InputError(
            f"grouping_key={key.name}: dataset {config.dataset.name} has no key column {named}; it has "
            f"{', '.join(known)}. Write {example}, or for names with an underscore grouping_key=feature "
            f"grouping_key.columns=[{','.join(known[:2])}]"
        )
    right = sorted(set(key.columns), key=known.index)
    if list(key.columns) != right:
        write = _written(GroupingKey(key.kind, tuple(right), key.bag_size))
        raise InputError(f"grouping_key={key.name}: columns go in table order, each once; write {write}")


def _written(key: GroupingKey) -> str:
    """How a key is asked for: by its name, unless a column's own name holds an underscore."""
    if any("_" in column for column in key.columns):
        size = f" grouping_key.bag_size={key.bag_size}" if key.bag_size else ""
        return f"grouping_key={key.kind} grouping_key.columns=[{','.join(key.columns)}]{size}"
    return f"grouping_key={key.name}"


def _check_method(config: DictConfig) -> None:
    kind = config.dataset.label_kind
    if kind not in config.method.labels:
        fits = [name for name in options("method") if kind in _method_labels(name)]
        raise InputError(
            f"method={config.method.name} is for {' or '.join(config.method.labels)} labels, dataset "
            f"{config.dataset.name} has {kind} ones; methods that fit: {', '.join(fits)}"
        )


def _method_labels(name: str) -> list[str]:
    return list(read_option(f"method/{name}").labels)
