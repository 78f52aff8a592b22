"""`python -m llp.prepare` as a real process: also two at once, stopped, and on a full disk."""

import re
import signal
import time
from pathlib import Path

import pytest

from llp.data.table import InstanceTable
from tests.helpers.commands import Command
from tests.helpers.disks import mounted
from tests.helpers.raw import write_ctr


@pytest.fixture(scope="module")
def train(tmp_path_factory):
    path = tmp_path_factory.mktemp("raw") / "train.txt"
    return write_ctr(path, 150_000, vocab_fraction=0.01, tail_values=10**6)


def start(cwd, *overrides):
    command = Command(cwd / "data", cwd / "outputs", cwd)
    command.env["COLUMNS"] = "200"
    return command.start(*overrides, module="llp.prepare")


@pytest.mark.stops
def test_two_at_once_and_one_that_was_killed_make_one_table(tmp_path, train):
    arguments = ("dataset=criteo_ctr", f"raw={train}")
    killed = start(tmp_path, *arguments)
    data = tmp_path / "data"
    deadline = time.monotonic() + 60
    while not list(data.glob(".criteo_ctr.*.tmp/*")) and time.monotonic() < deadline:
        time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert list(data.glob(".criteo_ctr.*.tmp"))
    assert not (data / "criteo_ctr").exists()

    both = [start(tmp_path, *arguments) for _ in range(2)]
    shown = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], shown
    assert sorted(path.name for path in data.iterdir()) == [".criteo_ctr.lock", "criteo_ctr"]
    assert InstanceTable.open(data / "criteo_ctr").n_rows == 150_000
    assert sum("waiting for it" in out for out, _ in shown) == 1
    for out, _ in shown:
        assert "150,000 rows" in out
        assert "published: not the published file" in out or "published: as from a part" in out


def once(data, pattern, process):
    """Wait until something that fits the pattern is there; a stopped process is too late."""
    while not list(data.glob(pattern)):
        assert process.poll() is None
        time.sleep(0.005)


def importing(process):
    """Wait until the process has begun its imports, which take seconds."""
    while "pydantic_core" not in Path(f"/proc/{process.pid}/maps").read_text():
        assert process.poll() is None
        time.sleep(0.005)


MOMENTS = {
    "importing": lambda data, process: importing(process),
    "reading": lambda data, process: once(data, ".criteo_ctr.*.raw.tmp/*", process),
    "coding": lambda data, process: once(data, ".criteo_ctr.*[0-9].tmp/label.npy", process),
}


@pytest.mark.stops
@pytest.mark.parametrize(
    ("moment", "number"), zip(MOMENTS, (signal.SIGINT, signal.SIGTERM, signal.SIGINT), strict=True)
)
def test_a_signal_ends_it_with_a_line(tmp_path, train, moment, number):
    process = start(tmp_path, "dataset=criteo_ctr", f"raw={train}")
    MOMENTS[moment](tmp_path / "data", process)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert re.fullmatch(rf"stopped by {number.name}(; the same command starts over)?\n", err)
    data = tmp_path / "data"
    assert [path.name for path in data.glob("*")] == ([] if moment == "importing" else [".criteo_ctr.lock"])


def test_a_full_disk_is_told_in_a_line(tmp_path, train):
    with mounted(tmp_path / "data", "size=20m"):  # some raw rows fit
        process = start(tmp_path, "dataset=criteo_ctr", f"raw={train}")
        _, err = process.communicate(timeout=120)
        assert process.returncode == 1
        assert "No space left on device; make room there, or name another place with data_dir=FOLDER: " in err
        assert "Traceback" not in err
        assert [path.suffix for path in (tmp_path / "data").iterdir()] == [".lock"]
