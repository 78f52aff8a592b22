"""The estimators leave the process as they found it: the environment, the log, and a foreign application of Hydra."""

import subprocess
import sys

import pytest

from llp.config.grouping_keys import CONF_DIR

APPLICATION = """
import copy, logging, os, random, signal, sys, warnings

import hydra, lightning, numpy, numba, polars, sklearn.base, torch
import hydra._internal.hydra
from hydra._internal.sources_registry import SourcesRegistry
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.version import getbase
from omegaconf.basecontainer import BaseContainer

torch.use_deterministic_algorithms(True, warn_only=True)
torch.set_num_threads(1)
ConfigStore.instance().store("stored", {"option": 3}, group="method")  # a group that ours has too
WITHIN = sys.argv.pop(1) == "within"


def state():
    loggers = [logging.getLogger(), *map(logging.getLogger, KNOWN)]
    found = {
        "environment": dict(os.environ),
        "filters": list(warnings.filters),
        "log": [(one.name, one.level, list(one.handlers), one.disabled, one.propagate) for one in loggers],
        "configs": copy.deepcopy(ConfigStore.instance().repo),
        "loader": hydra._internal.hydra.ConfigLoaderImpl,
        "application": GlobalHydra.instance().hydra,
        "version": getbase(),
        "resolvers": sorted(BaseContainer._resolvers),
        "torch": (
            torch.get_num_threads(), torch.are_deterministic_algorithms_enabled(), torch.get_default_dtype(),
            torch.is_deterministic_algorithms_warn_only_enabled(), torch.backends.cudnn.benchmark,
            torch.is_grad_enabled(), torch.get_rng_state().tolist(), torch.get_float32_matmul_precision(),
        ),
        "random": (random.getstate(), numpy.random.get_state()[1].tolist()),
        "signals": [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)],
        "hooks": (sys.excepthook, sys.path[:], os.getcwd()),
    }
    if WITHIN:  # otherwise asking would look for plugins
        found["sources"] = dict(SourcesRegistry.instance().types)
        found["plugins"] = sorted(Plugins.instance().class_name_to_class)
    return found


KNOWN = sorted(name for name in logging.root.manager.loggerDict if not name.startswith("llp"))


def check_nothing_changed(before, what):
    after = state()
    for name in before:
        assert after[name] == before[name], f"{what} changed {name}: {before[name]} {after[name]}"


def fit():
    before = state()
    import llp

    check_nothing_changed(before, "import llp")
    rng = numpy.random.default_rng(0)
    X, bags = rng.normal(size=(100, 2)), numpy.repeat(numpy.arange(20), 5)
    proportions = {bag: (X[bags == bag, 0] > 0).mean() for bag in range(20)}
    for overrides in ([], ["hardware.deterministic=true"], ["protocol.refit=true"])[: 3 if WITHIN else 1]:
        fitted = llp.LLPClassifier(max_epochs=1, overrides=overrides).fit(X, bags=bags, proportions=proportions)
        check_nothing_changed(before, f"fit with {overrides}")
    fitted.predict(X)
    for wrong in ({"method": "none"}, {"overrides": ["methd=1"]}, {"max_epochs": -1}, {"overrides": ["hydra.x=1"]}):
        try:
            llp.LLPClassifier(**wrong).fit(X, bags=bags, proportions=proportions)
        except ValueError as error:
            assert "\\n" not in str(error)
        else:
            raise AssertionError(wrong)
    check_nothing_changed(before, "a refused fit")


def compose_as_before(*overrides):
    return hydra.compose("app", list(overrides))


def check_application():
    assert compose_as_before("dataset=theirs").dataset.rows == 7
    assert compose_as_before("+method=stored").method.option == 3
    try:
        compose_as_before("dataset=flights")
    except hydra.errors.MissingConfigException as error:
        assert "Could not find 'dataset/flights'" in str(error), error
        assert "Available options in 'dataset':\\n\\tours\\n\\ttheirs" in str(error), error
    else:
        raise AssertionError("a dataset of llp's in a foreign application")


@hydra.main(config_path="conf", config_name="app", version_base="1.1")
def application(config):
    fit()
    check_application()
    assert HydraConfig.get().job.name == "application"
    print("unchanged")


if WITHIN:
    application()
else:
    fit()
    with hydra.initialize_config_dir(os.path.abspath("conf"), version_base="1.3"):
        check_application()
    print("unchanged")
"""


@pytest.mark.parametrize("place", ["within", "before"])
def test_import_and_fit_leave_the_process_and_a_foreign_hydra_application_as_they_were(tmp_path, place):
    (tmp_path / "application.py").write_text(APPLICATION)
    for name, content in {
        "app.yaml": "defaults:\n  - _self_\n  - dataset: ours\n",
        "dataset/ours.yaml": "rows: 3\n",
        "dataset/theirs.yaml": "rows: 7\n",
    }.items():
        path = tmp_path / "conf" / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(content)
    given = [sys.executable, "-W", "ignore", "application.py", place]
    done = subprocess.run(
        given,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(CONF_DIR.parent)},
    )
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["unchanged"]), done.stderr
