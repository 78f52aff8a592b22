"""The rows of own files, read once into Arrow files: those of `files` and those of `test_files`."""

import logging
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from rich.progress import Progress

from llp.datasets.files.kinds import check_names
from llp.datasets.files.options import FilesOptions, Roles
from llp.datasets.files.read import FilesReader
from llp.datasets.reading.files import Files
from llp.datasets.reading.find import DataFile
from llp.datasets.reading.records import BadLines
from llp.datasets.reading.stage import Staged, write_parts
from llp.errors import InputError

log = logging.getLogger(__name__)

PANDAS_INDEX = re.compile(r"__index_level_\d+__|Unnamed: 0")


def stage_files(
    found: Mapping[str, Sequence[DataFile]], of_rows: Mapping[str, Roles], options: FilesOptions, *,
    errors: Literal["stop", "skip"], folder: Path, progress: Progress,
) -> dict[str, Staged]:  # fmt: skip
    """The rows of each option's files, read into Arrow files."""
    staged: dict[str, Staged] = {}
    readers: list[FilesReader] = []
    known: dict[tuple[object, ...], str] = {}
    for option, of_option in found.items():
        task = progress.add_task(f"read {option}", total=None, detail="")
        files = Files(of_option, partial(progress.advance, task), known=known)
        progress.update(task, total=files.total_bytes)
        choose = partial(_chosen, own=of_rows[option], roles=options.roles, train=readers[0] if readers else None)
        bad_lines = BadLines(errors)
        reader = FilesReader(files, options.reading, bad_lines, choose, ignored=options.roles.ignore)
        (folder / option).mkdir()
        parts, rows = write_parts(reader.blocks(), reader.add, folder=folder / option, progress=progress, task=task)
        reader.finish()
        if bad_lines.count:
            log.warning("%d record(s) left out, such as: %s", bad_lines.count, "; ".join(bad_lines.shown))
        if reader.repeated_headers:
            log.warning("%d repeated header(s) left out", reader.repeated_headers)
        staged[option] = Staged(parts, rows, bad_lines, files.source(), reader.repeated_headers, reader.starts)
        readers.append(reader)
    seen = set[str]().union(*(reader.seen for reader in readers))
    for name in options.roles.ignore:
        if name not in seen:
            has = ", ".join(readers[0].columns)
            raise InputError(f"Invalid ignore={name}: the files have no such column; they have {has}")
    return staged


def _chosen(name: str, columns: list[str], own: Roles, roles: Roles, train: FilesReader | None) -> list[str]:
    """Columns of a file that are read: not the ignored ones, pandas' index, nor what plays no part in this file."""
    check_names(columns, own)
    named = {name for _, name in roles.named}
    index = [one for one in columns if PANDAS_INDEX.fullmatch(one) and one not in named]
    if index:
        log.warning("%s is an index that pandas wrote: left out; numeric=[%s] takes it in", index[0], index[0])
    left_out = {*roles.ignore, *(set(roles.not_features) - set(own.not_features))}
    if own.bag_column is None and train is None:  # beside a report, some rows may have their label
        left_out -= {roles.label}
    features = [] if train is None else [one for one in train.wanted if one not in roles.not_features]
    if train is not None and (missing := [one for one in features if one not in columns]):
        raise InputError(f"{name} has no column {missing[0]!r}, which {train.first} has; it has {', '.join(columns)}")
    return [one for one in columns if one not in left_out and one not in index]
