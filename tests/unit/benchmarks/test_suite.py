"""The open suite and the study with a known truth: every point of their grids can run."""

import functools
import itertools
import re

import pytest
from omegaconf import OmegaConf

from benchmarks.suite import multiruns
from llp.config.composition import register
from llp.config.grouping_keys import CONF_DIR, options
from llp.errors import InputError
from tests.helpers.composed import check_config, composition, grouping_key

pytestmark = pytest.mark.run  # composes every point of the grids

EXPERIMENTS = ("suite", "suite_real", "rates", "study")


def swept(experiment):
    params = OmegaConf.load(CONF_DIR / "experiment" / f"{experiment}.yaml").hydra.sweeper.params
    return {str(name): str(values).split(",") for name, values in params.items()}


def checked(experiment, *overrides):
    config = composition("train", f"experiment={experiment}", *overrides)
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


@functools.cache
def few_points(experiment):
    """Checked configs of few points that have every value of each option, each option's in its order."""
    register()
    values = {name: values for name, values in swept(experiment).items() if name not in ("fold", "seed")}
    points = range(max(map(len, values.values())))
    return [checked(experiment, *(f"{name}={of[i % len(of)]}" for name, of in values.items())) for i in points]


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_each_value_of_each_option_passes_the_checks(experiment):
    assert few_points(experiment)


@pytest.mark.slow
@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_every_point_passes_the_checks(experiment):
    register()
    for point in choices_of(experiment):
        checked(experiment, *point)


def test_bag_datasets_are_the_own_ones_of_each_table_and_random_bags():
    names = {experiment: swept(experiment)["bag_dataset"] for experiment in ("suite", "suite_real", "rates")}
    kinds = {}
    for experiment, own in names.items():
        for name, config in zip(own, few_points(experiment), strict=False):
            assert name == f"{config.dataset.name}_{grouping_key(config).name}"
            kinds.setdefault((config.dataset.name, experiment, config.dataset.label_kind), set()).add(
                grouping_key(config).kind
            )
    assert all("feature" in own <= {"random", "feature"} for own in kinds.values())
    assert [kind for _, experiment, kind in kinds if experiment == "suite"] == ["binary"] * 10
    assert [kind for _, experiment, kind in kinds if experiment == "suite_real"] == ["real"] * 2
    assert {name for own in names.values() for name in own} <= {*options("bag_dataset")}


def test_the_suite_is_one_multirun_for_each_experiment():
    register()
    for found, experiment in zip(multiruns([]), ("suite", "suite_real"), strict=True):
        own = [f"{option}={','.join(swept(experiment)[option])}" for option in ("bag_dataset", "method")]
        assert found == [f"experiment={experiment}", *own]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (["bag_dataset=gss_wages_random_64", "method=dllp_mse"], [["suite_real", "gss_wages_random_64", "dllp_mse"]]),
        (
            ["bag_dataset=vietnam_commune,chem97_lea", "method=dsq,dllp_mse"],
            [["suite", "vietnam_commune", "dsq,dllp_mse"], ["suite_real", "chem97_lea", "dllp_mse"]],
        ),
    ],
)
def test_a_part_of_the_suite_is_trained_by_its_bag_datasets_and_methods(asked, found):
    register()
    options = ("experiment", "bag_dataset", "method")
    runs = [dict(one.split("=", 1) for one in run) for run in multiruns([*asked, "seed=0,1", "++outputs_dir=/tmp/a"])]
    assert [[run[option] for option in options] for run in runs] == found
    assert all((run["seed"], run["++outputs_dir"]) == ("0,1", "/tmp/a") for run in runs)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["method=upm", "method=dsq"], "Invalid method='dsq': expected the option once, such as method=upm,dsq"),
        (["seed=0", "seed=1"], "Invalid seed='1': expected the option once, such as seed=1"),
        (["method=upm", "trainer.max_epoch=3"], "trainer.max_epoch"),
        (["--fast"], "--fast"),
        (["bag_dataset=vietnam_random_63"], "such as bag_dataset=vietnam_random_64"),
        (["method=upn"], "such as method=upm"),
        (
            ["bag_dataset=gss_wages_random_64", "method=dllp_mse,upm"],
            "Invalid method='upm': expected one whose labels are of the kind of the rest that is asked for",
        ),
        (["bag_dataset=chem97_lea", "method=instance_bce"], "Invalid bag_dataset='chem97_lea': expected one"),
        (["experiment=study"], "Invalid experiment='study': expected one that sweeps over bag_dataset"),
        (["experiment=sweet"], "Invalid experiment='sweet'"),
    ],
)
def test_wrong_arguments_are_reported_before_anything_is_trained(arguments, said):
    register()
    with pytest.raises(InputError, match=re.escape(said)):
        multiruns(arguments)
