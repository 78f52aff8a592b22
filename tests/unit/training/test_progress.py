"""A sign of life within an epoch: bars on a terminal, lines elsewhere, at next to no cost."""

import contextlib
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

from llp.training import progress
from tests.helpers.commands import TINY
from tests.helpers.stages import same_weights, stage_of

LINE = r"a run: epoch \d, \d+ of 25 minibatches, [\d,]+ instances/s, \d:\d\d:\d\d left"


@pytest.mark.parametrize("place", ["host", "device"])
def test_log_has_a_line_now_and_then_within_an_epoch(tiny, tmp_path, monkeypatch, caplog, place):
    monkeypatch.setattr("llp.data.datamodule.PER_CHUNK", 4)
    config = tiny("trainer.bags_per_batch=1", "trainer.max_epochs=2")
    with caplog.at_level("INFO", "llp"):
        quiet = stage_of(config, tmp_path / "quiet", features_on=place)
        assert not caplog.messages  # an epoch is over long before
        monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0)
        told = stage_of(config, tmp_path / "told", features_on=place)
    lines = [line for line in caplog.messages if line.startswith("a run: epoch")]
    assert len(lines) >= 2 * 25 // 4
    training = [line for line in lines if "evaluation" not in line]
    assert all(re.fullmatch(LINE + r"(, test_auc 0\.\d{4})?", line) for line in training)
    assert all(("test_auc" in line) == ("epoch 1" in line) for line in training)
    assert [line for line in lines if "25 of 25 minibatches, evaluation" in line]
    assert same_weights(quiet[1].model, told[1].model)


def test_minibatches_are_counted_up_to_the_next_look(tiny, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0)
    with caplog.at_level("INFO", "llp"):
        stage_of(tiny("trainer.bags_per_batch=1", "trainer.max_epochs=1", "trainer.evaluate_every=0.2"), tmp_path)
    counts = re.findall(r"epoch (\d), (\d+) of 5 minibatches, [\d,]+ instances/s", caplog.text)
    assert [(int(look), int(n)) for look, n in counts] == [(look, n) for look in range(5) for n in range(1, 5)]


class OnATerminal:
    """A command whose output is a terminal of its own."""

    def __init__(self, command, *arguments):
        self.output = ""
        master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "llp.train", *arguments], cwd=command.cwd, stdin=slave, stdout=slave, stderr=slave,
            env=command.env | {"TERM": "xterm", "COLUMNS": "200"}, start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        self._reader = threading.Thread(target=self._read, args=(master,), daemon=True)
        self._reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()

    def _read(self, master):
        with contextlib.suppress(OSError):  # the other end is closed
            while part := os.read(master, 65536):
                self.output += part.decode(errors="replace")
        os.close(master)

    def wait_for(self, pattern, seconds=120):
        deadline = time.monotonic() + seconds
        while not re.search(pattern, self.output):
            assert time.monotonic() < deadline, self.output[-1000:]
            assert self.process.poll() is None, self.output[-1000:]
            time.sleep(0.02)

    def end(self):
        code = self.process.wait(120)
        self._reader.join()
        return code


# epochs of some seconds
LONG = (
    "dataset.rows=60000",
    "method=llp_vat",
    "trainer.bags_per_batch=1",
    "trainer.max_epochs=1000",
    "trainer.patience=1000",
    "checkpoint_minutes=0",
)
HIDDEN, SHOWN = "\x1b[?25l", "\x1b[?25h"  # the cursor


@pytest.mark.stops
@pytest.mark.parametrize("place", ["host", "device"])
def test_terminal_has_a_bar_and_ctrl_c_ends_it_cleanly(command, place):
    with OnATerminal(command, *TINY, *LONG, f"hardware.features_on={place}") as terminal:
        terminal.wait_for(r"fold=0 seed=0 +epoch \d+ .*instances/s, 0:00:\d\d left, test_auc")
        os.killpg(terminal.process.pid, signal.SIGINT)
        assert terminal.end() == 130, terminal.output[-1000:]
    assert terminal.output.count("Traceback") == 0
    assert terminal.output.count("stopped by SIGINT; the same command resumes the run") == 1
    assert terminal.output.rindex(SHOWN) > terminal.output.rindex(HIDDEN)
    assert len(list(command.outputs_dir.rglob("resume.ckpt"))) == 1
    assert not list(command.outputs_dir.rglob("error.json"))
