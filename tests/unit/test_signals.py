"""A signal ends the runs that look for it, and a second one the process."""

import pickle
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from filelock import FileLock

from llp import signals
from llp.files import locked
from tests.helpers.composed import run_one

SCRIPT = """
import os, signal, sys
from llp import signals
signals.listen()
with signals.deferred():
    for name in sys.argv[1:]:
        os.kill(os.getpid(), getattr(signal, name))
        print("still there", flush=True)
"""


@pytest.mark.parametrize(
    ("names", "code", "out"),
    [
        ([], 0, ""),
        (["SIGINT"], 130, "still there\n"),
        (["SIGTERM"], 143, "still there\n"),
        (["SIGINT", "SIGTERM"], 143, "still there\n"),
    ],
)
def test_exit_codes(names, code, out):
    done = subprocess.run([sys.executable, "-c", SCRIPT, *names], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (code, out, "")


def test_signal_that_the_shell_had_ignored_stays_ignored():
    script = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n" + SCRIPT
    done = subprocess.run([sys.executable, "-c", script, "SIGINT"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "still there\n", "")


RAISING = """
import os, signal
from llp import signals
signals.listen()
with signals.deferred():
    signals._deferred = False
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        print("still there")
    finally:
        print("cleaned up")
"""


def test_main_thread_stops_where_it_is_unless_deferred():
    done = subprocess.run([sys.executable, "-c", RAISING], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (143, "cleaned up\n", "")


def test_end_by_a_signal_survives_a_workers_pickle():
    end = pickle.loads(pickle.dumps(signals.Stopped(signal.SIGINT)))
    assert (end.number, end.code) == (signal.SIGINT, 130)


@pytest.fixture
def stopped(monkeypatch):
    monkeypatch.setattr(signals, "_received", [signal.SIGTERM])


@pytest.mark.parametrize("words", [("protocol=holdout",), ("method=group_prior",)], ids=["training", "evaluation"])
def test_run_that_is_stopped_in_its_training_or_evaluation_says_so(tiny, stopped, caplog, words):
    with pytest.raises(SystemExit) as end:
        run_one(tiny(*words))
    assert end.value.code == 143
    assert "stopped by SIGTERM; the same command resumes the run" in caplog.text


def test_wait_for_a_lock_ends(tmp_path, stopped):
    def enter():
        with locked(tmp_path / ".lock", "another is at it"):
            pass

    with FileLock(tmp_path / ".lock"), ThreadPoolExecutor() as pool:
        error = pool.submit(enter).exception(timeout=30)
    assert isinstance(error, SystemExit)
    assert error.code == 143
