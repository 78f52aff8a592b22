"""A search for options: its space from overrides, its trials' runs, and its name."""

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from llp.errors import InputError
from llp.runs.search import Search

optuna = pytest.importorskip("optuna")

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution  # noqa: E402


def search_of(*overrides):
    return Search.of(OverridesParser.create().parse_overrides(list(overrides)))


def test_space_is_read_from_the_overrides():
    search = search_of(
        "fold=0,1,2,3,4",
        "dataset=flights",
        "optimizer.lr=tag(log,interval(1e-4,1e-1))",
        "trainer.bags_per_batch=range(2,9,2)",
        "method=dllp_bce,upm",
        "model.hidden=[8],[16,8]",
        "seed=3,4",
        "fold=1,2",
    )
    assert search.space == {
        "optimizer.lr": FloatDistribution(1e-4, 1e-1, log=True),
        "trainer.bags_per_batch": IntDistribution(2, 8, step=2),
        "method": CategoricalDistribution(["dllp_bce", "upm"]),
        "model.hidden": CategoricalDistribution(["[8]", "[16,8]"]),
    }
    assert search.fixed == ["dataset=flights"]
    assert search.repeats == [[f"fold={fold}", f"seed={seed}"] for fold in (1, 2) for seed in (3, 4)]
    params = {"optimizer.lr": 0.5, "method": "upm", "model.hidden": "[16,8]"}
    assert search.run(params, 3) == [
        "dataset=flights", "optimizer.lr=0.5", "method=upm", "model.hidden=[16,8]", "fold=2", "seed=4",
    ]  # fmt: skip


def test_name_tells_searches_apart():
    space = "optimizer.lr=interval(0.1,0.2)"
    one = search_of("dataset=flights", "grouping_key=random_64", space)
    assert one.name == search_of("grouping_key=random_64", space, "dataset=flights").name
    for other in (("dataset=flights", space), ("dataset=flights", "grouping_key=random_64", space, "fold=0,1")):
        assert search_of(*other).name != one.name


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("fold=0,1 optimizer.lr=1", r"^Nothing to search: expected an option with several values, such as '"),
        ("grouping_key=random_64,random_128", r"^Invalid grouping_key=random_64,random_128: expected one value in a "),
        ("protocol.held_out=0.1,0.2", r"^Invalid protocol.held_out=0.1,0.2: expected one value in a search"),
        ("method=upm,instance_bce", r"^Invalid method=upm,instance_bce: expected methods that all learn from bags,"),
        ("seed=interval(0,5) optimizer.lr=1,2", r"^Invalid seed='seed=interval\(0,5\)': expected values that all"),
        ("optimizer.lr=tag(log,interval(0,1))", r"^Invalid optimizer.lr=tag\(log,interval\(0,1\)\): "),
        ("trainer.patience=range(5,5)", r"^Invalid trainer.patience=range\(5,5\): "),
    ],
)
def test_what_cannot_be_searched_is_refused(given, told):
    with pytest.raises(InputError, match=told):
        search_of(*given.split())
