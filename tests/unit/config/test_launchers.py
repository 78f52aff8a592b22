"""Options of launchers and the search: YAML and model agree; wrong values and missing packages are told in a line."""

import shutil
import sys

import pytest
from hydra.core.config_store import ConfigStore
from omegaconf import OmegaConf

from hydra_plugins.llp_optuna import OptunaSweeper
from hydra_plugins.llp_ray import RayLauncher
from hydra_plugins.llp_slurm import SlurmLauncher
from llp.config.composition import register
from llp.config.grouping_keys import CONF_DIR
from llp.config.launchers import JoblibOptions, RayOptions, SearchOptions, SlurmOptions, check_plugin, check_storage
from llp.errors import InputError

FILES = {
    "launcher/joblib": (JoblibOptions, {"_target_"}),
    "launcher/submitit_slurm": (SlurmOptions, {"_target_"}),
    "launcher/ray": (RayOptions, {"_target_"}),
    "sweeper/optuna": (SearchOptions, {"_target_", "params"}),
}


def options_of(name):
    node = OmegaConf.load(CONF_DIR / "hydra" / f"{name}.yaml")
    node = OmegaConf.merge({"outputs_dir": "outputs"}, node)
    options = OmegaConf.to_container(node, resolve=True)
    return {name: value for name, value in options.items() if name != "outputs_dir"}


@pytest.mark.parametrize("name", FILES)
def test_every_option_has_a_model_and_a_value(name):
    model, others = FILES[name]
    options = options_of(name)
    assert set(options) == set(model.model_fields) | others
    check_plugin("hydra.launcher", model, options)


@pytest.mark.parametrize(
    ("name", "option", "value", "told"),
    [
        ("launcher/submitit_slurm", "points_per_job", 0, r"^Invalid hydra.launcher.points_per_job=0: expected an in"),
        ("launcher/submitit_slurm", "mem", "much", r"^Invalid hydra.launcher.mem='much': expected memory as Slurm"),
        ("launcher/submitit_slurm", "setup", "module load", r"^Invalid hydra.launcher.setup='module load': expected"),
        ("launcher/joblib", "n_jobs", 1.5, r"^Invalid hydra.launcher.n_jobs=1.5: expected an integer > 0 or an inte"),
        ("launcher/joblib", "batch_size", "many", r"^Invalid hydra.launcher.batch_size='many': expected"),
        ("launcher/ray", "gpus_per_run", -1, r"^Invalid hydra.launcher.gpus_per_run=-1: expected a number >= 0"),
        ("launcher/ray", "retries", "x", r"^Invalid hydra.launcher.retries='x': expected an integer >= 0"),
        ("sweeper/optuna", "at_once", 0, r"^Invalid hydra.launcher.at_once=0: expected an integer > 0"),
    ],
)
def test_wrong_values_are_refused(name, option, value, told):
    with pytest.raises(InputError, match=told):
        check_plugin("hydra.launcher", FILES[name][0], options_of(name) | {option: value})


def made(kind, name):
    return kind(**{option: value for option, value in options_of(name).items() if option != "_target_"})


def test_what_is_not_installed_is_named(monkeypatch, tmp_path):
    for name in ("submitit", "ray", "optuna"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError, match=r"needs submitit, which is not installed: pip install 'llp-bench\[slurm\]'$"):
        made(SlurmLauncher, "launcher/submitit_slurm")._executor(tmp_path)
    with pytest.raises(InputError, match=r"needs Ray, which is not installed: pip install 'llp-bench\[ray\]'$"):
        made(RayLauncher, "launcher/ray")._ray()
    with pytest.raises(InputError, match=r"needs Optuna, which is not installed: pip install 'llp-bench\[optuna\]'$"):
        made(OptunaSweeper, "sweeper/optuna")._check()


@pytest.mark.parametrize(
    "content", ["a,b\n1,2\n", '{"dataset": 1}\n', "[1]", "3", "\xff", None, "folder", "below a file"]
)
def test_a_search_is_not_written_into_a_file_of_something_else(tmp_path, content):
    path = tmp_path / "mine"
    if content == "folder":
        path.mkdir()
    elif content is None:
        path.symlink_to(path)
    else:
        path.write_text(content)
    storage = path / "journal" if content == "below a file" else path
    with pytest.raises(InputError, match=r"^Invalid hydra\.sweeper\.storage='.*': expected a file of searches, or one"):
        check_storage(storage)
    assert path.is_symlink() or path.is_dir() or path.read_text() == content


def test_a_journal_of_searches_goes_on(tmp_path):
    optuna = pytest.importorskip("optuna")
    path = tmp_path / "outputs" / "optuna.journal"
    check_storage(path)
    path.touch()
    check_storage(path)
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(path)))
    optuna.create_study(storage=storage).optimize(lambda trial: 0.5, n_trials=1)
    check_storage(path)


def test_slurm_without_its_commands_is_told(monkeypatch, tmp_path):
    pytest.importorskip("submitit")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(InputError, match=r"needs Slurm's commands, but there is no sbatch here$"):
        made(SlurmLauncher, "launcher/submitit_slurm")._executor(tmp_path)


def test_other_plugins_of_these_names_are_left_out():
    store = ConfigStore.instance()
    store.store(group="hydra/launcher", name="submitit_slurm", node={"_target_": "other.Launcher"})
    store.store(group="hydra/launcher", name="another", node={"_target_": "other.Launcher"})
    register()
    assert {"another.yaml"} == set(store.repo["hydra"]["launcher"]) & {"another.yaml", "submitit_slurm.yaml"}
    del store.repo["hydra"]["launcher"]["another.yaml"]
