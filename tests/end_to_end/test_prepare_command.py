"""`python -m llp.prepare` as a real process."""

import os
import signal
import subprocess
import sys
import time

import pytest

from llp.data.table import InstanceTable
from llp.datasets import raw_synthetic


@pytest.fixture(scope="module")
def train(tmp_path_factory):
    path = tmp_path_factory.mktemp("raw") / "train.txt"
    options = {"seed": 0, "vocab_fraction": 0.01, "tail_share": 0.25, "tail_values": 10**6}
    raw_synthetic.write_ctr(path, rows=150_000, **options, separator="\t", header=False)
    return path


def start(cwd, *overrides):
    command = [sys.executable, "-m", "llp.prepare", *overrides]
    environment = os.environ | {"COLUMNS": "200", "LLP_DATA_DIR": str(cwd / "data")}
    return subprocess.Popen(
        command, cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


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


def test_a_wrong_file_ends_with_one_line_and_no_traceback(tmp_path):
    (tmp_path / "x.txt").write_text("a\tb\n")
    process = start(tmp_path, "dataset=criteo_ctr", "raw=x.txt")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "x.txt, line 1, column 3: 2 tab-separated column(s), criteo_ctr has 40" in err
    assert "Traceback" not in err
