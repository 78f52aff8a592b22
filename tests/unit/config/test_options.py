"""Options of classes and functions, checked by their type hints: of every YAML file, and of a user's own class."""

from typing import Literal

import pytest
from omegaconf import OmegaConf
from pydantic import PositiveInt

from llp.config.grouping_keys import CONF_DIR, options
from llp.config.options import Share, Widths, check_options, check_value, find_target
from llp.errors import InputError
from llp.runs.build import METADATA, check_build, open_table
from llp.runs.run import run_one
from tests.helpers.tables import make_table

# what each call is given by the program
GIVEN = {
    "method": ["model", "optimizer", "label_kind", "seed"],
    "model": ["vocab_sizes", "n_numeric"],
    "optimizer": ["params"],
    "dataset.prepare": ["folder", "made_by", "raw", "errors"],
}


def nodes():
    """Every node of the shipped YAML files that names a target: group, name, plain options."""
    for group in GIVEN:
        folder = group.split(".")[0]
        for name in sorted(
            set(options(folder)) - {"files"}
        ):  # whose options stand beside the group, and are checked there
            node = OmegaConf.to_container(OmegaConf.load(CONF_DIR / folder / f"{name}.yaml"))
            node = node["prepare"] if group == "dataset.prepare" else node
            own = {key: value for key, value in node.items() if key not in (*METADATA, "defaults")}
            yield group, name, {key: 1 if str(value).startswith("${") else value for key, value in own.items()}


NODES = list(nodes())
OPTIONS = [(group, name, node, option) for group, name, node in NODES for option in node if option[0] != "_"]


def refused(group, node):
    with pytest.raises(InputError) as error:
        check_options(group, find_target(group, node["_target_"]), node, GIVEN[group])
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(("group", "name", "node", "option"), OPTIONS, ids=[f"{g}={n}-{o}" for g, n, _, o in OPTIONS])
def test_every_option_that_ships_refuses_what_it_cannot_be(group, name, node, option):
    for wrong in ("foo", float("nan"), [[]]):
        message = refused(
            group, node | {"label": "late", option: wrong} if name == "flights" else node | {option: wrong}
        )
        assert message.startswith(f"{group}.{option}={wrong} does not fit")


@pytest.mark.parametrize(("group", "name", "node"), NODES, ids=[f"{group}={name}" for group, name, _ in NODES])
def test_every_node_that_ships_refuses_unknown_and_missing_options(group, name, node):
    assert refused(group, {"los": 1, **node}).startswith(f"{group}.los=1 does not fit: ")
    for option in [option for option in node if option[0] != "_"] if group == "method" else []:
        left = {key: value for key, value in node.items() if key != option}
        assert refused(group, left).startswith(f"{group}.{option} is missing, which ")


class Base:
    def __init__(self, *, seed: int):
        self.seed = seed


class Mine(Base):
    """As in a user's package: some hints, some not, and keywords passed on."""

    def __init__(self, *, kind: Literal["soft", "hard"], share: Share, anything, size: PositiveInt = 3, **shared):
        super().__init__(**shared)


def test_own_class():
    fits = {"kind": "soft", "share": 1, "anything": "x", "_partial_": True}
    check_options("method", Mine, fits, ["seed"])
    check_options("method", Mine, fits | {"size": {"_target_": "made.by.Hydra"}, "seed": 1})
    for changes, message in (
        ({"kind": "x"}, "method.kind=x does not fit; write method.kind=soft or hard"),
        ({"share": 1.5}, "method.share=1.5 does not fit: it should be less than or equal to 1"),
        ({"size": 0}, "method.size=0 does not fit: it should be greater than 0"),
        ({"size": True}, "method.size=True does not fit: it should be a valid integer"),
        ({"seed": "1"}, "method.seed=1 does not fit: it should be a valid integer"),
        ({"shared": 1}, "method.shared=1 does not fit: Mine takes anything, kind, share, size"),
    ):
        with pytest.raises(InputError) as error:
            check_options("method", Mine, fits | changes, ["seed"])
        assert str(error.value) == message
    with pytest.raises(InputError, match=r"method\.seed is missing, which Mine needs"):
        check_options("method", Mine, fits)


@pytest.mark.parametrize("value", [[], [0], [64, -3], 64, "64", ["a"], None, [1.5]])
def test_widths(value):
    check_value("model.hidden", [128, 64], Widths)
    with pytest.raises(InputError, match=r"model.hidden=.* does not fit: "):
        check_value("model.hidden", value, Widths)


@pytest.mark.parametrize("target", ["nowhere.Thing", "llp.methods.dllp.Thing"])
def test_target_that_is_not_there(target):
    with pytest.raises(InputError, match=f"method._target_={target} does not fit: Error loading"):
        find_target("method", target)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["method=soft_erot_llp", "method.reg=0"], "method.reg=0 does not fit: it should be greater than 0"),
        (["method=sim_llp", "model=linear"], "such as model=mlp"),
        (["method=rot", "optimizer.lr=foo"], "optimizer.lr=foo does not fit"),
        (["method=ot_llp", "optimizer=adam", "optimizer.lr=-1"], "optimizer: Invalid learning rate: -1"),
        (["method=ot_llp", "optimizer.lr=-1"], "exact Adam got lr=-1"),
        (["method=ot_llp", "+model.dropout=0.5"], "model.dropout=0.5 does not fit: MLP takes hidden"),
    ],
)
def test_wrong_option_is_told_before_the_first_stage_is_trained(tiny, tmp_path, overrides, message):
    with pytest.raises(InputError, match=message):
        run_one(tiny(*overrides))
    left = sorted(path.name for path in (tmp_path / "outputs").rglob("*") if path.is_file())
    assert left == [".lock", "error.json", "run.log"]


def test_gpu_on_a_machine_without_one(tiny, monkeypatch):
    config = tiny("trainer.accelerator=gpu")
    monkeypatch.setattr("torch.accelerator.is_available", lambda: False)
    with pytest.raises(InputError, match=r"torch finds no GPU on this machine; write trainer\.accelerator=auto"):
        check_build(config, open_table(config))


@pytest.mark.parametrize("model", options("model"))
def test_check_leaves_the_table_as_it_is(tiny, tmp_path, model):
    table = make_table(tmp_path / "t", n_numeric=2)
    config = tiny(f"model={model}")
    if model == "autoint":
        config.model.number_columns = 0
    check_build(config, table)
    assert table.vocab_sizes == [5, 7, 3]
