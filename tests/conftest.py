"""Composed configs of a tiny grid, and commands run outside the checkout."""

import signal

import pytest
from hydra import compose, initialize_config_dir

from llp import signals
from llp.config.composition import register
from llp.config.grouping_keys import CONF_DIR
from tests.helpers.commands import TINY, Command

FOLDERS = ("tests/end_to_end/", "tests/unit/api/", "tests/unit/runs/", "tests/unit/scoring/", "tests/unit/training/")


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
    register()

    def composed(*overrides):
        places = [f"data_dir={data_dir}", f"outputs_dir={tmp_path / 'outputs'}"]
        with initialize_config_dir(str(CONF_DIR), version_base="1.3"):
            return compose("train", [*TINY, *places, *overrides])

    return composed


@pytest.fixture
def command(tmp_path, data_dir):
    """A command that runs outside the checkout."""
    return Command(data_dir, tmp_path / "outputs", tmp_path)
