"""The grouping keys of a benchmark as one choice."""

from types import SimpleNamespace

import polars as pl
import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

from llp.config.grouping_keys import options, read_option
from llp.config.points import Multirun
from llp.errors import InputError
from llp.runs.benchmark import expand, expand_choices


def multirun_of(dataset, outputs_dir, *overrides, key_columns=(), **params):
    content = {
        "dataset": {"name": dataset, "key_columns": list(key_columns)},
        "outputs_dir": str(outputs_dir),
        "hydra": {"overrides": {"task": list(overrides)}, "sweeper": {"params": params}},
    }
    return Multirun(SimpleNamespace(is_group=bool), OmegaConf.create(content))


def write_analysis(outputs_dir, keys, kinds, in_benchmark):
    path = outputs_dir / "analysis" / "mine" / "analysis.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame({"grouping_key": keys, "kind": kinds, "in_benchmark": in_benchmark}).write_parquet(path)
    return path


def test_the_criteo_sets_have_their_published_keys(tmp_path):
    ctr = expand("benchmark", multirun_of("criteo_ctr", tmp_path)).split(",")
    assert (len(ctr), ctr[0], ctr[-1]) == (52, "C1_C7", "C13_C26")
    sscl = expand("random_64,benchmark", multirun_of("criteo_sscl", tmp_path)).split(",")
    assert (len(sscl), sscl[:2]) == (11, ["random_64", "C2_C5"])
    assert len(expand("benchmark_fixed", multirun_of("criteo_ctr", tmp_path)).split(",")) == 4 * 52


def test_other_sets_have_the_keys_that_their_analysis_keeps(tmp_path):
    keys, kinds = ["a", "b", "random_64"], ["feature", "feature", "random"]
    write_analysis(tmp_path, keys, kinds, [True, False, True])
    config = multirun_of("mine", tmp_path)
    assert expand("benchmark", config) == "a"
    assert expand("benchmark_fixed", config) == "fixed_a_64,fixed_a_128,fixed_a_256,fixed_a_512"
    assert expand("benchmark_random", config) == "random_64,random_128,random_256,random_512"
    assert expand("a_b,random_64", config) == "a_b,random_64"
    path = write_analysis(tmp_path, keys, kinds, [False] * 3)
    with pytest.raises(InputError, match="No grouping key of dataset mine keeps enough instances"):
        expand("benchmark", config)
    path.write_text("damaged")
    with pytest.raises(InputError, match="cannot be read"):
        expand("benchmark", config)


@pytest.mark.parametrize(
    ("known", "keys", "swept"),
    [
        (["home_town", "age"], ["home_town_age", "age"], "home_town_age,age"),
        (["1", "a b", "c,d", "it's", "null"], ["1_a b", "c,d", "it's", "null"], r"'1_a b','c,d','it\'s','null'"),
        (["a", "b", "a_b"], ["a_b"], r"a_b of dataset mine can be read as \[a,b\] and as \[a_b\]: rename a column"),
    ],
)
def test_names_of_own_columns_are_swept_as_they_are_read(tmp_path, known, keys, swept):
    write_analysis(tmp_path, keys, ["feature"] * len(keys), [True] * len(keys))
    config = multirun_of("mine", tmp_path, key_columns=known)
    if "dataset" in swept:
        with pytest.raises(InputError, match=swept):
            expand("benchmark", config)
        return
    assert expand("benchmark", config) == swept
    override = OverridesParser.create().parse_override(f"grouping_key={swept}")
    assert [str(getattr(name, "text", name)) for name in override.value().list] == keys


def test_the_command_line_decides_over_an_experiment(tmp_path):
    config = multirun_of("mine", tmp_path, "fold=0", "grouping_key=benchmark_random", grouping_key="benchmark")
    expand_choices(config)
    assert config.overrides == ["fold=0", "grouping_key=random_64,random_128,random_256,random_512"]
    assert config.params["grouping_key"] == "benchmark"
    config = multirun_of("criteo_sscl", tmp_path, grouping_key="benchmark")
    expand_choices(config)
    assert config.params["grouping_key"].startswith("C2_C5,C3_C5,")


def test_one_choice_cannot_stand_for_the_keys_of_two_datasets(tmp_path):
    with pytest.raises(InputError, match="expected one dataset"):
        expand("benchmark", multirun_of("flights", tmp_path, "dataset=flights,synthetic"))


@pytest.mark.parametrize("name", [name for name in options("experiment") if name.startswith("paper_")])
def test_experiments_sweep_what_there_is(name):
    experiment = read_option(f"experiment/{name}")
    params = experiment.hydra.sweeper.params
    assert set(params.method.split(",")) <= set(options("method"))
    assert {"override /logger": "wandb"} in experiment.defaults
    kind = "real" if "sscl" in name else "binary"
    assert all(kind in read_option(f"method/{method}").labels for method in params.method.split(","))
