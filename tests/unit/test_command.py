"""What a command meets before its work: standard streams that are closed, a current folder that is gone."""

import os
import signal
import sys
from pathlib import Path

import pytest

from llp import signals
from llp.command import _Output, command, told_in_a_line
from llp.config import hydra_main
from llp.config.commands import COMMANDS


@pytest.fixture
def main(monkeypatch):
    monkeypatch.setattr(signals, "listen", lambda: None)
    return command(lambda: print("done"), resumes=True)


@pytest.mark.parametrize("closed", [("stdout",), ("stderr",), ("stdin", "stdout", "stderr")])
def test_closed_standard_streams_are_no_error(main, monkeypatch, closed):
    for name in closed:
        monkeypatch.setattr(sys, name, None)
    main()
    for name in closed:
        assert not getattr(sys, name).isatty()
        getattr(sys, name).close()


def test_current_folder_that_was_removed_is_told_in_a_line(main, monkeypatch, tmp_path):
    place = tmp_path / "gone"
    place.mkdir()
    monkeypatch.chdir(place)
    place.rmdir()
    with pytest.raises(SystemExit, match=r"^The current folder is not known \(No such file or directory\): expected"):
        main()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux")
@pytest.mark.parametrize("full", [True, False])
def test_output_that_cannot_be_written_goes_nowhere_from_then_on(full):
    """A full disk, or a reader that has left."""
    if full:
        descriptor = os.open("/dev/full", os.O_WRONLY)
    else:
        reader, descriptor = os.pipe()
        os.close(reader)
    output = _Output(descriptor, "w", closefd=False)
    assert [output.write(b"first"), output.write(b"second")] == [5, 6]
    os.write(descriptor, b"third")
    os.close(descriptor)


@pytest.mark.parametrize(
    ("name", "again"), [("train", "resumes"), ("predict", "starts over"), ("export", "starts over")]
)
def test_a_stopped_command_says_whether_it_goes_on(monkeypatch, capsys, name, again):
    def stopped():
        raise signals.Stopped(signal.SIGTERM)

    monkeypatch.setattr(signals, "listen", lambda: None)
    monkeypatch.setattr(hydra_main, "register", stopped)
    with pytest.raises(SystemExit):
        hydra_main.command_of(COMMANDS[name])(lambda config: None)()
    assert capsys.readouterr().err == f"stopped by SIGTERM; the same command {again}\n"


def test_an_error_that_a_signal_caused_ends_the_command_as_the_signal_does(monkeypatch):
    monkeypatch.setattr(signals, "_received", [signal.SIGTERM])
    with pytest.raises(signals.Stopped) as end, told_in_a_line():
        raise ImportError("cut off in the middle")
    assert end.value.code == 143
