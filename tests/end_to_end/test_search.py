"""A search by Optuna on held-out bags, in this process: its trials' values are the records', and it goes on."""

import sys

import pytest
from omegaconf import OmegaConf

from llp.train import main
from tests.helpers.commands import TINY

optuna = pytest.importorskip("optuna")

SEARCH = (
    *(one for one in TINY if "max_epochs" not in one),
    "hydra/sweeper=optuna",
    "hydra.sweeper.startup_trials=2",
    "protocol=holdout",
    "trainer.max_epochs=1",
    "optimizer.lr=tag(log,interval(1e-4,1e-1))",
    "method.reduction=mean,sum",
    "fold=0,1",
)


@pytest.fixture
def search(tmp_path, data_dir, monkeypatch):
    """Run a search in this process; gives its study."""

    def run(*overrides):
        places = [f"data_dir={data_dir}", f"outputs_dir={tmp_path / 'outputs'}"]
        monkeypatch.setattr(sys, "argv", ["train.py", "-m", *SEARCH, *places, *overrides])
        main()
        storage = optuna.storages.JournalStorage(
            optuna.storages.journal.JournalFileBackend(str(tmp_path / "outputs" / "optuna.journal"))
        )
        [name] = optuna.get_all_study_names(storage)
        return optuna.load_study(study_name=name, storage=storage)

    return run


def held_out(folder):
    """By the options of each run below a folder, what it reached on the held-out bags."""
    from llp.results.collect import RunRecord

    records = [RunRecord.read(path) for path in folder.rglob("result.json")]
    return {(one.config["optimizer"]["lr"], one.config["method"]["reduction"], one.fold): one for one in records}


def test_search_on_held_out_bags(search, tmp_path):
    trials = search("hydra.sweeper.n_trials=2", "hydra.sweeper.prune=false").trials
    records = held_out(tmp_path)
    assert len(trials) == 2
    for trial in trials:
        lr, reduction = trial.params["optimizer.lr"], trial.params["method.reduction"]
        reached = [records.pop((lr, reduction, fold)).metric.held_out for fold in (0, 1)]
        assert trial.value == pytest.approx(sum(reached) / 2)
        # what trials are compared by on the way: a sum would grow with the folds, and the first one's be the least
        assert trial.intermediate_values == pytest.approx({0: reached[0], 1: sum(reached) / 2})
    assert records == {}
    [best] = tmp_path.rglob("best.yaml")
    assert OmegaConf.load(best).held_out == pytest.approx(min(trial.value for trial in trials))
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("result.json")}
    again = search("hydra.sweeper.n_trials=3", "hydra.sweeper.prune=false").trials
    assert [(trial.params, trial.value) for trial in again[:2]] == [(trial.params, trial.value) for trial in trials]
    assert len(again) == 3
    assert before.items() <= {path: path.stat().st_mtime_ns for path in tmp_path.rglob("result.json")}.items()


def test_trial_that_was_cut_off_is_done_again(search):
    study = search("hydra.sweeper.n_trials=1", "hydra.sweeper.at_once=1")
    cut = study.ask(dict(study.trials[0].distributions))
    study = search("hydra.sweeper.n_trials=2", "hydra.sweeper.at_once=1")
    assert [trial.state.name for trial in study.trials] == ["COMPLETE", "FAIL", "COMPLETE"]
    assert study.trials[2].params == cut.params


def test_trials_worse_than_the_median_are_left(search, tmp_path):
    study = search("hydra.sweeper.n_trials=5", "optimizer.lr=1e-2,1e-6,1e-7,1e-8", "hydra.sweeper.seed=1")
    left = [trial for trial in study.trials if trial.state.name == "PRUNED"]
    assert left
    assert len(held_out(tmp_path)) < 2 * len({tuple(trial.params.values()) for trial in study.trials})


def test_search_on_test_labels_is_refused(search):
    with pytest.raises(SystemExit, match=r"^Invalid protocol='paper': expected holdout in a search"):
        search("protocol=paper")
