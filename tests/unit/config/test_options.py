"""Options of classes and functions, checked by their type hints: of every YAML file, and of a user's own class."""

from typing import Literal

import pytest
from omegaconf import OmegaConf
from pydantic import PositiveInt

from llp.config.grouping_keys import CONF_DIR, options
from llp.config.options import Share, Widths, check_options, check_value
from llp.config.targets import METADATA, find_target
from llp.errors import InputError, plain
from tests.helpers.composed import check_build, open_table, run_one
from tests.helpers.tables import make_table

pytestmark = pytest.mark.run  # composes many configs

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
        for name in sorted({*options(folder)} - {"files"}):  # whose options are checked beside the group
            node = OmegaConf.to_container(OmegaConf.load(CONF_DIR / folder / f"{name}.yaml"))
            node = node["prepare"] if group == "dataset.prepare" else node
            own = {key: value for key, value in node.items() if key not in (*METADATA, "defaults")}
            kinds = {"label_kind": "binary"} | node.get("by_label_kind", {}).get("binary", {})
            filled = {key: kinds.get(key, 1) if str(value)[:2] == "${" else value for key, value in own.items()}
            yield group, name, filled


NODES = list(nodes())
OPTIONS = [(group, name, node, option) for group, name, node in NODES for option in node if option[0] != "_"]


def refused(group, node):
    with pytest.raises(InputError) as error:
        check_options(group, find_target(group, node["_target_"]), node, GIVEN[group])
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(("group", "name", "node", "option"), OPTIONS, ids=[f"{g}={n}-{o}" for g, n, _, o in OPTIONS])
def test_every_option_that_ships_refuses_what_it_cannot_be(group, name, node, option):
    # any text may be a file, a checksum, SQL or a column
    free = node["_target_"].endswith("packaged.prepare") and isinstance(node[option], str) and option != "label_kind"
    free |= option == "exposure"
    for wrong in (*(() if free else ("foo",)), float("nan"), [[]]):
        message = refused(
            group, node | {"label": "late", option: wrong} if name == "flights" else node | {option: wrong}
        )
        assert message.startswith(f"Invalid {group}.{option}={plain(wrong, repr)}: expected ")


@pytest.mark.parametrize(("group", "name", "node"), NODES, ids=[f"{group}={name}" for group, name, _ in NODES])
def test_every_node_that_ships_refuses_unknown_and_missing_options(group, name, node):
    assert refused(group, {"los": 1, **node}).startswith(f"Invalid {group}.los=1: expected an option of ")
    later = ("family", "exposure")  # runs of before have none in their config.yaml
    for option in [one for one in node if one[0] != "_" and one not in later] if group == "method" else []:
        left = {key: value for key, value in node.items() if key != option}
        assert refused(group, left).startswith(f"Missing {group}.{option}: expected what ")


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
    check_options("method", Mine, fits | {"seed": 1})
    for changes, message in (
        ({"kind": "x"}, "kind='x': expected soft or hard, such as method.kind=soft"),
        ({"share": 1.5}, "share=1.5: expected a number >= 0 and <= 1, such as method.share=0"),
        ({"size": 0}, "size=0: expected an integer > 0, such as method.size=1"),
        ({"size": True}, "size=true: expected an integer > 0, such as method.size=1"),
        ({"seed": "1"}, "seed='1': expected an integer, such as method.seed=1"),
        ({"shared": 1}, "shared=1: expected an option of Mine (anything, kind, share, size), such as method.share=1"),
        ({"anything": [{"a": {"_target_": "os.system"}}]}, "anything={_target_: 'os.system'}: expected plain values, "),
        ({"_args_": [1]}, "_args_=[1]: expected an option of Mine (anything, kind, share, size), such as "),
    ):
        with pytest.raises(InputError) as error:
            check_options("method", Mine, fits | changes, ["seed"])
        assert str(error.value).startswith(f"Invalid method.{message}")
    with pytest.raises(InputError, match=r"Missing method\.seed: expected what Mine needs"):
        check_options("method", Mine, fits)


@pytest.mark.parametrize("value", [[], [0], [64, -3], 64, "64", ["a"], None, [1.5]])
def test_widths(value):
    check_value("model.hidden", [128, 64], Widths)
    with pytest.raises(InputError, match=r"Invalid model.hidden=.*: expected a list"):
        check_value("model.hidden", value, Widths)


@pytest.mark.parametrize("target", ["nowhere.Thing", "llp.methods.dllp.Thing"])
def test_target_that_is_not_there(target):
    with pytest.raises(
        InputError, match=f"Invalid method._target_='{target}': expected what can be imported .Error loading"
    ):
        find_target("method", target)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["method=sim_llp", "model=linear"], "such as model=mlp"),
        (["method=llp_vat", "model=linear"], r"Linear: llp_vat.* such as model=mlp"),
        (["method=mean_map", "model=mlp"], "model=linear"),
        (["method=ot_llp", "optimizer=adam", "optimizer.lr=-1"], "optimizer: Invalid learning rate: -1"),
        (["method=ot_llp", "optimizer.lr=-1"], "Invalid optimizer.lr=-1"),
        (
            ["method=ot_llp", "model.hidden=[1000000000000]"],
            r"There is not enough memory for \d+ bytes: .* such as smaller",
        ),
    ],
)
def test_wrong_option_is_told_before_the_first_stage_is_trained(tiny, tmp_path, overrides, message):
    with pytest.raises(InputError, match=message):
        run_one(tiny(*overrides))
    assert not (tmp_path / "outputs").exists()


def test_gpu_on_a_machine_without_one(tiny, monkeypatch):
    config = tiny("hardware.accelerator=gpu")
    monkeypatch.setattr("torch.accelerator.is_available", lambda: False)
    with pytest.raises(InputError, match=r"torch finds no GPU on this machine, such as hardware\.accelerator=auto"):
        check_build(config, open_table(config))


@pytest.mark.parametrize("model", options("model"))
def test_check_leaves_the_table_as_it_is(tiny, tmp_path, model):
    table = make_table(tmp_path / "t", n_numeric=2)
    config = tiny(f"model={model}", *(["method=cell_glm"] if model == "cell_weights" else []))
    if model == "autoint":
        config.model.number_columns = 0
    check_build(config, table)
    assert table.vocab_sizes == [5, 7, 3]
