"""A signal that ends all runs of this process, also those in threads, where neither Python nor Lightning hears it."""

import os
import signal
from types import FrameType

_received: list[signal.Signals] = []


def listen() -> None:
    """From now on SIGINT and SIGTERM end the runs where they look for it; a second one ends the process at once."""

    def handle(number: int, frame: FrameType | None) -> None:
        if _received:
            os._exit(128 + number)
        _received.append(signal.Signals(number))

    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as a shell gives it to what runs in the background
            signal.signal(number, handle)


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
