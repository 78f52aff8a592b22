"""An attempt at a run: its number, its log, why it failed, and where it works until its result is whole."""

import errno
import logging
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from filelock import Timeout

from llp.errors import InputError
from llp.files import lock_of, read_small, remove_unwritten, write_atomically
from llp.runs.record import FailureRecord, RunRecord
from llp.signals import Stopped

log = logging.getLogger(__name__)

# what a run leaves beside its record, which comes last
_FILES = ("config.yaml", "metrics.csv", "checkpoints/best.pt", "checkpoints/chosen.pt", "bags.csv")


class _LogFile(logging.FileHandler):
    """A log that a full disk cuts short without a word: the run's error is that of a file that it needs."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """See `logging.Handler.handleError`."""
        if not isinstance(sys.exception(), OSError):
            super().handleError(record)

    def close(self) -> None:
        """See `logging.FileHandler.close`, which writes what is left."""
        with suppress(OSError):
            super().close()


@contextmanager
def log_file(path: Path) -> Iterator[None]:
    """Write what is logged to a file too."""
    handler = _LogFile(path)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logging.getLogger("llp").addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger("llp").removeHandler(handler)
        handler.close()


@contextmanager
def error_file(path: Path) -> Iterator[None]:
    """Record why the attempt failed; an attempt that a signal stops has not failed."""
    path.unlink(missing_ok=True)
    try:
        yield
    except Stopped as end:
        if not end.told:
            log.warning("stopped by %s; the same command resumes the run", end.number.name)
            end.told = True
        raise
    except Exception as error:
        log.error("failed: %s", error, exc_info=not isinstance(error, InputError | OSError))
        with suppress(OSError):  # on a full disk the error itself is what counts
            FailureRecord.of(error).write(path)
        raise


@dataclass(frozen=True)
class Attempt:
    """One attempt at a run."""

    folder: Path  # the run's
    work: Path  # where it puts its files: beside those of an earlier result, which stay until there is a successor
    number: int  # of the attempts so far
    started: str  # ISO 8601
    begin: float  # the same by `time.perf_counter`

    @classmethod
    def at(cls, folder: Path, result: Path, *, again: bool) -> Self:
        """Begin an attempt at the run in a folder; `again`: from scratch, also where another one was cut off."""
        started, begin = datetime.now(UTC).isoformat(timespec="seconds"), time.perf_counter()
        number = _next_number(folder)
        if again:
            remove_checkpoints(folder)
            shutil.rmtree(folder / "successor", ignore_errors=True)
        return cls(folder, folder / "successor" if result.is_file() else folder, number, started, begin)

    @property
    def lost(self) -> bool:
        """Whether an earlier attempt was cut off before it wrote a checkpoint."""
        return self.number > 1 and self.work == self.folder and not _checkpoints(self.folder)

    @property
    def seconds(self) -> float:
        """Seconds so far."""
        return time.perf_counter() - self.begin

    def finish(self, record: RunRecord, result: Path) -> None:
        """Put its files in the place of an earlier result's, and the record last: then the run is finished."""
        if not (self.work / "config.yaml").is_file():
            raise FileNotFoundError(
                errno.ENOENT, "The run's folder was moved or removed while it trained", str(self.work)
            )
        if self.work != self.folder:
            for name in _FILES:
                if (self.work / name).is_file():
                    (self.folder / name).parent.mkdir(exist_ok=True)
                    (self.work / name).replace(self.folder / name)
        record.write(result)
        remove_checkpoints(self.folder)
        if self.work != self.folder:
            shutil.rmtree(self.work)


def _next_number(folder: Path) -> int:
    """Count the attempts at a run in its folder, and remove the files that a killed one was writing."""
    remove_unwritten(folder)
    path = folder / "attempt"
    try:
        number = int(read_small(path)) + 1
    except FileNotFoundError:
        number = 1
    except (OSError, ValueError):
        log.warning("%s is damaged: the attempts are counted from 1 again", path)
        number = 1
    write_atomically(path, lambda temporary: temporary.write_text(str(number)))
    return number


def _checkpoints(folder: Path) -> list[Path]:
    return list((folder / "checkpoints").glob("*.ckpt"))


def remove_checkpoints(folder: Path) -> None:
    """Remove what only an attempt that is resumed needs."""
    for path in _checkpoints(folder):
        path.unlink(missing_ok=True)


def tidy(folder: Path) -> None:
    """Remove what a killed attempt left beside a finished run's record, unless another attempt is at work."""
    successor = folder / "successor"
    if _checkpoints(folder) or successor.exists():
        with suppress(Timeout, OSError), lock_of(folder / ".lock").acquire(timeout=0):
            remove_checkpoints(folder)
            shutil.rmtree(successor, ignore_errors=True)
