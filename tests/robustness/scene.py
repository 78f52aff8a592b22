"""A scene: folders of its own in which commands run as real processes, and what they answer."""

import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.helpers.commands import Command


@dataclass
class Answer:
    """What a process ended with, and whether it ends so each time."""

    code: int
    out: str
    err: str
    told: bool = True


@dataclass
class Scene:
    """Where a fault happens: folders of its own, and a command with them."""

    folder: Path
    command: Command = field(init=False)

    def __post_init__(self):
        self.folder.mkdir(parents=True)
        self.command = Command(self.folder / "data", self.folder / "outputs", self.folder, timeout=300)

    def run(self, *arguments, module="llp.train", limits=(), **env):
        """Run a command to its end, under limits of (resource, value)."""
        process = self.start(*arguments, module=module, limits=limits, **env)
        out, err = process.communicate(timeout=300)
        return Answer(process.returncode, out, err)

    def start(self, *arguments, module="llp.train", limits=(), **env):
        def limited():
            signal.signal(signal.SIGINT, signal.default_int_handler)
            for name, value in limits:
                resource.setrlimit(name, (value, value))

        given = {name: value for name, value in (self.command.env | env).items() if value is not None}
        return subprocess.Popen(
            [sys.executable, "-m", module, *map(str, arguments)], cwd=self.folder, env=given, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=limited,
        )  # fmt: skip

    def signalled(self, number, begun: Callable[[], object], *arguments, module="llp.train"):
        """Send a signal once something has begun."""
        process = self.start(*arguments, module=module)
        self.wait(begun, process)
        process.send_signal(number)
        out, err = process.communicate(timeout=120)
        return Answer(process.returncode, out, err)

    @staticmethod
    def wait(begun, process):
        deadline = time.monotonic() + 120
        while not begun() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)

    def files(self, pattern):
        return [path for path in self.folder.glob(pattern) if path.exists()]
