"""Configs of a grid's points from few compositions: each is the one that Hydra composes."""

import contextlib

import pytest
from hydra.types import RunMode
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf, open_dict

from llp.config.cells import GridCell
from llp.config.points import Multirun
from llp.errors import InputError
from tests.helpers.composed import hydras_loader

pytestmark = pytest.mark.run  # composes hundreds of configs

CHOICES = {
    "dataset": ["synthetic", "synthetic_sscl", "flights", "criteo_ctr"],
    "method": ["dllp_mse", "sim_llp", "mean_map", "genbags", "dllp_bce"],
    "model": ["mlp", "embedding_mlp"],
    "optimizer": ["adam", "exact_adam"],
    "protocol": ["paper", "holdout"],
    "experiment": ["distance_space", "keyed"],
    "grouping_key": [
        "C3_C11",
        "C1",
        "random_64",
        "random_512",
        "fixed_C1_C2_64",
        "month_dest",
        "random",
        "mine_1",
        "prior_64",
    ],
}
VALUES = [
    "fold=3", "seed=7", "trainer.max_epochs=3", "trainer.patience=${dataset.patience}", "seed=${fold}",
    "optimizer.lr=0.5", "optimizer.lr=${dataset.learning_rate}", "dataset.patience=9", "dataset.rows=500",
    "grouping_key.bag_size=100", "+grouping_key.extra=1", "grouping_key.seed=5", "trainer.threads=${seed}",
    "++method.reduction=sum", "model.hidden=[8,8]", "~optimizer.eps", "dataset.prepare.rate=0.1",
    "+dataset.mine=${oc.env:HOME}", "method.first_stage.loss=mae", "outputs_dir=${dataset.name}/x",
    "model={hidden:[4]}", "dataset.key_columns=[month_dest,C3]",
]  # fmt: skip


@contextlib.contextmanager
def multirun(own, *overrides):
    """Hydra's loader and the config of a multirun, with a user's own folder of configs."""
    with hydras_loader() as loader:
        given = [f"hydra.searchpath=[file://{own}]", *overrides]
        yield loader, loader.load_configuration("train", given, RunMode.MULTIRUN)


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """An experiment that changes every key, and a key of a file."""
    folder = tmp_path_factory.mktemp("own")
    for name, text in {
        "experiment/keyed.yaml": "# @package _global_\ngrouping_key:\n  seed: 3\nseed: 4\n",
        "grouping_key/mine_1.yaml": "kind: random\nbag_size: 77\nseed: 1\n",
    }.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


def by_hydra(loader, master, overrides):
    config = loader.load_sweep_config(master, list(overrides))
    with open_dict(config):
        del config["hydra"]
    return config


def outcome(compose):
    """The composed config in YAML, with its interpolations; or the error."""
    try:
        return OmegaConf.to_yaml(compose())
    except InputError as error:
        return str(error)


points = st.fixed_dictionaries({}, optional={group: st.sampled_from(names) for group, names in CHOICES.items()})


@settings(deadline=None, max_examples=8, suppress_health_check=list(HealthCheck))
@given(
    chosen=st.lists(points, min_size=1, max_size=3), values=st.lists(st.sampled_from(VALUES), max_size=5, unique=True)
)
def test_point_has_the_config_that_hydra_composes(own, chosen, values):
    with multirun(own) as (loader, master):
        composer = Multirun(loader, master)
        for choices in chosen:
            overrides = [*(f"{group}={name}" for group, name in choices.items()), *values]
            expected = outcome(lambda overrides=overrides: by_hydra(loader, master, overrides))
            assert outcome(lambda overrides=overrides: composer.compose(overrides)) == expected


def test_keys_of_a_kind_and_other_values_need_no_composition_of_their_own(own, monkeypatch):
    with multirun(own) as (loader, master):
        composed = []
        original = type(loader).load_sweep_config

        def counted(self, *args):
            composed.append(args)
            return original(self, *args)

        monkeypatch.setattr(type(loader), "load_sweep_config", counted)
        composer = Multirun(loader, master)
        for key in ("C1", "C2_C3", "C3_C11", "random_64", "random_128", "fixed_C1_9", "fixed_C1_C2_64"):
            for method in ("dllp_bce", "dllp_mse"):
                for value in ("optimizer.lr=1", "optimizer.lr=2"):
                    composer.compose(["dataset=synthetic", f"grouping_key={key}", f"method={method}", value])
        assert len(composed) == 3 * 2


def test_interpolations_of_fold_and_seed_are_noticed(own):
    with multirun(own) as (loader, master):
        composer = Multirun(loader, master)
        assert not GridCell(composer.compose(["dataset=synthetic"])).reads_run  # it reads dataset.seed
        for override in ("trainer.threads=${seed}", "+dataset.x=a${fold}b", "+dataset.x=${oc.select:seed,0}"):
            assert GridCell(composer.compose([override])).reads_run


def test_edited_made_and_removed_config_files_are_known(own):
    with multirun(own) as (loader, master):
        grid = Multirun(loader, master)
        before = grid.config_files()
        assert grid.config_files() == before
        (own / "experiment" / "new.yaml").write_text("seed: 5\n")
        (own / "grouping_key" / "mine_1.yaml").write_text("kind: random\nbag_size: 78\nseed: 1\n")
        (own / "report.yaml").write_text("project: mine\n")  # another command's
        edited = {path.name for path, _ in before.items() ^ grid.config_files().items()}
        assert edited == {"new.yaml", "mine_1.yaml"}


def test_what_replaces_an_experiments_sweep_is_not_counted_beside_it(own, monkeypatch):
    monkeypatch.setattr("llp.config.points.MOST_POINTS", 2)
    rest = ["dataset.rows=1000,2000", "grouping_key=random_16", "method=upm", "fold=0"]
    with multirun(own, "experiment=study", *rest) as (loader, master):
        assert len(Multirun(loader, master).points()) == 2
