"""Files that the program wrote, read again: whole, of a bounded size, and nothing that fills the memory."""

import errno
import os
import stat
import zipfile
from pathlib import Path
from typing import Any

SMALL_FILE = 2 * 2**20  # bytes; records, configurations and counters are kilobytes
YAML_DEPTH = 50


def is_whole(path: Path) -> bool:
    """Whether a file that torch saved is there and not cut short: the index of a zip archive is its end."""
    return zipfile.is_zipfile(path)


def is_intact(path: Path) -> bool:
    """Whether a file that torch saved has the content that was written: each part against its checksum."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.testzip() is None
    except (zipfile.BadZipFile, EOFError, NotImplementedError, ValueError):  # whatever flipped bytes in its index cause
        return False


def read_small(path: Path) -> bytes:
    """Read a record, a configuration or a counter; never waits for a pipe, never fills the memory.

    OSError where it is not there, is no regular file, or is larger than `SMALL_FILE`.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "Not a regular file", str(path))
    if status.st_size > SMALL_FILE:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return path.read_bytes()


def read_yaml(path: Path) -> Any:
    """Read plain YAML as the program writes it: without anchors and aliases, which can stand for any amount of data.

    ValueError where it is no such YAML, and says why; OSError as by `read_small`.
    """
    import yaml  # type: ignore[import-untyped]

    content, depth = read_small(path), 0
    try:
        for event in yaml.parse(content, Loader=yaml.CSafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if isinstance(event, yaml.AliasEvent) or depth > YAML_DEPTH:
                raise ValueError(f"{path} holds an alias or is nested too deeply")
        return yaml.load(content, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no YAML: {' '.join(str(error).split())}") from None
