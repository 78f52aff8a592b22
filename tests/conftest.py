"""Composed configs of a tiny grid, and commands run outside the checkout."""

import gc
import signal
from functools import partial

import hypothesis
import pytest

from llp import signals
from tests.helpers.commands import Command
from tests.helpers.composed import tiny_config

FOLDERS = ("tests/end_to_end/", "tests/unit/api/", "tests/unit/runs/", "tests/unit/scoring/", "tests/unit/training/")

hypothesis.settings.register_profile("tests", max_examples=40, deadline=None)
hypothesis.settings.load_profile("tests")


def pytest_collection_finish():
    """Leave what the imports have made out of each collection of garbage: it stays."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_collection_modifyitems(items):
    """Mark the tests that train or start processes, beside those that carry the mark themselves."""
    for item in items:
        if item.nodeid.startswith(FOLDERS) or "command" in item.fixturenames or hasattr(item.module, "subprocess"):
            item.add_marker("run")


@pytest.fixture(autouse=True)
def own_signals(monkeypatch):
    """Leave no handler and no received signal of a test to the next one in this process."""
    monkeypatch.setattr(signals, "_received", [])
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def data_dir(tmp_path_factory):
    """Where the tiny dataset is prepared once."""
    return tmp_path_factory.mktemp("data")


@pytest.fixture
def tiny(tmp_path, data_dir):
    """Compose the tiny config with overrides; each test has its own outputs."""
    return partial(tiny_config, data_dir, tmp_path / "outputs")


@pytest.fixture
def command(tmp_path, data_dir):
    """A command that runs outside the checkout."""
    return Command(data_dir, tmp_path / "outputs", tmp_path)
