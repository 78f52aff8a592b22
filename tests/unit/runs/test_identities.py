"""A run's identity stays what it is while the code around it changes: the hashes of varied configs are pinned.

Where a change of a run's numbers is meant to change identities, write the pins again, in the same commit:
`python -m tests.unit.runs.test_identities`.
"""

import json
import tempfile
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

from llp.config.checks import check_config
from llp.config.commands import TrainConfig
from llp.config.grouping_keys import options
from llp.reports.sample import MANY
from llp.runs.identity import MANY_SAMPLED, Run
from tests.helpers.composed import composition

PINS = Path(__file__).with_name("identities.json")
CONFIGS = [
    "dataset=flights",
    "dataset=flights dataset.label=delay method=dllp_mae seed=3",
    "dataset=flights grouping_key=random_64 method=sim_llp fold=4",
    "dataset=flights grouping_key=fixed_origin_dest_128 method=group_prior",
    "dataset=flights grouping_key=prior_64 grouping_key.column=hour method=upm",
    "dataset=flights grouping_key=feature grouping_key.columns=[month,dest] grouping_key.low_thresh=7",
    "dataset=flights noise=laplace noise.epsilon=0.5 method=dsq",
    "dataset=flights noise=gaussian protocol=holdout protocol.select_by=upm",
    "dataset=flights design=flips method=instance_bce",
    "dataset=flights protocol=holdout protocol.refit=true trainer.evaluate_every=0.25",
    "dataset=flights model=embedding_mlp optimizer=embedding_sgd trainer.bags_per_batch=3",
    "dataset=flights optimizer=adam optimizer.betas=[0.8,0.99] method=llp_vat method.radius=1",
    "dataset=criteo_ctr method=genbags",
    "dataset=criteo_ctr grouping_key=C1_C2 method=easy_llp model=linear fold=2 seed=12345678901",
    "dataset=criteo_sscl method=genbags model=autoint",
    "dataset=criteo_sscl grouping_key=random_512 method=instance_mse",
    "dataset=diamonds method=dllp_mae grouping_key=random_256",
    "dataset=synthetic method=llpfc grouping_key=random_64 dataset.seed=1",
    "dataset=synthetic_sscl method=dllp_mse model=mlp model.hidden=[8,4]",
    "dataset=synthetic grouping_key=given grouping_key.n_folds=1 method=rot",
    "dataset=synthetic method=hard_erot_llp trainer.max_epochs=1 protocol=holdout protocol.held_out=0.25",
    "dataset=flights experiment=search method=debiased",
    "dataset=synthetic grouping_key=1_2 dataset.key_columns=[1,2] dataset.learning_rate=1",
    # a change of a YAML file's published default changes its pin; what is added later has none
    *(f"dataset=flights method={name}" for name in options("method") if name != "dllp_bce"),
]
FOLDER = tempfile.TemporaryDirectory()  # of given bags, which are no report's cells
pl.DataFrame({"label_sum": [1.0], "size": [2]}).write_parquet(Path(FOLDER.name, "bags.parquet"))
SCHEMA = SimpleNamespace(given_bags=1, made_by={}, rows=2)
TABLE = SimpleNamespace(fingerprint="0123456789abcdef", folder=Path(FOLDER.name), schema=SCHEMA)


def hash_of(words):
    config = check_config(composition("train", *words.split()), TrainConfig)
    return Run.of(config.identity, TABLE, config.outputs_dir).hash


@pytest.mark.parametrize("words", json.loads(PINS.read_text()))
def test_identity_of_a_config_stays(words):
    assert hash_of(words) == json.loads(PINS.read_text())[words]


def test_every_pinned_identity_is_of_another_run():
    pins = json.loads(PINS.read_text())
    assert {*pins} <= {*CONFIGS}
    assert len(set(pins.values())) == len(pins)


def test_runs_whose_impossible_sums_are_now_taken_as_the_nearest_are_other_runs(monkeypatch):
    noisy = [f"dataset=flights noise=laplace method={name}" for name in ("llp_mm", "soft_erot_llp", "dsq")]
    now, clean = [hash_of(words) for words in noisy], hash_of("dataset=flights method=llp_mm")
    monkeypatch.setattr("llp.runs.identity.NEAREST", ())
    before = [hash_of(words) for words in noisy]
    assert [one != other for one, other in zip(now, before, strict=True)] == [True, True, False]
    assert hash_of("dataset=flights method=llp_mm") == clean


def test_a_fit_on_a_sample_is_another_run_than_before_its_sampling_was_noise(monkeypatch):
    words = "dataset=flights grouping_key=given method=cell_glm"
    found = []
    for n, rows in ((200_000, {}), (100_000, {"rows": "unknown"}), (200_000, {"rows": "unknown"})):
        monkeypatch.setattr(TABLE, "schema", SimpleNamespace(made_by=rows, rows=n, given_bags=1))
        found.append(hash_of(words))
    assert len({*found}) == 3  # the factor of many rows is found in another way too
    assert MANY_SAMPLED == 2 * MANY


if __name__ == "__main__":
    PINS.write_text(json.dumps({words: hash_of(words) for words in CONFIGS}, indent=1) + "\n")
