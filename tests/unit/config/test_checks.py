"""Configs that cannot run: one line that says what was given, what is expected and how to write it."""

import re

import pytest
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.types import RunMode

import llp.report  # noqa: F401  # registers its config
from llp.config.checks import check_config
from llp.config.composition import register
from llp.config.grouping_keys import CONF_DIR, grouping_key, options
from llp.errors import InputError
from llp.runs.run import run_one
from tests.helpers.wrong_values import VALUES, composed


def refused(run):
    with pytest.raises(InputError) as error:
        run()
    message = str(error.value)
    assert "\n" not in message
    return message


def composed(command, overrides):
    """The config of a command; of a tiny run for `train`."""
    register()
    if command == "report":
        with initialize(version_base="1.3", config_path=None):
            return compose(command, overrides)
    if command == "train":
        named = {override.split("=")[0] for override in overrides}
        base = [one for one in TINY if one.split("=")[0] not in named]
        overrides = [*(one for one in base if "dataset" not in named or not one.startswith("dataset.")), *overrides]
    with initialize_config_dir(str(CONF_DIR), version_base="1.3"):
        return compose(command, overrides)


VALUES = [
    ("fold=5", "Invalid fold=5: expected an integer from 0 to 4, such as fold=0"),
    ("fold=-1", "Invalid fold=-1: expected an integer from 0 to 4, such as fold=0"),
    ("fold=a", "Invalid fold='a': expected an integer from 0 to 4, such as fold=0"),
    ("fold=true", "Invalid fold=true: expected an integer from 0 to 4, such as fold=0"),
    ("seed=-1", "Invalid seed=-1: expected an integer >= 0, such as seed=0"),
    ("seed=0.5", "Invalid seed=0.5: expected an integer >= 0, such as seed=0"),
    ("seed=1.0", "Invalid seed=1.0: expected an integer >= 0, such as seed=0"),
    ("seed=9223372036854775808", "Invalid seed=9223372036854775808: expected an integer of at most 63 bits"),
    ("dataset.rows=9223372036854775808", "Invalid dataset.rows=9223372036854775808: expected an integer of at most 63"),
    ("trainer.threads=0", "Invalid trainer.threads=0: expected an integer > 0, such as trainer.threads=1"),
    ("trainer.bags_per_batch=0", "Invalid trainer.bags_per_batch=0: expected an integer > 0"),
    ("trainer.evaluate_every=0", "Invalid trainer.evaluate_every=0: expected a number > 0 and <= 1"),
    ("trainer.instances_per_batch=x", "Invalid trainer.instances_per_batch='x': expected an integer > 0"),
    ("trainer.max_epochs=[1]", "Invalid trainer.max_epochs=[1]: expected an integer > 0"),
    ("trainer.patience=null", "Invalid trainer.patience=null: expected an integer > 0, such as trainer.patience=1"),
    ("num_workers=-1", "Invalid num_workers=-1: expected an integer >= 0, such as num_workers=0"),
    ("runs_at_once=0", "Invalid runs_at_once=0: expected an integer > 0, such as runs_at_once=1"),
    ("grouping_key=random_0", "Invalid grouping_key.bag_size=0: expected an integer > 0"),
    ("force=maybe", "Invalid force='maybe': expected true or false, such as force=true"),
    ("force=no", "Invalid force='no': expected true or false, such as force=true"),
    ("force='false'", "Invalid force='false': expected true or false, such as force=true"),
    ("save_model=1", "Invalid save_model=1: expected true or false, such as save_model=true"),
    ("checkpoint_minutes=-1", "Invalid checkpoint_minutes=-1: expected a number >= 0, such as checkpoint_minutes="),
    ("checkpoint_minutes=nan", "Invalid checkpoint_minutes=nan: expected a number >= 0"),
    ("checkpoint_minutes=inf", "Invalid checkpoint_minutes=inf: expected a finite number"),
    ("hardware.accelerator=tpu", "Invalid hardware.accelerator='tpu': expected auto, cpu or gpu, such as"),
    ("hardware.features_on=gpu", "Invalid hardware.features_on='gpu': expected auto, device or host, such as"),
    ("hardware.cuda_graphs=maybe", "Invalid hardware.cuda_graphs='maybe': expected true or false, such as"),
    ("hardware.deterministic=1", "Invalid hardware.deterministic=1: expected true or false, such as"),
    ("~trainer.patience", "Missing trainer.patience: expected an integer > 0, such as patience: 1 in its YAML file"),
    ("~optimizer", "Invalid optimizer=null: expected adam or exact_adam, such as optimizer=exact_adam"),
    ("data_dir=null", "Invalid data_dir=null: expected a folder, such as data_dir=FOLDER"),
    ("outputs_dir=", "Invalid outputs_dir='': expected a folder, such as outputs_dir=FOLDER"),
    ("outputs_dir=[a,b]", "Invalid outputs_dir=['a','b']: expected a folder, such as outputs_dir=FOLDER"),
    ("method.name=a/b", "Invalid method.name='a/b': expected a name that a folder can have, such as method.name=NAME"),
    ("dataset.name=..", "Invalid dataset.name='..': expected a name that a folder can have"),
    ("dataset.name=../../x", "Invalid dataset.name='../../x': expected a name that a folder can have"),
    ("dataset.table=../x", "Invalid dataset.table='../x': expected a name that a folder can have"),
    ("dataset.table=/tmp", "Invalid dataset.table='/tmp': expected a name that a folder can have"),
    ("dataset.table=", "Invalid dataset.table='': expected a name that a folder can have"),
    ("dataset.table=.", "Invalid dataset.table='.': expected a name that a folder can have"),
    ("dataset.key_columns=C1", "Invalid dataset.key_columns='C1': expected a list, each of it a text, such as"),
    ("dataset.label_kind=foo", "Invalid dataset.label_kind='foo': expected binary or real, such as"),
    ("protocol.name=foo", "Invalid protocol.name='foo': expected paper or holdout, such as protocol.name=paper"),
    ("protocol.held_out=0.5", "Invalid protocol.held_out=0.5: expected 0 under protocol=paper, such as protocol=hold"),
    ("protocol=holdout protocol.held_out=-0.1", "Invalid protocol.held_out=-0.1: expected a number >= 0 and < 1"),
    ("protocol=holdout protocol.held_out=0", "Invalid protocol.held_out=0.0: expected a number > 0 and < 1, such as"),
    (
        "+protocol.test_in_curve=true",
        "Invalid protocol.test_in_curve=true: expected nothing under protocol=paper, such",
    ),
    (
        "protocol.select_by=upm",
        "Invalid protocol.select_by='upm': expected test under protocol=paper, such as protocol=",
    ),
    (
        "protocol=holdout protocol.select_by=test",
        "Invalid protocol.select_by='test': expected bag_loss, upm, debiased or",
    ),
    ("protocol=holdout protocol.held_out=1", "Invalid protocol.held_out=1: expected a number >= 0 and < 1"),
    (
        "protocol=holdout protocol.refit=1",
        "Invalid protocol.refit=1: expected auto, true or false or null, such as protocol.refit=auto",
    ),
    (
        "+protocol.refit=true",
        "Invalid protocol.refit=true: expected nothing under protocol=paper, which holds no bag out, such as",
    ),
    ("protocol=holdout ~protocol.refit", "Missing protocol.refit: expected auto, true or false, such as refit: auto"),
    ("logger=wandb logger.mode=foo", "Invalid logger.mode='foo': expected auto, online or offline, such as"),
    ("logger=wandb logger.tags=foo", "Invalid logger.tags='foo': expected a list, each of it a text, such as"),
    ("grouping_key=", "Invalid grouping_key='': expected key columns of dataset synthetic, which has no '' but C1"),
    ("grouping_key=C1/C2", "Invalid grouping_key='C1/C2': expected key columns of dataset synthetic, which has no C1/"),
    ("grouping_key=5", "Invalid grouping_key='5': expected key columns of dataset synthetic, which has no 5 but C1"),
    ("grouping_key=1_2", "Invalid grouping_key='1_2': expected key columns of dataset synthetic, which has no 1, 2 "),
    (
        "grouping_key=random_64 grouping_key.kind=x",
        "Invalid grouping_key.kind='x': expected feature, fixed, given, prior or random",
    ),
    ("noise=laplace noise.epsilon=0", "Invalid noise.epsilon=0: expected a number > 0"),
    ("noise=laplace noise.delta=0.1", "Invalid noise.delta=0.1: expected 0 under noise=laplace, such as noise=gaussia"),
    ("noise=gaussian noise.delta=0", "Invalid noise.delta=0.0: expected a number > 0 and < 1 under noise=gaussian, "),
    ("noise=gaussian noise.epsilon=2", "Invalid noise.epsilon=2.0: expected a number > 0 and <= 1 under noise=gaussi"),
    ("noise=x", "Invalid noise='x': expected gaussian or laplace, such as noise="),
    ("grouping_key=prior_64", "Invalid grouping_key=prior_64: expected the prior prediction by which its bags are "),
    ("grouping_key=prior_64 grouping_key.column=N1 grouping_key.scores=x.csv", "Invalid grouping_key=prior_64: expect"),
    (
        "grouping_key=prior_64 grouping_key.scores=x.csv",
        "Invalid grouping_key.scores='x.csv': expected a file of score",
    ),
    ("grouping_key=random_64 grouping_key.seed=-1", "Invalid grouping_key.seed=-1: expected an integer >= 0"),
    ("grouping_key=C1_C2 grouping_key.low_thresh=a", "Invalid grouping_key.low_thresh='a': expected an integer > 0"),
    ("grouping_key=C1_C2 grouping_key.high_thresh=0", "Invalid grouping_key.high_thresh=0: expected an integer > 0"),
    (
        "grouping_key=C1_C2 grouping_key.low_thresh=9000",
        "Invalid grouping_key.high_thresh=2500: expected an integer >= grouping_key.low_thresh, which is 9000, such as",
    ),
    ("grouping_key=feature grouping_key.columns=[C1,1]", "Invalid grouping_key='C1_1': expected key columns of datas"),
    ("grouping_key=feature grouping_key.columns=C1", "Invalid grouping_key.columns='C1': expected a list, each of it"),
    ("model=1", "Invalid model='1': expected autoint, embedding_mlp, linear or mlp, such as model="),
    ("model=null", "Invalid model=null: expected autoint, embedding_mlp, linear or mlp, such as model=autoint"),
    ("dataset=null", "Invalid dataset=null: expected criteo_ctr, criteo_sscl, files, "),
    ("method=[dllp_bce,sim_llp]", "Invalid method=['dllp_bce','sim_llp']: expected count, debiased, dllp_bce, "),
    ("~dataset.prepare", "Missing dataset.prepare: expected a group of options, such as prepare: {_target_: "),
    ("~dataset.prepare._target_", "Missing dataset.prepare._target_: expected a dotted path, such as _target_: "),
    ("~dataset.embedded", "Missing dataset.embedded: expected true or false, such as embedded: true in its YAML file"),
    ("dataset.embedded=false", "Missing dataset.source: expected where its raw files are had, such as source: https:"),
    ("~method.labels", "Missing method.labels: expected a list that is not empty, each of it binary or real, such as"),
    ("seed=${nothing}", "Interpolation key 'nothing' not found"),
]


@pytest.mark.parametrize(("overrides", "message"), VALUES, ids=[overrides for overrides, _ in VALUES])
def test_wrong_value(tiny, overrides, message):
    assert refused(lambda: check_config(composed("train", overrides.split()))).startswith(message)


UNKNOWN = {  # the command and its overrides: the nearest right name
    "train trainer.max_epoch=3": "trainer.max_epochs=4",
    "train +trainer.max_epoch=3": "trainer.max_epochs=4",
    "train +trainer.bag_per_batch=3": "trainer.bags_per_batch=8",
    "train +trainer.precision=16": "trainer.",
    "train +trainer.gradient_clip_val=1.0": "trainer.",
    "train trainer.accelerator=cpu": "hardware.accelerator=cpu",
    "train hardware.feature_on=host": "hardware.features_on=auto",
    "train +hardware.cuda_graph=true": "hardware.cuda_graphs=false",
    "train +protocol.foo=1": "protocol.",
    "train protocol.hold_out=0.1": "protocol.held_out=0.0",
    "train +dataset.foo=1": "dataset.",
    "train +dataset.row=1": "dataset.rows=2000",
    "train dataset.vocab_fractions=1": "dataset.vocab_fraction=0.0001",
    "train dataset.prepare.signals=1": "dataset.prepare.signal=1.5",
    "train +dataset.prepare.rates=1": "dataset.prepare.rate=0.25",
    "train grouping_key.bagsize=5": "grouping_key.bag_size=64",
    "train +grouping_key.size=5": "grouping_key.bag_size=64",
    "train grouping_key=C1_C2 grouping_key.bag_size=5": "grouping_key.",
    "train method.los=mse": "method.loss=bce",
    "train +method.reductions=sum": "method.reduction=mean",
    "train method=sim_llp +method.first_stage.los=mse": "method.first_stage.loss=mse",
    "train model.hiden=[8]": "model.hidden=[128,64]",
    "train +model.dropout=0.5": "model.hidden=[128,64]",
    "train optimizer.rl=0.1": "optimizer.lr=0.001",
    "train +optimizer.beta=[0.9,0.99]": "optimizer.betas=[0.9,0.999]",
    "train logger=wandb logger.projects=x": "logger.project=llp-bench",
    "train +logger.tag=x": "logger.name=csv",
    "train +nonsense=3": "",
    "train sed=3": "seed=0",
    "train ++folds=3": "fold=0",
    "train modle=mlp": "model=mlp",
    "train method=dllp_bc": "method=dllp_bce",
    "train dataset=flight": "dataset=flights",
    "train key_size=2": "python -m llp.analyze key_size=2",
    "train +raw=x": "python -m llp.prepare raw=x",
    "prepare +error=skip": "errors=stop",
    "prepare fold=1": "python -m llp.train fold=1",
    "prepare dataset.lable=delay": "dataset.label=late",
    "analyze +treads=4": "threads=2",
    "analyze bag_size=[64]": "bag_sizes=[64,128,256,512]",
    "analyze thread=1": "threads=2",
    "predict runs=x": "run=VALUE",
    "predict run=x +data_dirs=x": "data_dir=data",
    "export run=x files=y": "python -m llp.predict files=y",
    "export run=x +outs=y": "out=export",
    "report +methods=x": "method=null",
    "report datasets=x": "dataset=null",
    "report key_size=2": "python -m llp.analyze key_size=2",
}


@pytest.mark.parametrize("given", UNKNOWN)
def test_option_that_nothing_reads_is_told_with_the_nearest_one(tmp_path, monkeypatch, given):
    """Of all groups and commands, with and without '+'; nothing is written."""
    monkeypatch.chdir(tmp_path)
    command, *overrides = given.split()

    def run():
        config = composed(command, overrides)
        check_config(config, command)
        run_one(config)

    message = refused(run)
    option = overrides[-1].partition("=")[0].lstrip("+")
    assert re.match(rf"Invalid {re.escape(option)}=", message)
    assert f"such as {UNKNOWN[given]}" in message
    assert list(tmp_path.iterdir()) == []


def test_dataset_may_have_options_that_an_interpolation_reads(tiny):
    config = tiny("+dataset.mine=3")
    assert refused(lambda: check_config(config)).startswith("Invalid dataset.mine=3: expected an option of dataset (")
    config.dataset.prepare.seed = "${dataset.mine}"
    check_config(config)


def test_columns_whose_names_are_numbers(tiny):
    config = tiny("dataset.key_columns=[1,2,30]", "grouping_key=1_30")
    check_config(config)
    assert grouping_key(config).columns == ("1", "30")
    check_config(tiny("dataset.key_columns=[1,2,30]", "grouping_key=30"))
    check_config(tiny("dataset.key_columns=[1,2,30]", "grouping_key=feature", "grouping_key.columns=[1,2]"))


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("grouping_key=month_month", "Invalid grouping_key='month_month': expected columns in table order, each once"),
        ("bag_sizes=[64,64]", "Invalid bag_sizes=[64,64]: expected a list of sizes, each once, such as bag_sizes=[64]"),
        ("bag_sizes=[0]", "Invalid bag_sizes=[0]: expected a list, each of it an integer > 0"),
        ("key_size=4", "Invalid key_size=4: expected 1, 2 or 3, such as key_size=1"),
        ("tail_named_by=x", "Invalid tail_named_by='x': expected p85 or p70, such as tail_named_by=p85"),
        ("low_thresh=5000", "Invalid high_thresh=2500: expected an integer >= low_thresh, which is 5000, such as low"),
        ("instance_thresh=101", "Invalid instance_thresh=101: expected a number from 0 to 100, such as"),
        ("data_dir=", "Invalid data_dir='': expected a folder, such as data_dir=FOLDER"),
        ("space=3", "Invalid space=3: expected multi_hot, none or the folder of a run, such as space=multi_hot"),
    ],
)
def test_wrong_value_of_an_analysis(override, message):
    assert refused(lambda: check_config(composed("analyze", [override]), "analyze")).startswith(message)


@pytest.mark.parametrize("dataset", sorted({*options("dataset")} - {"files"}))
@pytest.mark.parametrize("command", ["train", "prepare", "analyze"])
def test_every_dataset_goes_with_every_command(command, dataset):
    overrides = [f"dataset={dataset}", *(["method=dllp_mse"] if command == "train" else [])]
    check_config(composed(command, overrides), command)


def test_own_files_have_their_options_at_the_top():
    given = ["dataset=files", "name=mine", "files=x.csv", "label=y"]
    check_config(composed("prepare", given), "prepare")
    message = refused(lambda: check_config(composed("prepare", [*given, "+seperator=comma"]), "prepare"))
    assert message.startswith("Invalid seperator='comma': expected an option of llp.prepare (bag_column, ")
    assert message.endswith("such as separator=auto")
    message = refused(lambda: check_config(composed("prepare", [given[0], *given[2:]]), "prepare"))
    assert message == "Missing name: expected a value, such as name=VALUE"


@pytest.mark.parametrize("name", ["data_dir", "outputs_dir"])
def test_folder_that_cannot_be(tiny, tmp_path, name):
    (tmp_path / "file").touch()
    for given in (tmp_path / "file", tmp_path / "file" / "below"):
        config = tiny(f"{name}={given}")
        assert refused(lambda config=config: check_config(config)) == (
            f"Invalid {name}='{given}': expected a folder, but {tmp_path / 'file'} is not a folder, "
            f"such as {name}=FOLDER"
        )


def test_folder_that_may_not_be_written(tiny, tmp_path, monkeypatch):
    closed = tmp_path / "closed"
    closed.mkdir()
    monkeypatch.setattr("llp.config.checks.os.access", lambda path, mode: path != closed)
    message = refused(lambda: check_config(tiny(f"outputs_dir={closed}/new")))
    assert message.endswith(f"{closed} may not be written, such as outputs_dir=FOLDER")
    check_config(tiny(f"data_dir={closed}"))  # a prepared table is only read


def test_column_that_does_not_exist(tiny):
    message = refused(lambda: check_config(tiny("grouping_key=C3_C99")))
    assert message.startswith(
        "Invalid grouping_key='C3_C99': expected key columns of dataset synthetic, which has no C99 but C1, C2, C3, "
    )
    assert message.endswith(
        "such as grouping_key=C1_C2, or for names with an underscore grouping_key=feature grouping_key.columns=[C1,C2]"
    )


@pytest.mark.parametrize(
    ("given", "right"), [("C11_C3", "C3_C11"), ("fixed_C11_C3_64", "fixed_C3_C11_64"), ("C3_C3", "C3")]
)
def test_reversed_pair_is_told_its_right_name(tiny, given, right):
    assert refused(lambda: check_config(tiny(f"grouping_key={given}"))) == (
        f"Invalid grouping_key='{given}': expected columns in table order, each once, such as grouping_key={right}"
    )


def test_keys_of_columns_with_underscores_are_told_as_they_are_written(tiny):
    config = tiny("grouping_key=fixed", "grouping_key.columns=[c,a_b]", "grouping_key.bag_size=64")
    config.dataset.key_columns = ["a_b", "c"]
    written = "grouping_key=fixed grouping_key.columns=[a_b,c] grouping_key.bag_size=64"
    assert refused(lambda: check_config(config)).endswith(f"columns in table order, each once, such as {written}")
    config.grouping_key.columns = ["d"]
    assert "such as grouping_key=feature grouping_key.columns=[a_b,c]," in refused(lambda: check_config(config))


@pytest.mark.parametrize("kind", ["feature", "fixed"])
def test_key_without_columns(tiny, kind):
    expected = "Invalid grouping_key.columns=[]: expected columns of C1, C2, "
    for overrides in ([f"grouping_key={kind}"], [f"grouping_key={kind}", "grouping_key.columns=[]"]):
        message = refused(lambda overrides=overrides: check_config(tiny(*overrides)))
        assert message.startswith(expected)
        assert message.endswith("such as grouping_key.columns=[C1,C2]")


def test_method_on_the_wrong_label_kind_lists_those_that_fit(tiny):
    config = tiny("dataset=synthetic_sscl", "grouping_key=random_64", "method=dllp_bce")
    message = refused(lambda: check_config(config))
    assert message.startswith(
        "Invalid method='dllp_bce': expected one for real labels, as dataset synthetic_sscl has them: "
    )
    fits = re.split(", | or ", message.split("has them: ")[1].split(", such as")[0])
    assert {"dllp_mse", "dllp_mae", "instance_mse", "group_prior"} <= set(fits)
    assert not {"dllp_bce", "instance_bce", "easy_llp"} & set(fits)
    assert set(fits) < set(options("method"))


def test_label_that_a_dataset_does_not_have():
    config = composed("train", ["dataset=flights", "dataset.label=early"])
    assert refused(lambda: check_config(config)) == (
        "Invalid dataset.label='early': expected late or delay, such as dataset.label=late"
    )


def test_dataset_without_a_default_key(tiny):
    config = tiny()
    config.grouping_key = None
    assert refused(lambda: check_config(config)) == (
        "Invalid grouping_key=null: expected COLUMN_COLUMN or random_256, such as grouping_key=random_256"
    )


@pytest.mark.parametrize("override", ["method=dllp_bce,", "seed=choice()", "fold=range(0,", "method={", "seed='a"])
@pytest.mark.parametrize("mode", [RunMode.RUN, RunMode.MULTIRUN])
def test_override_that_hydra_cannot_read_is_told_in_a_line(monkeypatch, override, mode):
    register()
    with initialize_config_dir(str(CONF_DIR), version_base="1.3"):
        loader = GlobalHydra.instance().config_loader()
        message = refused(lambda: loader.load_configuration("train", [override], mode, from_shell=False))
    assert message.startswith(f"Invalid {override}: expected NAME=VALUE")
    assert message.endswith(", such as fold=0,1")
