"""Points of a grid side by side in one process: each in a thread, on a GPU each on a stream of its own.

A small run leaves most of a GPU idle, and threads share what processes have to hold each: CUDA's context, compiled
kernels, the table. Hydra's basic launcher calls the task of one point after the other. With `runs_at_once` above 1
the task hands its point to a pool and returns once the pool has taken it, so that Hydra goes on to the next; when it
is through, the sweeper waits for the pool.
"""

import logging
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from contextvars import copy_context
from typing import Any

from hydra.core.utils import JobReturn, JobStatus, configure_log
from hydra.experimental.callback import Callback
from omegaconf import DictConfig
from pydantic import PositiveInt

from llp import signals
from llp.config.options import check_value
from llp.errors import InputError, invalid
from llp.runs.admission import Need, Room, free_for, need_of, said

log = logging.getLogger(__name__)

Task = Callable[[DictConfig], float]

_POOLED = (".JoblibLauncher", ".SlurmLauncher", ".RayLauncher")  # whose workers open a pool


class Pool:
    """Threads for a number of runs; a further run waits until one of them ends.

    Parameters
    ----------
    size : int
        Runs side by side.
    processes : int
        Processes with such a pool, which share the memory.
    """

    def __init__(self, size: int, processes: int = 1) -> None:
        import llp.runs.outcome  # noqa: F401  # with torch and Lightning: concurrent first imports may see partially initialised modules

        self._threads = ThreadPoolExecutor(size)
        self._free = threading.Semaphore(size)
        self._size = size
        self._processes = processes
        self._room: Room | None = None

    def submit(self, task: Task, config: DictConfig) -> "Future[float]":
        """Start a run in the thread that is free next, once there is memory for it."""
        self._free.acquire()
        need = need_of(config)
        if self._room is None:
            self._room = Room(free_for(config) // self._processes)
            log.info(said(self._size, need, self._room.free))
        self._room.take(need)
        if signals.received():
            self.wait()
        return self._threads.submit(copy_context().run, self._run, task, config, self._room, need)

    def wait(self) -> None:
        """Wait for the runs under way; the command ends here where a signal has stopped them."""
        self._threads.shutdown()
        signals.exit_if_received()

    def _run(self, task: Task, config: DictConfig, room: Room, need: Need) -> float:
        try:
            with _stream(config.hardware.accelerator):
                return task(config)
        finally:
            room.give_back(need)
            self._free.release()


def _stream(accelerator: str) -> AbstractContextManager[Any]:
    """A CUDA stream of its own for the run in this thread, where it is to run on a GPU."""
    import torch

    if accelerator == "cpu" or not torch.cuda.is_available():
        return nullcontext()
    return torch.cuda.stream(torch.cuda.Stream())  # type: ignore[no-untyped-call]


_pool: Pool | None = None  # of the multirun under way; Hydra hands a task nothing but its config


def run(task: Task, config: DictConfig) -> "float | Future[float]":
    """Run a point here, or in the pool where the multirun has one."""
    return task(config) if _pool is None else _pool.submit(task, config)


class SideBySide(Callback):
    """Opens the pool of a multirun with `runs_at_once` above 1; its sweeper waits for the runs, see `settle`."""

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Refuse what does not go together with threads, and open the pool; other workers open theirs."""
        if config.runs_at_once == 1:
            return
        try:
            check_value("runs_at_once", config.runs_at_once, PositiveInt)
        except InputError as error:
            sys.exit(str(error))  # Hydra turns a callback's exceptions into warnings
        problem = _problem(config)
        if problem is not None:
            sys.exit(str(invalid("runs_at_once", config.runs_at_once, f"1 with {problem}", 1)))
        if _starts_here(config):
            open_pool(config)


def open_pool(config: DictConfig, processes: int = 1) -> None:
    """Have the points that run in this process from now on go to a pool, until `settle` is called.

    `processes` share the memory, each with a pool of its own.
    """
    global _pool
    # Hydra sets logging up again before and after each job, closing the handlers of the runs under way
    configure_log(config.hydra.job_logging, config.hydra.verbose)
    config.hydra.hydra_logging.root = None
    config.hydra.overrides.hydra.append("hydra.job_logging.root=null")
    signals.listen(raising=False)
    _pool = Pool(config.runs_at_once, processes)


def settle(jobs: Sequence[JobReturn]) -> None:
    """Wait for the multirun's pool where it has one, and put what became of each run into its place in `jobs`."""
    if _pool is None:
        return
    _pool.wait()
    for job in jobs:
        if job.status == JobStatus.COMPLETED:
            error = job.return_value.exception()
            job.status = JobStatus.COMPLETED if error is None else JobStatus.FAILED
            job.return_value = job.return_value.result() if error is None else error


def _problem(config: DictConfig) -> str | None:
    hydra = config.hydra
    if not hydra.sweeper._target_.endswith(".GridSweeper"):
        return f"hydra/sweeper={hydra.runtime.choices['hydra/sweeper']}, which waits for the value of each point"
    if not _starts_here(config) and not hydra.launcher._target_.endswith(_POOLED):
        return f"hydra/launcher={hydra.runtime.choices['hydra/launcher']}, which has no threads in its processes"
    if hydra.job.chdir or hydra.job.env_set:
        return "hydra.job.chdir and hydra.job.env_set, which change the whole process"
    return None


def _starts_here(config: DictConfig) -> bool:
    return str(config.hydra.launcher._target_).endswith(".BasicLauncher")
