"""Grouping keys by name, and configs that cannot run: one line that says what fits."""

import re

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.object_type import ObjectType

from llp.config.checks import _representatives, check_config
from llp.config.grouping_keys import (
    CONF_DIR,
    GroupingKeySource,
    grouping_key,
    grouping_key_node,
    options,
)
from llp.errors import InputError


@pytest.mark.parametrize(
    ("name", "kind", "columns", "bag_size"),
    [
        ("C3", "feature", ["C3"], None),
        ("C3_C11", "feature", ["C3", "C11"], None),
        ("C1_C2_C3", "feature", ["C1", "C2", "C3"], None),
        ("random_64", "random", [], 64),
        ("random_1000", "random", [], 1000),
        ("fixed_C3_128", "fixed", ["C3"], 128),
        ("fixed_C3_C11_512", "fixed", ["C3", "C11"], 512),
    ],
)
def test_key_by_name(tiny, name, kind, columns, bag_size):
    node = grouping_key_node(name)
    assert (node.kind, node.columns, node.bag_size) == (kind, columns, bag_size)
    key = grouping_key(tiny(f"grouping_key={name}"))
    assert key.name == name
    assert (key.kind, key.columns, key.bag_size) == (kind, tuple(columns), bag_size)


def test_key_of_columns_with_underscores(tiny):
    key = grouping_key(tiny("grouping_key=feature", "grouping_key.columns=[a_b,c]"))
    assert key.columns == ("a_b", "c")


def test_thresholds_of_a_named_key_can_be_set(tiny):
    key = grouping_key(tiny("grouping_key=C1_C2", "grouping_key.low_thresh=7"))
    assert (key.low_thresh, key.high_thresh) == (7, 2500)


@pytest.mark.parametrize(
    ("dataset", "name"), [("flights", "month_dest"), ("synthetic", "C1_C23"), ("synthetic_sscl", "C11_C16")]
)
def test_dataset_has_a_default_key_which_the_user_replaces_on_either_side(dataset, name):
    with initialize_config_dir(str(CONF_DIR), version_base="1.3"):
        chosen = ["grouping_key=random_64", f"dataset={dataset}"]
        assert grouping_key(compose("train", chosen[1:])).name == name
        assert {grouping_key(compose("train", order)).name for order in (chosen, chosen[::-1])} == {"random_64"}


def test_completion_lists_the_keys_of_the_shipped_datasets():
    names = GroupingKeySource("llp", "llp-keys://").list("grouping_key", ObjectType.CONFIG)
    assert {"month_dest", "C3_C11", "C7", "random_64", "random_512", "fixed_C3_C11_128"} <= set(names)
    assert "C11_C3" not in names


def refused(config):
    with pytest.raises(InputError) as error:
        check_config(config)
    message = str(error.value)
    assert "\n" not in message
    return message


NUMBERS = [
    ("fold=5", "fold=5 does not fit: fold is 0..4; write fold=0"),
    ("fold=-1", "fold=-1 does not fit: fold is 0..4; write fold=0"),
    ("fold=a", "fold=a does not fit: fold is 0..4; write fold=0"),
    ("fold=true", "fold=True does not fit: fold is 0..4; write fold=0"),
    ("seed=-1", "seed=-1 does not fit: seed is a whole number from 0; write seed=0"),
    ("seed=0.5", "seed=0.5 does not fit: seed is a whole number from 0; write seed=0"),
    ("trainer.threads=0", "trainer.threads=0 does not fit: trainer.threads is a whole number from 1"),
    ("trainer.bags_per_batch=0", "trainer.bags_per_batch=0 does not fit"),
    ("trainer.instances_per_batch=x", "trainer.instances_per_batch=x does not fit"),
    ("trainer.max_epochs=0", "trainer.max_epochs=0 does not fit"),
    ("trainer.patience=null", "trainer.patience=None does not fit"),
    ("num_workers=-1", "num_workers=-1 does not fit: num_workers is a whole number from 0; write num_workers=0"),
    ("grouping_key=random_0", "grouping_key.bag_size=0 does not fit: grouping_key.bag_size is a whole number from 1"),
]


@pytest.mark.parametrize(("override", "message"), NUMBERS, ids=[override for override, _ in NUMBERS])
def test_number_that_does_not_fit(tiny, override, message):
    assert refused(tiny(override)).startswith(message)


OTHERS = [
    (["force=maybe"], "force=maybe does not fit: it should be a valid boolean"),
    (["save_model=1"], "save_model=1 does not fit: it should be a valid boolean"),
    (["checkpoint_minutes=-1"], "checkpoint_minutes=-1 does not fit: it should be greater than or equal to 0"),
    (["checkpoint_minutes=nan"], "checkpoint_minutes=nan does not fit: it should be a finite number"),
    (["seed=9223372036854775808"], "seed=9223372036854775808 does not fit: it should be less than"),
    (
        ["trainer.features_on=gpu"],
        "trainer.features_on=gpu does not fit; write trainer.features_on=auto, device or host",
    ),
    (["trainer.cuda_graphs=maybe"], "trainer.cuda_graphs=maybe does not fit: it should be a valid boolean"),
    (["trainer.deterministic=1"], "trainer.deterministic=1 does not fit: it should be a valid boolean"),
    (["runs_at_once=0"], "runs_at_once=0 does not fit"),
    (["trainer.accelerator=tpu"], "trainer.accelerator=tpu does not fit; write trainer.accelerator=auto, cpu or gpu"),
    (["~trainer.patience"], "Key 'patience' is not in struct"),
    (["~optimizer"], "optimizer is missing; write optimizer=NAME"),
    (["data_dir=null"], "data_dir=None does not fit: it should be a valid string"),
    (["outputs_dir="], "outputs_dir is empty; write outputs_dir=FOLDER"),
    (["method.name=a/b"], "method.name=a/b does not fit: it names a folder"),
    (["dataset.name=.."], "dataset.name=.. does not fit: it names a folder"),
    (["protocol.name=foo"], "protocol.name=foo does not fit; write protocol.name=paper or holdout"),
    (["protocol.held_out=0.5"], "protocol.held_out=0.5 does not fit protocol=paper"),
    *(
        (["protocol=holdout", f"protocol.held_out={share}"], f"protocol.held_out={share} does not fit: it is a share")
        for share in (-0.1, 0, 1, 2)
    ),
    (["logger=wandb", "logger.mode=foo"], "logger.mode=foo does not fit; write logger.mode=auto, online or offline"),
    (["logger=wandb", "logger.tags=foo"], "logger.tags=foo does not fit: it should be a valid array"),
    (["grouping_key="], "grouping_key=: dataset synthetic has no key column ''; it has C1"),
    (["grouping_key=C1/C2"], "grouping_key=C1/C2: dataset synthetic has no key column C1/C2; it has C1"),
    (["grouping_key=random_64", "grouping_key.kind=x"], "grouping_key.kind=x does not fit; write grouping_key.kind="),
    (["grouping_key=random_64", "grouping_key.seed=-1"], "grouping_key.seed=-1 does not fit: it should be greater"),
    (["grouping_key=random_64", "grouping_key.columns=[C1]"], "grouping_key.columns=['C1'] means nothing for random"),
    (["grouping_key=C1_C2", "grouping_key.bag_size=5"], "grouping_key.bag_size=5 means nothing for feature bags"),
    (["grouping_key=C1_C2", "grouping_key.low_thresh=a"], "grouping_key.low_thresh=a does not fit: it should be"),
    (["grouping_key=feature", "grouping_key.columns=[C1,1]"], "grouping_key.columns=['C1', 1] does not fit"),
    (["grouping_key=feature", "grouping_key.columns=C1"], "grouping_key.columns=C1 does not fit: it should be a valid"),
    (["+grouping_key.size=5"], "grouping_key.size=5 does not fit: GroupingKey takes bag_size, columns"),
]


@pytest.mark.parametrize(("overrides", "message"), OTHERS, ids=[" ".join(one) for one, _ in OTHERS])
def test_value_that_does_not_fit(tiny, overrides, message):
    assert refused(tiny(*overrides)).startswith(message)


@pytest.mark.parametrize("name", ["data_dir", "outputs_dir"])
def test_folder_that_cannot_be(tiny, tmp_path, name):
    (tmp_path / "file").touch()
    for given in (tmp_path / "file", tmp_path / "file" / "below"):
        message = f"{name}={given} does not fit: {tmp_path / 'file'} is not a folder; write {name}=FOLDER"
        assert refused(tiny(f"{name}={given}")) == message


def test_folder_that_may_not_be_written(tiny, tmp_path, monkeypatch):
    closed = tmp_path / "closed"
    closed.mkdir()
    monkeypatch.setattr("llp.config.checks.os.access", lambda path, mode: path != closed)
    assert refused(tiny(f"outputs_dir={closed}/new")).endswith(f"{closed} may not be written; write outputs_dir=FOLDER")
    check_config(tiny(f"data_dir={closed}"))  # a prepared table is only read


def test_column_that_does_not_exist(tiny):
    message = refused(tiny("grouping_key=C3_C99"))
    assert message.startswith("grouping_key=C3_C99: dataset synthetic has no key column C99; it has C1, C2, C3, ")
    assert message.endswith(
        "Write grouping_key=C1_C2, or for names with an underscore grouping_key=feature grouping_key.columns=[C1,C2]"
    )


def test_reversed_pair_is_told_its_right_name(tiny):
    expected = "columns go in table order, each once; write grouping_key="
    assert refused(tiny("grouping_key=C11_C3")) == f"grouping_key=C11_C3: {expected}C3_C11"
    assert refused(tiny("grouping_key=fixed_C11_C3_64")) == f"grouping_key=fixed_C11_C3_64: {expected}fixed_C3_C11_64"
    assert refused(tiny("grouping_key=C3_C3")) == f"grouping_key=C3_C3: {expected}C3"


def test_keys_of_columns_with_underscores_are_told_as_they_are_written(tiny):
    config = tiny("grouping_key=fixed", "grouping_key.columns=[c,a_b]", "grouping_key.bag_size=64")
    config.dataset.key_columns = ["a_b", "c"]
    written = "grouping_key=fixed grouping_key.columns=[a_b,c] grouping_key.bag_size=64"
    assert refused(config).endswith(f"columns go in table order, each once; write {written}")
    config.grouping_key.columns = ["d"]
    assert "Write grouping_key=feature grouping_key.columns=[a_b,c]," in refused(config)


@pytest.mark.parametrize("kind", ["feature", "fixed"])
def test_key_without_columns(tiny, kind):
    expected = f"grouping_key={kind} needs grouping_key.columns=[A,B], of C1, C2, "
    assert refused(tiny(f"grouping_key={kind}")).startswith(expected)
    assert refused(tiny(f"grouping_key={kind}", "grouping_key.columns=[]")).startswith(expected)


def test_method_on_the_wrong_label_kind_lists_those_that_fit(tiny):
    config = tiny("dataset=synthetic_sscl", "grouping_key=random_64", "method=dllp_bce")
    message = refused(config)
    assert message.startswith(
        "method=dllp_bce is for binary labels, dataset synthetic_sscl has real ones; methods that fit: "
    )
    fits = re.split(", ", message.split("fit: ")[1])
    assert {"dllp_mse", "dllp_mae", "instance_mse", "group_prior"} <= set(fits)
    assert not {"dllp_bce", "instance_bce", "easy_llp"} & set(fits)
    assert set(fits) < set(options("method"))


def test_label_that_a_dataset_does_not_have():
    with initialize_config_dir(str(CONF_DIR), version_base="1.3"):
        config = compose("train", ["dataset=flights", "dataset.label=early"])
    assert refused(config) == (
        "dataset.label=early is not a label of this dataset; write dataset.label=late or dataset.label=delay"
    )


def test_dataset_without_a_default_key(tiny):
    config = tiny()
    config.grouping_key = None
    assert refused(config).startswith("no grouping key: the dataset names no default one; write grouping_key=")


def test_checked_points_hold_every_fold_and_every_combination():
    points = [(f"fold={k}", f"method={m}", f"seed={s}") for k in range(5) for m in "ab" for s in range(3)]
    checked = list(_representatives(points))
    assert len(checked) == 8  # of 30: three seeds and the other method with the first fold, then the other folds
    for position in range(3):
        assert {point[position] for point in checked} == {point[position] for point in points}
