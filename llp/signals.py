"""Signals that end a command: training runs where they look for them, other commands at once."""

import os
import signal
from collections.abc import Callable
from types import FrameType

_received: list[signal.Signals] = []


def listen() -> None:
    """From now on SIGINT and SIGTERM end the runs where they look for it; a second one ends the process at once."""

    def handle(number: int, frame: FrameType | None) -> None:
        if _received:
            os._exit(128 + number)
        _received.append(signal.Signals(number))

    _handle_with(handle)


def exit_at_once() -> None:
    """From now on SIGINT and SIGTERM end the command where it is, with a line; a second one kills it.

    What the command has under way is cleaned up by its `with` blocks.
    """

    def handle(number: int, frame: FrameType | None) -> None:
        if _received:
            os._exit(128 + number)
        _received.append(signal.Signals(number))
        os.write(2, f"stopped by {signal.Signals(number).name}\n".encode())
        exit_if_received()

    _handle_with(handle)


def ignore() -> None:
    """From now on SIGINT and SIGTERM do nothing: the work is done and the process ends."""
    _handle_with(signal.SIG_IGN)


def _handle_with(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as a shell gives it to what runs in the background
            signal.signal(number, handler)


def received() -> signal.Signals | None:
    """The signal that came since `listen`, if any."""
    return _received[0] if _received else None


def exit_if_received() -> None:
    """End this run, or the command, with the signal's exit code if one came.

    Raises
    ------
    SystemExit
        With 128 + the signal's number.
    """
    if _received:
        raise SystemExit(128 + _received[0])
