"""A model from a run's folder: nothing that the folder names is called but a model class of the program."""

import shutil

import pytest
import torch
import yaml

from llp.errors import InputError
from llp.runs.load import load_model
from tests.helpers.composed import open_table, run_of, run_one, tiny_config
from tests.helpers.hostile import BOMB, Payload, Trap


@pytest.fixture(scope="module")
def trained(tmp_path_factory, data_dir):
    """The folder of a run with kept weights, and its table."""
    words = ("trainer.max_epochs=1", "model=embedding_mlp", "save_model=true")
    config = tiny_config(data_dir, tmp_path_factory.mktemp("outputs"), *words)
    run_one(config)
    table = open_table(config)
    return run_of(config, table).folder, table


@pytest.fixture
def copied(trained, tmp_path):
    """A copy of the run's folder, its table, and its config."""
    folder = shutil.copytree(trained[0], tmp_path / "run")
    return folder, trained[1], yaml.safe_load((folder / "config.yaml").read_text())


def test_model_of_a_run(copied):
    folder, table, config = copied
    model = load_model(folder, table)
    assert type(model).__name__ == "EmbeddingMLP"
    kept = torch.load(folder / "checkpoints" / "best.pt")
    assert all(torch.equal(kept[name], weight) for name, weight in model.state_dict().items())
    assert config["model"]["embedding_dim"] == 16


NESTED = {"_target_": "builtins.open", "_args_": ["MARKER", "w"]}
NODES = {
    "function": {"_target_": "builtins.open", "file": "MARKER", "mode": "w"},
    "unpickler": {"_target_": "torch.load", "f": "PICKLE", "weights_only": False},
    "joblib": {"_target_": "joblib.load", "filename": "PICKLE"},
    "instantiate": {"_target_": "hydra.utils.instantiate", "config": NESTED},
    "nested option": {"hidden": NESTED},
    "nested in a list": {"hidden": [NESTED]},
    "an option more": {"other": NESTED},
    "hydra's own": {"_args_": [NESTED]},
    "what a module of ours imports": {"_target_": "llp.models.autoint.torch.load", "f": "PICKLE"},
    "a module": {"_target_": "llp.models.autoint.torch"},
    "no model": {"_target_": "llp.models.multi_hot.Sequence"},
    "another package of ours": {"_target_": "llp.runs.build.load_model"},
    "a user's module": {"_target_": "payload.Model"},
    "interpolation": {"hidden": "${oc.env:HOME}"},
    "number for a class": {"_target_": 3},
    "text for widths": {"hidden": "abc"},
    "negative width": {"hidden": [-1]},
    "other width": {"embedding_dim": 8},
}


@pytest.mark.parametrize("case", NODES)
def test_no_class_or_function_that_a_folder_names_is_called(copied, tmp_path, monkeypatch, case):
    folder, table, config = copied
    trap = Trap(tmp_path, monkeypatch)
    config["model"] |= NODES[case]
    (folder / "config.yaml").write_text(trap.in_yaml(config))
    with pytest.raises(InputError) as error:
        load_model(folder, table)
    assert "\n" not in str(error.value)
    assert not trap.marker.exists()


@pytest.mark.parametrize(
    "text", [None, "", "3", "[]", "null", "model: 3", "model: {}", "a: [", BOMB, "[" * 5000, "model: &m {a: *m}"]
)
def test_config_that_is_none_is_told_in_a_line(copied, text):
    folder, table, _ = copied
    path = folder / "config.yaml"
    path.unlink() if text is None else path.write_text(text)
    with pytest.raises(InputError, match=r"holds no config\.yaml of a run") as error:
        load_model(folder, table)
    assert "\n" not in str(error.value)


def test_weights_are_not_unpickled(copied, tmp_path):
    folder, table, _ = copied
    marker, path = tmp_path / "marker", folder / "checkpoints" / "best.pt"
    torch.save({"embedding": Payload(marker)}, path)
    with pytest.raises(InputError, match="holds no weights"):
        load_model(folder, table)
    assert not marker.exists()


@pytest.mark.parametrize("content", [[1], {"a": 1}, {"embedding": torch.ones(2)}, 3])
def test_weights_of_something_else_are_told_in_a_line(copied, content):
    folder, table, _ = copied
    path = folder / "checkpoints" / "best.pt"
    torch.save(content, path)
    with pytest.raises(InputError, match="was trained on another table or with another model"):
        load_model(folder, table)
