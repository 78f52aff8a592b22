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

from filelock import Timeout
from omegaconf import OmegaConf

from llp.errors import InputError
from llp.files import lock_of, read_small, remove_unwritten, write_atomically
from llp.runs.identity import Run
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
def _log_file(path: Path) -> Iterator[None]:
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
def _error_file(path: Path) -> Iterator[None]:
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

    run: Run
    work: Path  # where it puts its files: beside those of an earlier result, which stay until there is a successor
    number: int  # of the attempts so far
    started: str  # ISO 8601
    begin: float  # the same by `time.perf_counter`

    @property
    def lost(self) -> bool:
        """Whether an earlier attempt was cut off before it wrote a checkpoint."""
        return self.number > 1 and self.work == self.run.folder and not _checkpoints(self.work)

    @property
    def seconds(self) -> float:
        """Seconds so far."""
        return time.perf_counter() - self.begin

    def finish(self, record: RunRecord) -> None:
        """Put its files in the place of an earlier result's, and the record last: then the run is finished."""
        folder = self.run.folder
        if not (self.work / "config.yaml").is_file():
            raise FileNotFoundError(
                errno.ENOENT, "The run's folder was moved or removed while it trained", str(self.work)
            )
        if self.work != folder:
            for name in _FILES:
                if (self.work / name).is_file():
                    (folder / name).parent.mkdir(exist_ok=True)
                    (self.work / name).replace(folder / name)
        record.write(self.run.result_path)
        _remove_checkpoints(folder)
        if self.work != folder:
            shutil.rmtree(self.work)


@contextmanager
def attempt_at(run: Run, *, again: bool) -> Iterator[Attempt]:
    """Attempt a run, whose lock is held; `again`: from scratch, also where another attempt was cut off."""
    folder = run.folder
    with _log_file(folder / "run.log"), _error_file(folder / "error.json"):
        started, begin = datetime.now(UTC).isoformat(timespec="seconds"), time.perf_counter()
        if again:
            _remove_checkpoints(folder)
            shutil.rmtree(folder / "successor", ignore_errors=True)
        work = folder / "successor" if run.result_path.is_file() else folder
        number = _next_number(folder)
        write_atomically(work / "config.yaml", lambda path: OmegaConf.save(OmegaConf.create(run.config), path))
        yield Attempt(run, work, number, started, begin)


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


def _remove_checkpoints(folder: Path) -> None:
    """Remove what only an attempt that is resumed needs."""
    for path in _checkpoints(folder):
        path.unlink(missing_ok=True)


def tidy(folder: Path) -> None:
    """Remove what a killed attempt left beside a finished run's record, unless another attempt is at work."""
    left, successor = _checkpoints(folder), folder / "successor"
    if left or successor.exists():
        with suppress(Timeout, OSError), lock_of(folder / ".lock").acquire(timeout=0):
            for path in left:
                path.unlink(missing_ok=True)
            shutil.rmtree(successor, ignore_errors=True)
