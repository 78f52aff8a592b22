"""Faults of a machine: each is a scene in which a command runs, and what its processes answered."""

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from llp.datasets import raw_synthetic
from tests.helpers.commands import TINY, Command
from tests.helpers.records import write_folds

LONG = (*TINY[:-1], "trainer.max_epochs=4000", "trainer.patience=4000", "checkpoint_minutes=0")
MADE = ("dataset=synthetic", "dataset.rows=400000", "dataset.vocab_fraction=0.01")
KEYS = ("dataset=synthetic", "dataset.rows=20000", "dataset.vocab_fraction=0.01", "bag_sizes=[64]")


class CannotBeMadeError(Exception):
    """The scene needs a right that this machine does not give."""


@dataclass
class Answer:
    """What a process ended with."""

    code: int
    out: str
    err: str


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

    def start(self, *arguments, module="llp.train", limits=(), cwd=None, stdout=subprocess.PIPE, **env):
        def limited():
            signal.signal(signal.SIGINT, signal.default_int_handler)
            for name, value in limits:
                resource.setrlimit(name, (value, value))

        given = {name: value for name, value in (self.command.env | env).items() if value is not None}
        return subprocess.Popen(
            [sys.executable, "-m", module, *map(str, arguments)], cwd=cwd or self.folder, env=given, text=True,
            stdout=stdout, stderr=subprocess.PIPE, preexec_fn=limited,
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

    @contextmanager
    def mounted(self, place, options):
        """A small or read-only disk, where the machine lets us mount one."""
        place.mkdir(parents=True, exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
        if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
            raise CannotBeMadeError
        try:
            yield
        finally:
            subprocess.run(["umount", str(place)], check=True)


def full_disk_of_outputs(scene):
    with scene.mounted(scene.folder / "outputs", "size=200k"):
        yield scene.run(*TINY, "save_model=true", "model.hidden=[1024,64]")


def full_disk_of_a_table(scene):
    with scene.mounted(scene.folder / "data", "size=2m"):
        yield scene.run(*MADE, module="llp.prepare")


def full_disk_of_a_raw_file(scene):
    options = {"seed": 0, "vocab_fraction": 0.01, "tail_share": 0.1, "tail_values": 10**5}
    raw_synthetic.write_ctr(scene.folder / "train.txt", rows=20_000, **options, separator="\t", header=False)
    with scene.mounted(scene.folder / "data", "size=1m"):
        yield scene.run("dataset=criteo_ctr", "raw=train.txt", module="llp.prepare")


def full_disk_of_a_report(scene):
    write_folds(scene.folder / "runs", [0.6, 0.7])
    with scene.mounted(scene.folder / "outputs", "size=120k"):
        write_folds(scene.folder / "outputs", [0.6, 0.7])
        yield scene.run(module="llp.report")


def full_disk_of_an_analysis(scene):
    scene.run(*KEYS, module="llp.prepare")
    with scene.mounted(scene.folder / "outputs", "size=60k"):
        yield scene.run(*KEYS, module="llp.analyze")


def read_only_outputs(scene):
    with scene.mounted(scene.folder / "outputs", "ro"):
        yield scene.run(*TINY)


def read_only_data(scene):
    with scene.mounted(scene.folder / "data", "ro"):
        yield scene.run(*MADE, module="llp.prepare")


def table_deleted(scene):
    import shutil

    process = scene.start(*LONG[:-3], "trainer.max_epochs=60", "trainer.patience=60", "checkpoint_minutes=0")
    scene.wait(lambda: scene.files("outputs/**/resume.ckpt"), process)
    [shutil.rmtree(path.parent) for path in scene.files("data/*/schema.json")]
    out, err = process.communicate(timeout=240)
    yield Answer(process.returncode, out, err)
    yield scene.run(*TINY, "seed=1")


def outputs_moved_away(scene):
    process = scene.start(*LONG)
    scene.wait(lambda: scene.files("outputs/**/resume.ckpt"), process)
    (scene.folder / "outputs").rename(scene.folder / "elsewhere")
    out, err = process.communicate(timeout=240)
    yield Answer(process.returncode, out, err)


def stopped(number, module, begun, *arguments):
    def scene_of(scene):
        yield scene.signalled(number, lambda: scene.files(begun), *arguments, module=module)

    return scene_of


def killed_and_gone_on(scene):
    yield scene.signalled(signal.SIGKILL, lambda: scene.files("outputs/**/resume.ckpt"), *LONG[:-3], *SHORT)
    yield scene.run(*LONG[:-3], *SHORT)


SHORT = ("trainer.max_epochs=150", "trainer.patience=150", "checkpoint_minutes=0")


def killed_preparation(scene):
    yield scene.signalled(signal.SIGKILL, lambda: scene.files("data/*"), *MADE, module="llp.prepare")
    yield scene.run(*MADE, module="llp.prepare")


def two_at_one(module, arguments, begun):
    def scene_of(scene):
        first = scene.start(*arguments, module=module)
        scene.wait(lambda: scene.files(begun), first)
        second = scene.start(*arguments, module=module)
        for process in (first, second):
            out, err = process.communicate(timeout=240)
            yield Answer(process.returncode, out, err)

    return scene_of


def too_little_memory(scene):
    yield scene.run(*TINY, "model.hidden=[2000000,64]", limits=[(resource.RLIMIT_AS, 6 * 2**30)])


def too_few_open_files(scene):
    yield scene.run(*TINY, limits=[(resource.RLIMIT_NOFILE, 40)])


def largest_file(scene):
    yield scene.run(*MADE, module="llp.prepare", limits=[(resource.RLIMIT_FSIZE, 1_000_000)])


def closed_pipe(*arguments, module):
    def scene_of(scene):
        write_folds(scene.command.outputs_dir, [0.6, 0.7])
        process = scene.start(*arguments, module=module)
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        err = process.stderr.read()
        yield Answer(process.wait(timeout=120), "", err)

    return scene_of


def with_environment(*arguments, **env):
    def scene_of(scene):
        yield scene.run(*TINY, *arguments, **env)

    return scene_of


def clock_set_back(scene):
    scene.signalled(signal.SIGTERM, lambda: scene.files("outputs/**/resume.ckpt"), *LONG[:-3], *SHORT)
    for path in scene.folder.rglob("*"):  # files that seem to come from the year 2040
        os.utime(path, (2_208_988_800, 2_208_988_800))
    yield scene.run(*LONG[:-3], *SHORT)


def folder_removed_below(scene):
    place = scene.folder / "below"
    place.mkdir()
    process = scene.start(*TINY, cwd=place)
    place.rmdir()
    out, err = process.communicate(timeout=120)
    yield Answer(process.returncode, out, err)


def no_standard_output(scene):
    with open(os.devnull, "w") as nowhere:
        process = subprocess.Popen(
            ["sh", "-c", f'exec "{sys.executable}" -m llp.train "$@" >&-', "sh", *TINY], cwd=scene.folder,
            env=scene.command.env, stdin=subprocess.DEVNULL, stdout=nowhere, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        _, err = process.communicate(timeout=120)
    yield Answer(process.returncode, "", err)


CHECKPOINT = "outputs/**/resume.ckpt"
FAULTS = {
    "the disk of `outputs` is full, train": full_disk_of_outputs,
    "the disk of `data` is full, made data": full_disk_of_a_table,
    "the disk of `data` is full, a raw file": full_disk_of_a_raw_file,
    "the disk of `outputs` is full, report": full_disk_of_a_report,
    "the disk of `outputs` is full, analyze": full_disk_of_an_analysis,
    "`outputs` is read-only": read_only_outputs,
    "`data` is read-only": read_only_data,
    "the table is deleted under a run; the next run": table_deleted,
    "`outputs` is moved away under a run": outputs_moved_away,
    "SIGTERM, train": stopped(signal.SIGTERM, "llp.train", CHECKPOINT, *LONG),
    "SIGINT, train": stopped(signal.SIGINT, "llp.train", CHECKPOINT, *LONG),
    "SIGTERM at once, train": stopped(signal.SIGTERM, "llp.train", "*", *LONG),
    "SIGINT, train -m": stopped(signal.SIGINT, "llp.train", CHECKPOINT, "-m", *LONG),
    "SIGKILL, train; the same command again": killed_and_gone_on,
    "SIGINT, prepare": stopped(signal.SIGINT, "llp.prepare", "data/*", *MADE[:1], "dataset.rows=20000000"),
    "SIGTERM, prepare": stopped(signal.SIGTERM, "llp.prepare", "data/*", *MADE[:1], "dataset.rows=20000000"),
    "SIGKILL, prepare; the same command again": killed_preparation,
    "SIGINT, analyze": stopped(signal.SIGINT, "llp.analyze", "outputs/**/bags/*.json", *KEYS),
    "SIGTERM, analyze": stopped(signal.SIGTERM, "llp.analyze", "outputs/**/bags/*.json", *KEYS),
    "two trainings of one run": two_at_one("llp.train", (*LONG[:-3], *SHORT), CHECKPOINT),
    "two preparations of one table": two_at_one("llp.prepare", MADE, "data/*"),
    "two analyses of one dataset": two_at_one("llp.analyze", KEYS, "outputs/**/.lock"),
    "6 GiB of memory, a model of more": too_little_memory,
    "40 open files at most": too_few_open_files,
    "a largest file of 1 MB": largest_file,
    "`train | head -1`": closed_pipe(*TINY, module="llp.train"),
    "`report | head -1`": closed_pipe(module="llp.report"),
    "no HOME": with_environment(HOME=None),
    "a HOME that is not there": with_environment(HOME="/nowhere"),
    "a temporary folder that is not there": with_environment(TMPDIR="/nowhere"),
    "a locale of ASCII": with_environment(LC_ALL="C", PYTHONUTF8="0", PYTHONIOENCODING="ascii"),
    "no network, `logger=wandb`": with_environment(
        "logger=wandb", WANDB_BASE_URL="http://127.0.0.1:9", WANDB_SILENT="true"
    ),
    "no network, `logger=wandb logger.mode=online`": with_environment(
        "logger=wandb", "logger.mode=online", WANDB_API_KEY="0" * 40, WANDB_BASE_URL="http://127.0.0.1:9",
        WANDB_INIT_TIMEOUT="5", WANDB_HTTP_TIMEOUT="3",
    ),
    "the clock is set back between two attempts": clock_set_back,
    "the current folder is removed": folder_removed_below,
    "no standard output": no_standard_output,
}  # fmt: skip
