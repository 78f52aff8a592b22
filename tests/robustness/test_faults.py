"""Faults of a machine: each is a scene in which commands run as real processes, and the exit codes known of it.

Signals, kills and readers that leave: tests/end_to_end; streams and folders that are gone: tests/unit/test_command.py.
"""

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.helpers.commands import TINY, Command
from tests.helpers.disks import mounted
from tests.helpers.records import write_folds

MADE = ("dataset=synthetic", "dataset.rows=400000", "dataset.vocab_fraction=0.01")
KEYS = ("dataset=synthetic", "dataset.rows=20000", "dataset.vocab_fraction=0.01", "bag_sizes=[64]")


def epochs(n):
    return *TINY[:-1], f"trainer.max_epochs={n}", f"trainer.patience={n}", "checkpoint_minutes=0"


class Scene:
    """Where a fault happens: folders of its own, in which a command runs."""

    def __init__(self, folder):
        self.folder, self.outputs = folder, folder / "outputs"
        folder.mkdir()
        self.env = Command(folder / "data", self.outputs, folder).env

    def start(self, *arguments, module="llp.train", limits=(), **env):
        """Start a command under limits of (resource, value)."""

        def limited():
            signal.signal(signal.SIGINT, signal.default_int_handler)
            for name, value in limits:
                resource.setrlimit(name, (value, value))

        given = {name: value for name, value in (self.env | env).items() if value is not None}
        return subprocess.Popen(
            [sys.executable, "-m", module, *map(str, arguments)], cwd=self.folder, env=given, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=limited,
        )  # fmt: skip

    def run(self, *arguments, **options):
        return ended(self.start(*arguments, **options))

    @staticmethod
    def wait(begun, process):
        deadline = time.monotonic() + 120
        while not begun() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)

    def files(self, pattern):
        return [path for path in self.folder.glob(pattern) if path.exists()]

    def checkpoint(self):
        return self.files("outputs/**/resume.ckpt")


def ended(process):
    """The exit code of a process and what it said, once it has ended."""
    out, err = process.communicate(timeout=300)
    return process.returncode, out + err


def full_disk_of_outputs(*sizes):
    def scene_of(scene):
        for size in sizes:  # where the weights, a checkpoint, the record or the first file no longer fits
            with mounted(scene.folder / "outputs", f"size={size}"):
                yield scene.run(*TINY, "save_model=true", "checkpoint_minutes=0", "model.hidden=[256,64]")

    return scene_of


def full_disk_of_a_table(scene):
    with mounted(scene.folder / "data", "size=2m"):
        yield scene.run(*MADE, module="llp.prepare")


def full_disk_of_a_report(scene):
    write_folds(scene.outputs, [0.6, 0.7])
    with mounted(scene.outputs / "report", "size=120k"):
        yield scene.run(module="llp.report")


def full_temporary_folder(scene):
    with mounted(scene.folder / "tmp", "size=4k"):
        (scene.folder / "tmp" / "full").write_bytes(bytes(4096))
        yield scene.run(*TINY, TMPDIR=str(scene.folder / "tmp"))


def full_disk_of_an_analysis(scene):
    scene.run(*KEYS, module="llp.prepare")
    with mounted(scene.folder / "outputs", "size=60k"):
        yield scene.run(*KEYS, module="llp.analyze")


def read_only_report(scene):
    with mounted(scene.outputs, "size=4m"):
        write_folds(scene.outputs, [0.6, 0.7])
        subprocess.run(["mount", "-o", "remount,ro", str(scene.outputs)], check=True)
        yield scene.run(module="llp.status")
        yield scene.run(module="llp.report")


def read_only_home(*arguments, **env):
    def scene_of(scene):
        with mounted(scene.folder / "home", "ro"):
            yield scene.run(*TINY, *arguments, HOME=str(scene.folder / "home"), **env)

    return scene_of


def scores_without_a_place(scene):
    """Predict and export into a full and a read-only folder."""
    run = trained(scene)
    with mounted(scene.folder / "full", "size=8k"):
        yield scene.run(f"run={run}", *TINY[:3], "out=full/scores.parquet", module="llp.predict")
        yield scene.run(f"run={run}", "out=full/export", module="llp.export")
    with mounted(scene.folder / "read_only", "ro"):
        yield scene.run(f"run={run}", *TINY[:3], "out=read_only/scores.csv", module="llp.predict")
        yield scene.run(f"run={run}", "out=read_only/export", module="llp.export")


def trained(scene):
    """The folder of a finished run whose weights were kept."""
    scene.run(*TINY, "save_model=true")
    return next(path.parent for path in scene.files("outputs/**/result.json"))


def table_deleted(scene):
    process = scene.start(*epochs(60))
    scene.wait(scene.checkpoint, process)
    [shutil.rmtree(path.parent) for path in scene.files("data/*/schema.json")]
    yield ended(process)
    yield scene.run(*TINY, "seed=1")


def outputs_moved_away(scene):
    process = scene.start(*epochs(60))
    scene.wait(scene.checkpoint, process)
    scene.outputs.rename(scene.folder / "elsewhere")
    yield ended(process)


def two_at_one(module, arguments, begun):
    def scene_of(scene):
        write_folds(scene.outputs, [0.6, 0.7])
        first = scene.start(*arguments, module=module)
        scene.wait(lambda: scene.files(begun), first)
        yield from map(ended, (first, scene.start(*arguments, module=module)))

    return scene_of


def too_little_memory(scene):
    limits = [(resource.RLIMIT_AS, 6 * 2**30)]
    yield scene.run(*TINY, "model.hidden=[2000000,64]", limits=limits)
    yield scene.run(MADE[0], "dataset.rows=200000000", module="llp.prepare", limits=limits)


def too_few_open_files(scene):
    yield scene.run(*TINY, limits=[(resource.RLIMIT_NOFILE, 40)])


def largest_file(scene):
    yield scene.run(*MADE, module="llp.prepare", limits=[(resource.RLIMIT_FSIZE, 1_000_000)])


def at_random_moments(module, *arguments, seconds):
    """Signals at any moment, after which any exit code may come, and then the command to its end: it mends all."""

    def scene_of(scene):
        write_folds(scene.outputs, [0.6, 0.7])
        given, draws = [*arguments], random.Random(module)
        if module == "llp.analyze":
            scene.run(*arguments, module="llp.prepare")
        if module == "llp.predict":
            given = [f"run={trained(scene)}", *TINY[:3]]
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGTERM):
            process = scene.start(*given, module=module)
            scene.wait(lambda: catches(process.pid, signal.SIGTERM), process)  # noqa: B023  # at once
            time.sleep(seconds * draws.random())
            process.send_signal(number)
            code, said = ended(process)
            assert code in (0, 128 + number, -signal.SIGKILL), (number, code, said)
            yield None, said
        yield scene.run(*given, module=module)

    return scene_of


def catches(process, number):
    """Whether a process has a handler for a signal."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return True
    caught = int(status.partition("SigCgt:")[2].split()[0], 16)
    return bool(caught >> (number - 1) & 1)


def with_environment(*arguments, **env):
    def scene_of(scene):
        yield scene.run(*TINY, *arguments, **env)

    return scene_of


def clock_set_back(scene):
    process = scene.start(*epochs(150))
    scene.wait(scene.checkpoint, process)
    process.send_signal(signal.SIGTERM)
    ended(process)
    for path in scene.folder.rglob("*"):  # files that seem to come from the year 2040
        os.utime(path, (2_208_988_800, 2_208_988_800))
    yield scene.run(*epochs(150))


# a fault, the exit codes of its commands, and its scene
FAULTS = {
    "the disk of `outputs` is full, train": ([1, 1, 1, 1], full_disk_of_outputs("8k", "24k", "200k", "1m")),
    "the disk of `data` is full, made data": ([1], full_disk_of_a_table),
    "the disk of `outputs` is full, report": ([1], full_disk_of_a_report),
    "the disk of `outputs` is full, analyze": ([1], full_disk_of_an_analysis),
    "the temporary folder is full": ([0], full_temporary_folder),
    "a full disk and a read-only one, predict and export": ([1, 1, 1, 1], scores_without_a_place),
    "`outputs` is read-only: status, report": ([0, 1], read_only_report),
    "the table is deleted under a run; the next run": ([0, 0], table_deleted),
    "`outputs` is moved away under a run": ([1], outputs_moved_away),
    "signals at random moments, train": ([0], at_random_moments("llp.train", *epochs(150), seconds=7)),
    "signals at random moments, prepare": ([0], at_random_moments("llp.prepare", *MADE, seconds=4)),
    "signals at random moments, analyze": ([0], at_random_moments("llp.analyze", *KEYS, seconds=7)),
    "signals at random moments, report": ([0], at_random_moments("llp.report", seconds=6)),
    "signals at random moments, predict": ([0], at_random_moments("llp.predict", seconds=4)),
    "two analyses of one dataset": ([0, 0], two_at_one("llp.analyze", KEYS, "outputs/**/.lock")),
    "two reports of one folder": ([0, 0], two_at_one("llp.report", (), "outputs/report/.lock")),
    "6 GiB of memory, a model of more, a table of more": ([1, 1], too_little_memory),
    "40 open files at most": ([0], too_few_open_files),
    "a largest file of 1 MB": ([1], largest_file),
    "no HOME": ([0], with_environment(HOME=None)),
    "a HOME that is not there": ([0], with_environment(HOME="/nowhere")),
    "a HOME that may not be written": ([0], read_only_home()),
    "a HOME that may not be written, `logger=wandb`": ([0], read_only_home("logger=wandb", WANDB_SILENT="true")),
    "a temporary folder that is not there": ([0], with_environment(TMPDIR="/nowhere")),
    "a locale of ASCII": ([0], with_environment(LC_ALL="C", PYTHONUTF8="0", PYTHONIOENCODING="ascii")),
    "no network, `logger=wandb`": ([0], with_environment(
        "logger=wandb", WANDB_BASE_URL="http://127.0.0.1:9", WANDB_SILENT="true"
    )),
    "no network, `logger=wandb logger.mode=online`": ([1], with_environment(
        "logger=wandb", "logger.mode=online", WANDB_API_KEY="0" * 40, WANDB_BASE_URL="http://127.0.0.1:9",
        WANDB_INIT_TIMEOUT="5", WANDB_HTTP_TIMEOUT="3",
    )),
    "the clock is set back between two attempts": ([0], clock_set_back),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_told_without_a_traceback(tmp_path, name):
    codes, scene_of = FAULTS[name]
    answers = list(scene_of(Scene(tmp_path / "scene")))
    for _, said in answers:
        for word in ("Traceback", "Exception ignored", "Logging error", "HYDRA_FULL_ERROR"):
            assert word not in said
    assert [code for code, _ in answers if code is not None] == codes
