"""Make sure that a dataset's table is there: made once, under a lock, whole or not at all."""

import logging
import shlex
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from filelock import Timeout
from hydra.core.hydra_config import HydraConfig

from llp.config.own_datasets import MADE_BY
from llp.config.schema import DatasetConfig
from llp.config.targets import check_preparation
from llp.data.table import InstanceTable
from llp.data.table_place import check_replaceable, remove_unfinished, table_folder, unfinished
from llp.errors import InputError
from llp.files import lock_of, locked, naming

log = logging.getLogger(__name__)


def prepare_table(
    dataset: DatasetConfig,
    data_dir: Path,
    raw: str | list[str] | None = None,
    errors: Literal["stop", "skip"] = "stop",
    force: bool = False,
) -> Path:
    """Make sure that a dataset's table is there, made of `raw` files or globs, and give its folder."""
    folder = table_folder(data_dir, dataset.table)
    lock = data_dir / f".{folder.name}.lock"
    if not force and folder.exists():
        if unfinished(folder):  # what a process left beside the table, unless one is at work on it
            with suppress(Timeout, OSError), lock_of(lock).acquire(timeout=0):
                remove_unfinished(folder)
        try:
            InstanceTable.of(folder, dataset.prepare.node)
        except InputError:
            check_preparation(dataset)  # an option that is wrong comes before a table that is another one
            raise
        if raw is not None:
            log.warning("%s is there already and stays as it is; force=true prepares it again", folder)
        return folder
    inputs = _inputs(dataset, folder, raw, errors)
    function, made_by = check_preparation(dataset), dataset.prepare.node
    check_replaceable(folder)
    data_dir.mkdir(parents=True, exist_ok=True)
    with locked(lock, "another process is preparing this table"):
        remove_unfinished(folder)
        if not force and folder.exists():  # made by the process that held the lock before
            InstanceTable.open(folder, made_by)
            return folder
        try:
            with naming(folder):
                function(folder=folder, made_by=made_by, **dataset.prepare.options, **inputs)
            if not folder.exists():
                raise InputError(
                    f"{dataset.prepare.target} has made no table: expected one in {folder}, such as written by "
                    "llp.data.table_writer.TableWriter(folder, ...)"
                )
        finally:
            remove_unfinished(folder)  # a signal may come between a folder's making and the code that would remove it
    InstanceTable.open(folder, made_by)
    return folder


def _inputs(dataset: DatasetConfig, folder: Path, raw: str | list[str] | None, errors: str) -> dict[str, Any]:
    """What the dataset's function is given beside its options."""
    if dataset.embedded or dataset.prepare.target == MADE_BY:  # own files are among its options
        if raw is not None:
            raise InputError(f"Invalid raw={raw}: dataset={dataset.name} reads no raw file, expected no raw=")
        return {}
    if raw is None:
        raise InputError(not_prepared(dataset, folder))
    return {"raw": [raw] if isinstance(raw, str) else list(raw), "errors": errors}


def not_prepared(dataset: DatasetConfig, folder: Path) -> str:
    """The message for a table that is missing and needs raw files: the command, and where the files are had."""
    source = " ".join(str(dataset.source).split())
    given = HydraConfig.get().overrides.hydra if HydraConfig.initialized() else []  # own YAML files are found by these
    searchpath = [word for word in given if word.startswith("hydra.searchpath=")]
    words = [f"dataset={dataset.name}", "raw=PATH", f"data_dir={folder.parent}", *searchpath]
    return f"{folder} is not prepared. Get the raw file ({source}), then run: python -m llp.prepare " + " ".join(
        map(shlex.quote, words)
    )
