"""The open suite and the study with a known truth: every point of their grids can run."""

import itertools
import re

import pytest
from hydra import compose, initialize_config_dir

from benchmarks.suite import RATES, at_chosen_rates, searches, swept
from llp.config.composition import register
from llp.config.grouping_keys import CONF_DIR, options, read_option
from llp.errors import InputError
from llp.runs.book import PointState, RunState
from llp.runs.point import Point
from tests.helpers.composed import check_config, grouping_key
from tests.helpers.records import record

pytestmark = pytest.mark.run  # composes every point of the grids

EXPERIMENTS = ("suite", "suite_real", "study")


def checked(experiment, *overrides):
    with initialize_config_dir(str(CONF_DIR), version_base="1.3"):
        config = compose("train", [f"experiment={experiment}", *overrides])
    check_config(config)
    assert f"method={config.method.name}" in overrides
    assert config.protocol.name == "holdout"
    return config


def choices_of(experiment):
    """Overrides of the grid's points, without folds and seeds."""
    options_of = {name: values for name, values in swept(experiment).items() if name not in ("fold", "seed")}
    return [
        [f"{name}={value}" for name, value in zip(options_of, values, strict=True)]
        for values in itertools.product(*options_of.values())
    ]


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_each_value_of_each_option_passes_the_checks(experiment):
    register()
    left = {override for point in choices_of(experiment) for override in point}
    for point in choices_of(experiment):  # few points that have every value
        if {*point} & left:
            left -= {*point}
            checked(experiment, *point)
    assert not left


@pytest.mark.slow
@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_every_point_passes_the_checks(experiment):
    register()
    for point in choices_of(experiment):
        checked(experiment, *point)


def methods_for(kind):
    return {name for name in options("method") if kind in read_option(f"method/{name}").labels}


def test_suite_has_methods_for_its_labels():
    assert methods_for("binary") >= {*swept("suite")["method"]}
    assert methods_for("real") >= {*swept("suite_real")["method"]}


def test_bag_datasets_are_told_by_their_names():
    register()
    found = {}
    for name in (*swept("suite")["bag_dataset"], *swept("suite_real")["bag_dataset"]):
        config = checked("suite", f"bag_dataset={name}", "method=dllp_mse")
        found[name] = (config.dataset.name, grouping_key(config).name, config.dataset.label_kind)
    assert {*found} == {*options("bag_dataset")}
    assert len(set(found.values())) == len(found)
    assert found["delay_random_64"] == ("flights_delay", "random_64", "real")
    assert found["made_c1_c11"] == ("synthetic", "C1_C11", "binary")


def test_grouping_key_beside_a_bag_dataset_wins():
    register()
    config = checked("suite", "bag_dataset=flights_month_day", "grouping_key=random_128", "method=upm")
    assert grouping_key(config).name == "random_128"


def test_suite_trains_all_folds_at_the_rates_that_the_searchs_own_runs_chose():
    search = ["experiment=suite", "bag_dataset=flights_month_dest", "method=upm,dsq", "lr", "fold=0", "seed=0",
              "trainer.threads=2"]  # fmt: skip
    runs = (
        ("upm", 1e-4, 0, 0.9, 0.5),
        ("upm", 3e-3, 0, 0.6, 0.4),
        ("dsq", 1e-4, 0, 0.6, 0.5),
        ("dsq", 1e-4, 1, 0.6, 0.9),
        ("dsq", 1e-3, 0, 0.6, 0.6),
        ("dsq", 1e-3, 1, 0.6, 0.6),
        ("group_prior", 1e-4, 0, 0.7, None),
    )
    points, states = [], []
    for method, rate, fold, auc, held_out in runs:
        point = Point("flights", "month_dest", method, fold, 0)
        kept = record("auc", auc, held_out=held_out, method=method, fold=fold, config={"optimizer": {"lr": rate}})
        points.append(["bag_dataset=flights_month_dest", f"method={method}", f"optimizer.lr={rate}"])
        states.append(PointState(point, RunState.DONE, None, kept))
    own = ["experiment=suite", "bag_dataset=flights_month_dest"]
    assert at_chosen_rates(search, points, states) == [
        [*own, "method=upm", "optimizer.lr=0.003", "trainer.threads=2"],
        [*own, "method=dsq", "optimizer.lr=0.001", "trainer.threads=2"],
        [*own, "method=group_prior", f"optimizer.lr={RATES[0]}", "trainer.threads=2"],
    ]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (["bag_dataset=diamonds_random_64", "method=dllp_mse"], {"suite_real": ("diamonds_random_64", "dllp_mse")}),
        (
            ["bag_dataset=flights_random_64,delay_random_64", "method=upm,dllp_mse"],
            {"suite": ("flights_random_64", "dllp_mse,upm"), "suite_real": ("delay_random_64", "dllp_mse")},
        ),
    ],
)
def test_a_part_of_the_suite_is_trained_by_its_bag_datasets_and_methods(asked, found):
    register()
    others = ["seed=0,1", "++outputs_dir=/tmp/a"]
    assert searches([*asked, *others]) == [
        [f"experiment={experiment}", f"bag_dataset={bags}", f"method={methods}", f"optimizer.lr={','.join(RATES)}",
         "fold=0", "seed=0", *others]
        for experiment, (bags, methods) in found.items()
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["method=upm", "method=dsq"], "Invalid method='dsq': expected the option once, such as method=upm,dsq"),
        (["outputs_dir=/tmp/a,/tmp/b"], "Invalid outputs_dir='/tmp/a,/tmp/b': expected one value, as the rates of"),
        (["method=upm", "trainer.max_epoch=3"], "trainer.max_epoch"),
        (["--fast"], "--fast"),
        (["bag_dataset=flight_random_64"], "such as bag_dataset=flights_random_64"),
        (["method=upn"], "such as method=upm"),
        (
            ["bag_dataset=diamonds_random_64", "method=dllp_mse,upm"],
            "Invalid method='upm': expected of the rest that is",
        ),
        (["bag_dataset=made_c1_c11", "method=instance_mse"], "Invalid bag_dataset='made_c1_c11': expected of the rest"),
    ],
)
def test_wrong_arguments_are_reported_before_anything_is_trained(arguments, said):
    register()
    with pytest.raises(InputError, match=re.escape(said)):
        searches(arguments)
