"""Configs that cannot run: one line that says what was given, what is expected and how to write it."""

import itertools
import json
import re

import pytest
from hydra.types import RunMode
from omegaconf import OmegaConf

from llp.config.grouping_keys import options
from llp.config.targets import check_targets
from llp.errors import InputError
from tests.helpers.composed import check_config, checked, grouping_key, hydras_loader, run_one
from tests.helpers.wrong_values import VALUES, composed

pytestmark = pytest.mark.run  # composes a config for each of its many cases


def refused(run):
    with pytest.raises(InputError) as error:
        run()
    message = str(error.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(("overrides", "message"), VALUES, ids=[overrides for overrides, _ in VALUES])
def test_wrong_value(overrides, message):
    assert refused(lambda: check_config(composed("train", overrides.split()))).startswith(message)


OF_COMMANDS = {  # the command and its overrides: how the line begins that refuses them
    **{f"report project={name!r}": "" for name in ("a/b", "", "50%", "x" * 129, "a:b")},
    "status experiment=[]": "Invalid experiment=[]: expected a text that is not empty",
    "status experiment=['']": "Invalid experiment=['']: expected a text that is not empty",
    "report method=[]": "Invalid method=[]: expected a text that is not empty",
    "analyze matrix=''": "Invalid matrix='': expected a text that is not empty",
    "analyze grouping_key=month_month": "Invalid grouping_key='month_month': expected columns in table order, each on",
    "analyze bag_sizes=[64,64]": "Invalid bag_sizes=[64,64]: expected a list of sizes, each once, such as bag_sizes=[6",
    "analyze bag_sizes=[0]": "Invalid bag_sizes=[0]: expected a list, each of it an integer > 0, such as bag_sizes=[1]",
    "analyze key_size=4": "Invalid key_size=4: expected an integer >= 1 and <= 3, such as key_size=1",
    "analyze key_size=true": "Invalid key_size=true: expected an integer",
    "analyze tail_named_by=x": "Invalid tail_named_by='x': expected p85 or p70, such as tail_named_by=p85",
    "analyze low_thresh=5000": "Invalid high_thresh=2500: expected an integer >= low_thresh, which is 5000, such as lo",
    "analyze instance_thresh=101": "Invalid instance_thresh=101: expected a number >= 0 and <= 100, such as",
    "analyze data_dir=": "Invalid data_dir='': expected a folder",
    "analyze space=3": "Invalid space=3: expected a text, such as space=multi_hot",
}


@pytest.mark.parametrize("given", OF_COMMANDS)
def test_wrong_value_of_a_command(given):
    command, override = given.split()
    message = refused(lambda: check_config(composed(command, [override]), command))
    assert message.startswith(OF_COMMANDS[given] or f"Invalid {override}: expected")


@pytest.mark.parametrize("override", ["~dataset=[1,2]", "~method={a: 1}", "~logger=3"])
def test_group_that_is_removed_with_something_behind_it_is_refused(override):
    with pytest.raises(InputError, match=rf"^Invalid {re.escape(override)}: expected nothing behind"):
        composed("train", [override])


NOTHING = "${nothing.there}"


@pytest.mark.parametrize(
    "change",
    [
        {"grouping_key": NOTHING},
        *({"grouping_key": {"kind": "feature", "columns": ["C1"], option: NOTHING}} for option in ("kind", "columns")),
        {"grouping_key": {"kind": "random", "bag_size": NOTHING}},
        {"grouping_key": {"kind": "fixed"}, "data_dir": NOTHING},
        {"dataset": NOTHING},
        *(
            {"dataset": {"label": "a", "labels": {"a": 1}, "key_columns": [], option: NOTHING}}
            for option in ("label", "labels")
        ),
        {"dataset": {"key_columns": NOTHING}, "grouping_key": {"kind": "feature", "columns": []}},
        {"dataset": {"label": ["a"], "labels": {"a": 1}}, "data_dir": NOTHING},
    ],
)
def test_reference_to_nothing_is_refused_wherever_it_stands(change):
    config = composed("train", [])
    OmegaConf.set_struct(config, False)
    for name, value in change.items():
        config[name] = value
    assert refused(lambda: check_config(config))


UNKNOWN = {  # the command and its overrides: the nearest right name
    "train trainer.max_epoch=3": "trainer.max_epochs=4",
    "train +trainer.bag_per_batch=3": "trainer.bags_per_batch=8",
    "train +trainer.precision=16": "trainer.",
    "train trainer.accelerator=cpu": "hardware.accelerator=cpu",
    "train protocol.hold_out=0.1": "protocol.held_out=0.0",
    "train dataset.vocab_fractions=1": "dataset.vocab_fraction=0.0001",
    "train +dataset.prepare.rates=1": "dataset.prepare.rate=0.25",
    "train grouping_key.bagsize=5": "grouping_key.bag_size=64",
    "train grouping_key=C1_C2 grouping_key.bag_size=5": "grouping_key.",
    "train method=sim_llp +method.first_stage.los=mse": "method.first_stage.loss=mse",
    "train model.hiden=[8]": "model.hidden=[128,64]",
    "train +optimizer.beta=[0.9,0.99]": "optimizer.betas=[0.9,0.999]",
    "train logger=wandb logger.projects=x": "logger.project=llp-bench",
    "train +nonsense=3": "",
    "train ++flod=3": "fold=0",
    "train modle=mlp": "model=mlp",
    "train method=dllp_bc": "method=dllp_bce",
    "train key_size=2": "python -m llp.analyze key_size=2",
    "prepare +error=skip": "errors=stop",
    "prepare fold=1": "python -m llp.train fold=1",
    "analyze +treads=4": "threads=2",
    "predict run=x +data_dirs=x": "data_dir=data",
    "export run=x files=y": "python -m llp.predict files=y",
    "report datasets=x": "dataset=VALUE",
    "predict run=x file=y": "files=VALUE",
    "prepare +name=x": "dataset=files name=x",
    "train +files=x": "dataset=files files=x",
    "train +bag_column=x": "dataset=files bag_column=x",
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


DATASETS = sorted({*options("dataset")} - {"files"})


@pytest.mark.parametrize(
    ("dataset", "command"), zip(DATASETS, itertools.cycle(["train", "prepare", "analyze"]), strict=False)
)
def test_every_dataset_goes_with_the_commands(command, dataset):
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


@pytest.mark.parametrize(
    ("command", "name"), [("train", "data_dir"), ("train", "outputs_dir"), ("prepare", "data_dir")]
)
def test_folder_that_cannot_be(tmp_path, command, name):
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for given in ("file", "file/below", "link", "link/below"):
        config = composed(command, ["dataset=synthetic", f"{name}={tmp_path}/{given}"])
        problem = f"{tmp_path}/file is not a folder, such as" if "file" in given else f"{tmp_path}/link is a link to "
        message = refused(lambda config=config: check_config(config, command))
        assert message.startswith(f"Invalid {name}='{tmp_path}/{given}': expected a folder, but {problem}")


@pytest.mark.parametrize("name", ["outputs_dir", "data_dir", "grouping_key.scores"])
def test_name_that_the_file_system_does_not_take(tiny, name):
    key = ["grouping_key=prior_64"] if "scores" in name else []
    message = refused(lambda: check_config(tiny(*key, f"{name}={'a' * 5000}.csv")))
    assert message.startswith(f"Invalid {name}='aaa")
    assert len(message) < 700


def test_folder_that_may_not_be_written(tiny, tmp_path, monkeypatch):
    closed = tmp_path / "closed"
    closed.mkdir()
    monkeypatch.setattr("llp.config.checks.os.access", lambda path, mode: path != closed)
    message = refused(lambda: check_config(tiny(f"outputs_dir={closed}/new")))
    assert message.endswith(f"{closed} may not be written, such as outputs_dir=FOLDER")
    check_config(tiny(f"data_dir={closed}"))  # a prepared table is only read
    check_config(composed("status", [f"outputs_dir={closed}"]), "status")  # which only looks


def test_keys_of_columns_with_underscores_are_told_as_they_are_written(tiny):
    config = tiny("grouping_key=fixed", "grouping_key.columns=[c,a_b]", "grouping_key.bag_size=64")
    config.dataset.key_columns = ["a_b", "c"]
    written = "grouping_key=fixed grouping_key.columns=[a_b,c] grouping_key.bag_size=64"
    assert refused(lambda: check_config(config)).endswith(f"columns in table order, each once, such as {written}")
    config.grouping_key.columns = ["c", "a_d"]
    written = "such as grouping_key=feature grouping_key.columns=[a_b,c]"
    assert refused(lambda: check_config(config)).endswith(written)
    config.grouping_key.columns = ["cc"]  # which may be meant otherwise
    assert f"such as grouping_key=c, or for names with an underscore {written[8:]}" in refused(
        lambda: check_config(config)
    )


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


def test_dataset_without_a_default_key(tiny):
    config = tiny()
    config.grouping_key = None
    assert refused(lambda: check_config(config)) == (
        "Invalid grouping_key=null: expected COLUMN_COLUMN or random_256, such as grouping_key=random_256"
    )


@pytest.mark.parametrize("override", ["method=dllp_bce,", "seed=choice()", "fold=range(0,", "method={", "seed='a"])
@pytest.mark.parametrize("mode", [RunMode.RUN, RunMode.MULTIRUN])
def test_override_that_hydra_cannot_read_is_told_in_a_line(monkeypatch, override, mode):
    with hydras_loader() as loader:
        message = refused(lambda: loader.load_configuration("train", [override], mode, from_shell=False))
    assert message.startswith(f"Invalid {override}: expected NAME=VALUE")
    assert message.endswith(", such as fold=0,1")


@pytest.mark.parametrize(
    ("command", "word", "said"),
    [
        ("train", "+=x", "Invalid +=x: expected NAME=VALUE, such as fold=0"),
        ("report", "~=x", "Invalid ~=x: expected NAME=VALUE"),
        ("train", f"+method.x={'[' * 400}{']' * 400}", "Invalid method.x: expected lists and groups nested at most"),
        ("export", f"x={'{a:' * 60}1{'}' * 60}", "Invalid x: expected lists and groups nested at most 50 deep"),
        ("train", "seed=" + "9" * 5000, "Invalid seed='9999"),
        ("train", f"hydra/launcher={'a' * 5000}", "Invalid hydra/launcher='aaaa"),
        ("train", f"dataset={'a' * 5000}", "Invalid dataset='aaaa"),
        ("export", "hydra.sweeper.params.fold=x", "Invalid hydra.sweeper.params.fold=x: expected what Hydra can com"),
    ],
    ids=["no name", "nothing removed", "deep list", "deep group", "digits", "long plugin", "long choice", "no grid"],
)
def test_word_that_hydra_breaks_down_on_is_refused(command, word, said):
    message = refused(lambda: composed(command, [word]))
    assert message.startswith(said)
    assert len(message) <= 2000


def test_own_file_that_is_no_yaml_is_told_with_its_place(tmp_path):
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text("seed: [1\n")
    message = refused(lambda: composed("train", ["experiment=mine", f"hydra.searchpath=[file://{tmp_path}]"]))
    assert "experiment=mine" in message
    assert f'"{tmp_path}/experiment/mine.yaml", line 1, column 7' in message


@pytest.mark.parametrize("command", ["predict", "export"])
def test_option_without_a_value_is_told_where_there_is_no_dataset(command):
    message = refused(lambda: check_config(composed(command, []), command))
    assert message == "Missing run: expected a value, such as run=VALUE"


def test_target_that_is_no_function_is_refused(tiny, caplog):
    with pytest.raises(InputError) as error:
        check_targets(checked(tiny("method._target_=llp.methods.such")))
    assert "\n" not in str(error.value)
    assert caplog.text == ""  # of what cannot be imported, one line alone
    for path, expected in (
        ("llp.errors", "a class or a function, not a module"),
        ("llp.errors.LONGEST", "a class or a function, not a int"),
        ("llp.files.read_small", "a subclass of llp.methods.base.LLPMethod, not read_small"),
        ("llp.models.mlp.MLP", "a subclass of llp.methods.base.LLPMethod, not MLP"),
        ("torch.optim.Adam", "a subclass of llp.methods.base.LLPMethod, not Adam"),
    ):
        config = checked(tiny(f"method._target_={path}"))
        message = refused(lambda config=config: check_targets(config))
        assert message == f"Invalid method._target_='{path}': expected {expected}"


@pytest.mark.parametrize(
    ("option", "path"),
    [
        ("method._target_", "payload.Model"),
        ("dataset.prepare._target_", "torch.load"),
        ("+hydra.callbacks.x._target_", "hydra.utils.instantiate"),
    ],
)
def test_target_of_a_command_line_outside_the_search_path_is_not_even_imported(tmp_path, monkeypatch, option, path):
    (tmp_path / "payload.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    for word in (f"{option}={path}", f"{option.rpartition('.')[0]}={{_target_:{path}}}"):
        message = refused(lambda word=word: composed("train", [word]))
        assert message.startswith(f"Invalid {option.lstrip('+')}='{path}': expected what llp or torch.optim holds, or ")


@pytest.mark.parametrize(
    ("words", "same"),
    [
        (["optimizer.lr=1"], ["optimizer.lr=1.0"]),
        (["trainer.evaluate_every=1"], []),
        (["noise=laplace", "noise.epsilon=2"], ["noise=laplace", "noise.epsilon=2.0"]),
        (["optimizer.betas=[0,0.5]"], ["optimizer.betas=[0.0,0.5]"]),
    ],
)
def test_a_number_has_one_form_in_a_run_identity_however_it_is_written(tiny, words, same):
    one, other = (json.dumps(OmegaConf.to_container(tiny(*given), resolve=True)) for given in (words, same))
    assert one == other
