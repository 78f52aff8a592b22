"""Weights & Biases offline: one run of theirs per run of ours, with its outcome, and the key nowhere."""

import json
import shutil
import warnings

import pytest

import llp.training.curve
from llp.errors import InputError
from llp.runs.tracking import wandb_mode
from tests.helpers.composed import run_one
from tests.helpers.wandb_files import runs_in

KEY = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def wandb_offline(monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_API_KEY", KEY)


def test_runs_of_one_process(tiny, tmp_path, wandb_offline, monkeypatch):
    configs = [tiny("logger=wandb", f"fold={fold}", "trainer.max_epochs=2", "logger.tags=[mine]") for fold in (0, 1)]
    results = [run_one(config) for config in configs]
    configs[0].force = True
    run_one(configs[0])

    def fail(self, *args):
        raise RuntimeError("diverged")

    monkeypatch.setattr(llp.training.curve.Curve, "on_validation_start", fail)
    with pytest.raises(RuntimeError):
        run_one(tiny("logger=wandb", "fold=2"))

    runs = runs_in(tmp_path)
    hashes = [result.config_hash for result in results]
    names = [told["run"]["run_id"].rsplit("-", 1) for told in runs]
    assert [name for name, _ in names][:3] == [f"{hashes[0]}-1", f"{hashes[1]}-1", f"{hashes[0]}-2"]
    assert len({told["run"]["run_id"] for told in runs}) == 4
    assert [told["exit"].get("exit_code", 0) for told in runs] == [0, 0, 0, 1]

    first = runs[0]
    shown = first["run"]
    assert (shown["project"], shown["run_group"], shown["job_type"]) == (
        "llp-bench", "synthetic-random_64-dllp_bce", "train",
    )  # fmt: skip
    assert shown["display_name"] == "synthetic-random_64-dllp_bce-fold0-seed0"
    assert shown["tags"] == ["synthetic", "random_64", "dllp_bce", "fold=0", "seed=0", "paper", "mine"]
    config = shown["config"]["update"]
    assert (config["fold"], config["seed"], config["method"]["name"]) == (0, 0, "dllp_bce")
    assert "bags_per_batch" in config["trainer"]
    assert not any(text in json.dumps(config) for text in ("${", "api_key"))
    curves = {"epoch", "train_loss", "bag_error", "test_auc", "epoch_seconds", "instances_per_second"}
    assert len(first["history"]) == 2
    assert all(curves <= set(row["item"]) for row in first["history"])
    best = results[0].metric.best
    assert first["summary"]["metric"]["best"] == first["summary"]["measures"]["auc"] == pytest.approx(best)
    assert first["summary"]["test_auc"] == {"max": pytest.approx(best)}
    assert {"name": "test_auc", "step_metric": "epoch", "summary": {"max": True}}.items() <= (
        {key: value for metric in first["metrics"] if metric.get("name") == "test_auc" for key, value in metric.items()}
    ).items()  # fmt: skip
    assert "stats" in first["types"]  # of the machine
    assert not runs[3]["history"]

    written = [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert written == []


def test_run_whose_folder_was_removed_is_another_one_for_wandb_and_a_long_name_a_shortened_tag(
    tiny, tmp_path, wandb_offline
):
    seen, config = set(), tiny("logger=wandb", "method=group_prior")
    config.dataset.name = "d" * 100
    for _ in range(2):
        run_one(config)
        [told] = runs_in(tmp_path)
        assert told["run"]["tags"][0] == "d" * 64
        assert told["exit"].get("exit_code", 0) == 0
        seen.add(told["run"]["run_id"])
        shutil.rmtree(tmp_path / "outputs")
    assert len(seen) == 2


@pytest.fixture
def no_key(monkeypatch, tmp_path):
    """A home without a configured key, and no question to W&B about whose key it is: its service hangs offline."""
    import wandb

    for name in ("WANDB_MODE", "WANDB_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("WANDB_X_DISABLE_VIEWER", "true")
    wandb.teardown()
    yield
    wandb.teardown()


@pytest.mark.parametrize(
    ("environment", "asked", "mode"),
    [
        ({}, "auto", "offline"),
        ({"WANDB_API_KEY": KEY}, "auto", "online"),
        ({}, "online", "online"),
        ({"WANDB_API_KEY": KEY}, "offline", "offline"),
        *(({"WANDB_MODE": forced}, "auto", forced) for forced in ("offline", "disabled", "online")),
    ],
)
def test_mode_is_as_asked_for_or_by_the_environment_and_else_online_with_a_key_alone(
    no_key, monkeypatch, environment, asked, mode
):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing deprecated is asked
        assert wandb_mode(asked) == mode


@pytest.mark.parametrize(
    ("options", "environment", "problem"),
    [
        ([], {"WANDB_API_KEY": "short"}, "WANDB_API_KEY invalid"),
        ([], {"WANDB_MODE": "bogus"}, "Input should be 'online', 'offline'"),
        (["logger.mode=online"], {}, "No API key configured"),
        (["logger.mode=offline", f"logger.tags=[{'a' * 65}]"], {}, "65 characters"),
    ],
)
def test_what_wandb_refuses_is_told_in_a_line(tiny, no_key, monkeypatch, options, environment, problem):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InputError) as error:
        run_one(tiny("logger=wandb", *options))
    message = str(error.value)
    assert message.startswith("logger=wandb: ")
    assert problem in message
    assert message.endswith("to go on without a connection") == ("API" in problem)  # no remedy for anything else
    assert "\n" not in message
