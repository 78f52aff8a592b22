"""A table's place: what may be replaced there, and how a whole table, written beside it in `.NAME.PID.tmp`, gets in."""

import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic_core import from_json

from llp.errors import InputError

OF_A_TABLE = re.compile(
    r"(schema|recipe)\.json|(categorical|numeric|label|weight|bag|bag_row)\.npy|(columns|ids|bags)\.parquet"
    r"|vocabulary(/\d+\.parquet)?"
)
OF_A_SCHEMA = {"columns", "label_kind", "rows", "made_by", "format_version"}
NAME_BYTES = 200  # a file system takes 255, the temporary names are longer


def table_folder(data_dir: Path, name: object) -> Path:
    """The folder of a table that `dataset.table` names: by one visible name, which '', '..' and paths are not."""
    text = "" if name is None else str(name)
    if not re.fullmatch(r"[^\s./\\\0][^/\\\0]*", text) or not text.isprintable() or len(text.encode()) > NAME_BYTES:
        raise InputError(
            f"Invalid dataset.table={text!r}: expected one name, of a folder in data_dir={data_dir}, "
            "such as dataset.table=visits"
        )
    return data_dir / text


def temporary_folder(folder: Path, kind: str = "") -> Path:
    """Where this process keeps what is not in its place yet; `kind` is '', '.raw' or '.old'."""
    return folder.with_name(f".{folder.name}.{os.getpid()}{kind}.tmp")


@contextmanager
def scratch(folder: Path) -> Iterator[Path]:
    """A temporary folder beside a table's place, with a name that `remove_unfinished` knows."""
    path = temporary_folder(folder, ".raw")
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def check_replaceable(folder: Path) -> None:
    """Refuse to replace what is no table, or a table with something else in it."""
    if not folder.is_symlink() and not folder.exists():
        return
    if folder.is_symlink() or not folder.is_dir() or not _is_schema(folder / "schema.json"):
        raise InputError(
            f"{folder} is no prepared table and stays as it is: give another name with dataset.table=NAME, or move it "
            "elsewhere"
        )
    names = (path.relative_to(folder).as_posix() for path in folder.rglob("*"))
    if foreign := sorted(name for name in names if not OF_A_TABLE.fullmatch(name)):
        raise InputError(
            f"{folder} holds {foreign[0]}, which is no part of a table, and stays as it is: move it elsewhere, or give "
            "another name with dataset.table=NAME"
        )


def _is_schema(path: Path) -> bool:
    try:
        content = from_json(path.read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and content.keys() >= OF_A_SCHEMA


def put_in_place(temporary: Path, folder: Path) -> None:
    """Rename a whole table to its place, where another one may be, and nothing else."""
    check_replaceable(folder)
    replaced = temporary_folder(folder, ".old")
    if folder.exists():
        folder.rename(replaced)
    try:
        temporary.rename(folder)
    except BaseException:
        if replaced.exists():
            replaced.rename(folder)
        raise
    shutil.rmtree(replaced, ignore_errors=True)


def unfinished(folder: Path) -> list[Path]:
    """What killed processes left beside a table's place, or what a running one has there."""
    pattern = re.compile(rf"\.{re.escape(folder.name)}\.\d+(\.raw|\.old)?\.tmp")
    if not folder.parent.is_dir():
        return []
    return [path for path in folder.parent.iterdir() if pattern.fullmatch(path.name)]


def remove_unfinished(folder: Path) -> None:
    """Remove what killed preparations left beside a table, put back one moved away; call it under the lock."""
    for leftover in unfinished(folder):
        if leftover.name.endswith(".old.tmp") and not folder.exists():
            leftover.rename(folder)
        for _ in range(50):  # a thread of polars that a signal left behind may still write there for a moment
            shutil.rmtree(leftover, ignore_errors=True)
            if not leftover.exists():
                break
            time.sleep(0.1)
