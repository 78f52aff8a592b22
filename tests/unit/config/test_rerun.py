"""A run again from its own folder: the same config, and so the same number."""

import copy
import functools
import logging
import re

import pytest
from hydra.types import RunMode

from llp.config.points import Multirun
from llp.errors import InputError
from llp.runs.grid import points_to_launch
from tests.helpers.composed import checked, composition, hydras_loader, open_table, run_of, run_one, tiny_config
from tests.helpers.cutting import untimed_record
from tests.helpers.hostile import Trap

pytestmark = pytest.mark.run

SET = (
    "method=sim_llp", "method.first_stage.loss=mae", "model=mlp", "model.hidden=[8]", "optimizer=adam",
    "optimizer.lr=0.01", "trainer.max_epochs=2", "trainer.bags_per_batch=5", "protocol=holdout",
    "protocol.held_out=0.3", "fold=3", "seed=7", "grouping_key=fixed_C1_C23_32", "dataset.prepare.signal=2.0",
    "noise=laplace", "noise.epsilon=5",
)  # fmt: skip


again = functools.partial(composition, "train")


@pytest.fixture
def places(data_dir, tmp_path):
    return (f"data_dir={data_dir}", f"outputs_dir={tmp_path / 'again'}")


@pytest.fixture(scope="module")
def folder(data_dir, tmp_path_factory):
    config = tiny_config(data_dir, tmp_path_factory.mktemp("run") / "outputs", "dataset.table=signal_2", *SET)
    record = run_one(config)
    return run_of(config, open_table(config)).folder, record


def test_a_run_from_its_folder_is_the_same_run_and_gives_the_same_number(folder, places):
    first, record = folder
    assert "=" in str(first)
    for given in (first, first / "config.yaml"):
        config = again(f"from='{given}'", *places)
        assert run_of(config, open_table(config)).hash == first.name
    assert untimed_record(run_one(config).model_dump()) == untimed_record(record.model_dump()) | {
        "epochs": [(stage.method, stage.epochs, stage.early_stopped) for stage in record.stages]
    }


def test_what_stands_beside_it_is_applied_after_it(folder, places):
    first, _ = folder
    config = again(
        f"from='{first}'", "seed=8", "model.hidden=[4]", "method=dllp_bce", "grouping_key=random_64", *places
    )
    assert (config.seed, config.fold, config.trainer.bags_per_batch) == (8, 3, 5)
    assert (list(config.model.hidden), config.method.name, config.grouping_key.bag_size) == ([4], "dllp_bce", 64)
    assert run_one(config).seed == 8


def test_a_finished_run_is_skipped_and_a_grid_starts_from_it(folder, places, caplog):
    first, _ = folder
    caplog.set_level(logging.INFO, "llp")
    outputs_dir = f"outputs_dir='{first.parents[5]}'"
    run_one(again(f"from='{first}'", places[0], outputs_dir))
    assert "finished before, skipped" in caplog.text
    with hydras_loader() as loader:
        given = [f"from='{first}'", places[0], outputs_dir]
        master = loader.load_configuration("train", [*given, "seed=7,8"], RunMode.MULTIRUN)
        points = [[*given, f"seed={seed}"] for seed in (7, 8)]
        assert points_to_launch(Multirun(loader, master), points, record=False) == points[1:]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "No such file or directory"),
        ("3", "has no dataset, grouping_key, method"),
        ("dataset: {name: a}", "has no grouping_key, method"),
        ("a: [", "is no YAML"),
        ("a: &a [1]\nb: *a\n", "holds an alias"),
    ],
)
def test_what_is_no_folder_of_a_run(tmp_path, content, expected):
    if content is not None:
        (tmp_path / "config.yaml").write_text(content)
    with pytest.raises(
        InputError, match=rf"^Invalid from='{re.escape(str(tmp_path))}': expected .*{expected}"
    ) as error:
        again(f"from={tmp_path}")
    assert str(error.value).endswith("such as from=FOLDER")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["dataset.rows=30"], r"^Invalid dataset.rows: expected dataset=NAME beside it.* as dataset=NAME dataset.ro"),
        (["method.los=mse"], r"^Invalid method.los='mse'"),
        (["fold=9"], r"^Invalid fold=9: expected an integer >= 0 and <= 4"),
    ],
)
def test_wrong_options_beside_it(folder, places, overrides, expected):
    with pytest.raises(InputError, match=expected):
        run_one(again(f"from='{folder[0]}'", *overrides, *places))


UNPICKLED = {
    "joblib": {"_target_": "joblib.load", "filename": "PICKLE"},
    "torch": {"_target_": "torch.load", "f": "PICKLE", "weights_only": False},
    "numpy": {"_target_": "numpy.load", "file": "PICKLE", "allow_pickle": True},
    "open": {"_target_": "builtins.open", "file": "MARKER", "mode": "w"},
    "own": {"_target_": "payload.Model"},
}
PLACES = (
    "method.power",
    "model.hidden",
    "optimizer.lr",
    "method.first_stage.loss",
    "method._args_",
    "dataset.prepare.rows",
)


@pytest.mark.parametrize("place", [*PLACES, "method", "model", "optimizer", "dataset.prepare"])
def test_no_class_or_function_that_a_folder_names_is_called(tiny, tmp_path, monkeypatch, place):
    trap, written = Trap(tmp_path, monkeypatch), checked(tiny(*SET)).identity
    for kind in list(UNPICKLED.values())[len(place) % 3 :: 3]:  # one or two of them at each place
        content = copy.deepcopy(written)
        *groups, name = place.split(".")
        node = functools.reduce(dict.__getitem__, groups, content)
        node[name] = [kind] if name == "_args_" else {"name": "x", "labels": ["binary"]} | kind
        (tmp_path / "config.yaml").write_text(trap.in_yaml(content))
        with pytest.raises(InputError, match=f"^Invalid {place}") as error:
            run_one(again(f"from='{tmp_path}'", f"data_dir={tmp_path}", f"outputs_dir={tmp_path}"))
        assert "\n" not in str(error.value)
        assert not trap.marker.exists()


def test_a_run_of_an_own_method_goes_again_where_its_package_is_on_the_search_path(
    folder, places, tmp_path, monkeypatch
):
    package = tmp_path / "ownlab"
    (package / "conf" / "method").mkdir(parents=True)
    (package / "half.py").write_text("from llp.methods.sim_llp import SimLLP\n\n\nclass Half(SimLLP):\n    pass\n")
    (package / "conf" / "method" / "half.yaml").write_text("defaults: [sim_llp, _self_]\n_target_: ownlab.half.Half\n")
    monkeypatch.syspath_prepend(tmp_path)
    content = (folder[0] / "config.yaml").read_text().replace("llp.methods.sim_llp.SimLLP", "ownlab.half.Half")
    (tmp_path / "config.yaml").write_text(content)
    given = (f"from='{tmp_path}'", *places)
    with pytest.raises(InputError, match=r"expected what llp or torch\.optim holds, or a package that your own"):
        again(*given)
    for own in ("pkg://ownlab.conf", f"file://{package}/conf"):
        assert run_one(again(f"hydra.searchpath=['{own}']", *given)).method == "sim_llp"
