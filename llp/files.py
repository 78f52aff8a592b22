"""Atomic writes, locks, names of files, and files that the program wrote, read again: whole and of a bounded size."""

import errno
import fcntl
import glob
import hashlib
import logging
import os
import re
import secrets
import stat
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import BaseFileLock, FileLock, SoftFileLease, Timeout

from llp import signals
from llp.errors import invalid

log = logging.getLogger(__name__)

LEASE_SECONDS = 60.0
NAME_BYTES = 150  # of a folder: file systems take 255, and endings and digests are added
YOUNG = 10.0  # seconds for which a file without a lock may be one that is just being made
_OF_OURS = re.compile(r"\..+\.[0-9a-f]{16}\.llp-part(\..*)?", re.DOTALL)  # what `write_atomically` fills


def lock_of(path: Path) -> BaseFileLock:
    """The lock behind a path: the file system's own, or with LLP_LOCKS=lease a marker beside it.

    A lease works where flock does not reach other machines; that of a killed holder counts for `LEASE_SECONDS` more.
    """
    kind = os.environ.get("LLP_LOCKS", "flock")
    if kind not in ("flock", "lease"):
        raise invalid("LLP_LOCKS", kind, "flock or lease", "lease")
    if kind == "flock":
        return FileLock(path)
    return SoftFileLease(path.with_name(f"{path.name}.lease"), lease_duration=LEASE_SECONDS)


@contextmanager
def locked(path: Path, busy: str) -> Iterator[None]:
    """Hold a lock among processes and threads; one that has to wait for it says that it is `busy`."""
    lock = lock_of(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        log.warning("%s (lock %s): waiting for it", busy, path)
        while not lock.is_locked:
            signals.exit_if_received()
            with suppress(Timeout):
                lock.acquire(timeout=1)
    except (OSError, NotImplementedError) as error:  # a file system without locks, or whose server has lost them
        number = getattr(error, "errno", None) or errno.ENOSYS
        if number not in (errno.ENOLCK, errno.ESTALE, errno.ENOSYS, errno.EOPNOTSUPP):
            raise
        remedy = "; write LLP_LOCKS=lease before the command, for all that share the folder"
        raise OSError(number, os.strerror(number) + remedy, str(path)) from None
    try:
        yield
    finally:
        lock.release()


def is_locked(path: Path) -> bool:
    """Whether a process, or a thread of one, holds a lock."""
    lock = lock_of(path)
    if not Path(lock.lock_file).exists():
        return False
    try:
        with lock.acquire(timeout=0):
            return False
    except Timeout:
        return True
    except OSError:  # another user's: it cannot be asked
        return False


@contextmanager
def naming(place: Path) -> Iterator[None]:
    """Name a place, and what to do, in an error of the file system that names none: numpy's, polars'."""
    try:
        yield
    except Exception as error:
        number = _number(error)
        if number is None or getattr(error, "filename", None):
            raise
        full = number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        remedy = "; make room there, or name another place with data_dir=FOLDER" if full else ""
        raise OSError(number, os.strerror(number) + remedy, str(place)) from error


def _number(error: Exception) -> int | None:
    """The operating system's number of an error, which polars tells in words."""
    said = re.search(r"\(os error (\d+)\)", str(error))
    number = error.errno if isinstance(error, OSError) else None
    return number or (int(said[1]) if said else None)


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Have `write` fill a temporary file beside `path`, flush it to disk and put it in its place.

    On failure an OSError names the file, nothing of it stays, and what was there before does.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    name = f".{folder_name(path.stem)}.{secrets.token_hex(8)}.llp-part{path.suffix}"
    temporary, held = path.with_name(name), None
    try:
        try:  # never through a link that somebody has put there
            held = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
            _hold(held)
            write(temporary)
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            temporary.replace(path)
        except OSError as error:
            number = _number(error)
            raise OSError(number, os.strerror(number) if number else str(error), str(path)) from error
        except Exception:  # torch's and polars' own errors on a full disk do not say so
            _write_more(temporary, path)
            raise
    except BaseException:
        if held is not None:
            os.ftruncate(held, 0)  # what was raised may hold the file open, and the disk's room with it
        raise
    finally:
        temporary.unlink(missing_ok=True)
        if held is not None:
            os.close(held)


def _hold(descriptor: int) -> bool:
    """Lock a file for as long as its process writes it; False where another one does, or there are no locks."""
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def remove_killed(path: Path) -> None:
    """Remove what killed processes were writing by `write_atomically` in the place of a file; what is held stays."""
    for left in path.parent.glob(glob.escape(f".{folder_name(path.stem)}.") + "*"):
        if not _OF_OURS.fullmatch(left.name) or left.suffix != (path.suffix or ".llp-part"):
            continue
        with suppress(OSError):  # it is gone meanwhile, or another user's
            descriptor = os.open(left, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                if time.time() - os.fstat(descriptor).st_mtime > YOUNG and _hold(descriptor):
                    left.unlink()
            finally:
                os.close(descriptor)


@contextmanager
def writing_in(folder: Path, busy: str) -> Iterator[None]:
    """Write in a folder alone, see `locked`; first what a killed process was writing there is removed."""
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / ".lock", busy):
        remove_unwritten(folder)
        yield


def remove_unwritten(folder: Path) -> None:
    """Remove what killed processes were writing by `write_atomically`; call it while holding the folder's lock."""
    for leftover in folder.rglob(".*.llp-part*"):
        if _OF_OURS.fullmatch(leftover.name) and leftover.is_file():
            leftover.unlink()


def _write_more(temporary: Path, path: Path) -> None:
    """Raise what the operating system says if nothing more can be written to a file."""
    try:
        with temporary.open("ab") as file:
            file.write(bytes(2**16))
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def folder_name(name: str) -> str:
    """Name a folder, or the stem of a file, after something that a user or a file names.

    It is one path component, visible, and different for different names; usual names stay as they are.

    >>> folder_name("C3_C11"), folder_name("../a/b"), folder_name("%")
    ('C3_C11', '%2E.%2Fa%2Fb', '%25')
    """

    def escaped(match: re.Match[str]) -> str:
        return "%" + "%".join(f"{byte:02X}" for byte in match[0].encode(errors="surrogatepass"))

    safe = re.sub(r"[/\\%\x00-\x1f\x7f\ud800-\udfff]|^\.|^$", escaped, name)
    if len(safe.encode()) <= NAME_BYTES:
        return safe
    digest = hashlib.sha256(safe.encode()).hexdigest()[:12]
    return safe.encode()[: NAME_BYTES - 13].decode(errors="ignore") + "~" + digest


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
    """Read a record or configuration; OSError where it is no regular file or larger than `SMALL_FILE`."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "Not a regular file", str(path))
    if status.st_size > SMALL_FILE:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return path.read_bytes()


def read_yaml(path: Path) -> Any:
    """Read plain YAML as the program writes it, without aliases; ValueError says why it is none."""
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
