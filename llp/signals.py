"""SIGINT and SIGTERM: how they end a command, and its runs in a launcher's worker processes."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_NUMBERS = (signal.SIGINT, signal.SIGTERM)
_PATIENCE = 20.0  # seconds that a command gives its workers to stop their runs

_received: list[signal.Signals] = []
_deferred = False


class Stopped(SystemExit):
    """A signal ends this process; its exit code is 128 + the signal's number. `told`: that has been said."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.number = signal.Signals(number)
        self.told = False

    def __reduce__(self) -> tuple[type["Stopped"], tuple[int]]:
        return Stopped, (int(self.number),)


def listen() -> None:
    """Raise `Stopped` on SIGINT and SIGTERM from now on; a second signal ends the process at once."""
    process = os.getpid()

    def handle(number: int, frame: FrameType | None) -> None:
        if os.getpid() != process:  # a fork, such as a data loader's worker: Ctrl+C reaches its parent too
            if number == signal.SIGTERM:
                os._exit(128 + number)
        elif not _received:
            _received.append(signal.Signals(number))
            _stop_workers()
            if not _deferred:
                raise Stopped(number)
        elif multiprocessing.parent_process() is None:  # the parent passes on what the terminal sent to both
            os._exit(128 + number)

    _handle_with(handle)


def exit_at_once() -> None:
    """Let SIGINT and SIGTERM end the process from now on, with a line; for a command that has not begun."""

    def handle(number: int, frame: FrameType | None) -> None:
        os.write(2, f"stopped by {signal.Signals(number).name}\n".encode())
        os._exit(128 + number)

    _handle_with(handle)


def ignore() -> None:
    """Let SIGINT and SIGTERM do nothing from now on: the work is done and the process ends."""
    _handle_with(signal.SIG_IGN)


def _handle_with(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    for number in _NUMBERS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as a shell gives it to what runs in the background
            signal.signal(number, handler)


def exit_if_received() -> None:
    """End this run, or the command, by `Stopped`, if a signal came."""
    if _received:
        raise Stopped(_received[0])


@contextmanager
def deferred() -> Iterator[None]:
    """Raise in here only where `exit_if_received` is called: an exception in the middle of a fork would be lost."""
    global _deferred
    _deferred = True
    try:
        yield
    finally:
        _deferred = False
    exit_if_received()


def _stop_workers() -> None:
    """Pass the end on to the processes of a joblib launcher, and wait until they have stopped their runs."""
    workers = [child for child in multiprocessing.active_children() if child.name.startswith("LokyProcess")]
    for worker in workers:
        worker.terminate()
    deadline = time.monotonic() + _PATIENCE
    for worker in workers:
        worker.join(max(0.0, deadline - time.monotonic()))


def listen_in_worker() -> None:
    """Stop the worker's runs on a signal, as `listen` does, and also when the command that started it has gone."""
    listen()
    parent = multiprocessing.parent_process()
    assert parent is not None
    if not any(thread.name == _watch.__name__ for thread in threading.enumerate()):
        threading.Thread(target=_watch, args=(parent.pid,), name=_watch.__name__, daemon=True).start()


def leave_to_default() -> None:
    """Between two runs of a worker a signal ends it at once and without a word."""
    _handle_with(signal.SIG_DFL)


def _watch(parent: int | None) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_PATIENCE)
    os._exit(128 + signal.SIGTERM)
