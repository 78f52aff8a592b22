"""An offset of the scores from bags' sums alone: logistic regression's on single instances, the truth on many bags."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.optimize import brentq
from scipy.special import expit

from llp.data.bags import Bags
from llp.errors import InputError
from llp.runs.load import load_method
from llp.training.evaluation import predict_bags
from llp.training.recalibration import offset_of
from tests.helpers.composed import check_build, open_table, record_of, run_of, run_one, start_of


def bags_of(sizes, offset, seed=0):
    """Scores that lie apart by bag, the bag of each, and the sums of labels by a true offset."""
    rng = np.random.default_rng(seed)
    segment = np.repeat(np.arange(len(sizes)), sizes)
    z = rng.normal(0, 1, len(sizes))[segment] + rng.normal(0, 1, len(segment)) - 1
    sums = np.bincount(segment, rng.random(len(segment)) < expit(z + offset), len(sizes))
    bags = Bags(np.arange(len(segment)), np.append(0, np.cumsum(sizes)), sums)
    return torch.from_numpy(z), torch.from_numpy(segment), bags


def test_of_bags_of_one_instance_it_is_logistic_regression():
    z, segment, bags = bags_of([1] * 3000, 0.4)
    expected = brentq(lambda offset: expit(z.numpy() + offset).sum() - bags.label_sum.sum(), -9, 9)
    assert offset_of(z, segment, bags) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("offset", [0.0, -2.0, 1.0])
def test_of_many_bags_it_is_the_truth(offset):
    found = [offset_of(*bags_of([5, 20, 60] * 100, offset, seed)) for seed in range(10)]
    assert np.mean(found) == pytest.approx(offset, abs=0.03)


def test_the_offset_meets_the_sums():
    z, segment, bags = bags_of([64] * 500, -1.5)
    predicted = torch.sigmoid(z + offset_of(z, segment, bags)).sum()
    assert float(predicted) == pytest.approx(float(bags.label_sum.sum()), rel=0.01)
    mean = float(bags.label_sum.sum() / bags.sizes.sum())
    assert offset_of(torch.zeros_like(z), segment, bags) == pytest.approx(np.log(mean / (1 - mean)), abs=1e-6)


def test_noisy_sums_count_by_their_variance():
    z, segment, bags = bags_of([30] * 400, -1.0)
    noise = np.concatenate([np.zeros(200), np.random.default_rng(1).normal(0, 200, 200)])
    variance = np.repeat([0.0, 200.0**2], 200)
    clean = offset_of(z[: 30 * 200], segment[: 30 * 200], bags.select(np.arange(200)))
    noisy = replace(bags, label_sum=bags.label_sum + noise, noise_variance=variance)
    assert offset_of(z, segment, noisy) == pytest.approx(clean, abs=0.03)


SHORT = ("method=dllp_bce", "protocol=holdout", "trainer.max_epochs=3", "save_model=true", "optimizer.lr=0.01")


@pytest.mark.parametrize(("refit", "method"), [(False, "mean_map"), (True, "dllp_bce")])
def test_a_recalibrated_run_ranks_as_the_plain_one_and_meets_the_sums_and_its_kept_weights_do(tiny, refit, method):
    words = (*SHORT, f"protocol.refit={str(refit).lower()}", f"method={method}")
    plain, config = tiny(*words), tiny(*words, "method.recalibrate=true")
    before, after = run_one(plain), run_one(config)
    assert after.config_hash != before.config_hash
    assert after.measures["auc"] == pytest.approx(before.measures["auc"], abs=1e-4)
    assert after.measures["log_loss"] != before.measures["log_loss"]
    assert set(after.facts["recalibrated"]) == {"offset"}
    table = open_table(config)
    method, data = start_of(config, table, refit=refit)
    method.model = load_method(run_of(config).folder, table).model
    label_sum, predicted, *_ = predict_bags(method, data, data.train_bags).numpy()
    assert predicted.sum() == pytest.approx(label_sum.sum(), rel=0.02)
    assert record_of(config) == after


def test_a_first_stage_is_shared_with_the_run_by_itself(tiny):
    run_one(tiny("method=dllp_bce", "trainer.max_epochs=1"))
    assert run_one(tiny("method=ot_llp", "trainer.max_epochs=1")).stages[0].reused
    assert run_one(tiny("method=ot_llp", "trainer.max_epochs=1", "method.recalibrate=true")).stages[0].reused


@pytest.mark.parametrize("words", [("method=group_prior",), ("method=dllp_bce", "protocol.start=authors")])
def test_what_cannot_be_recalibrated_is_refused(tiny, words):
    config = tiny(*words, "method.recalibrate=true")
    with pytest.raises(InputError, match=r"Invalid method\.recalibrate=true: expected false"):
        check_build(config, open_table(config))
