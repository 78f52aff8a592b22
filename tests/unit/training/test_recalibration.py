"""A scale and an offset of the scores from bags' sums alone: Platt's of single instances, the truth of many bags."""

import numpy as np
import pytest
import torch
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from llp.errors import InputError
from llp.runs.load import load_method
from llp.training.evaluation import predict_bags
from llp.training.recalibration import SumsOfBags, fitted, offset_of, scale_of
from tests.helpers.composed import check_build, open_table, record_of, run_of, run_one, start_of


def bags_of(sizes, scale, offset, seed=0, spread=1.0):
    """Scores that lie apart by bag, and the sums of labels by a true scale and offset."""
    rng = np.random.default_rng(seed)
    segment = np.repeat(np.arange(len(sizes)), sizes)
    z = rng.normal(0, spread, len(sizes))[segment] + rng.normal(0, 1, len(segment)) - 1
    sums = np.bincount(segment, rng.random(len(segment)) < expit(scale * z + offset), len(sizes))
    arrays = (segment, np.asarray(sizes), sums, np.zeros(len(sizes)))
    return torch.from_numpy(z), SumsOfBags(*map(torch.from_numpy, arrays))


def both(z, bags):
    return fitted(z, bags, torch.tensor([1.0, 0.0], dtype=torch.float64), slice(0, 2))


def test_of_bags_of_one_instance_it_is_logistic_regression():
    z, bags = bags_of([1] * 3000, 0.7, 0.4)
    expected = LogisticRegression(C=1e12, tol=1e-10).fit(z[:, None], bags.label_sum)
    assert both(z, bags).theta.tolist() == pytest.approx([expected.coef_.item(), expected.intercept_.item()], abs=1e-5)


@pytest.mark.parametrize(("scale", "offset"), [(0.5, 0.0), (1.0, -2.0), (2.5, 1.0)])
def test_of_many_bags_it_is_the_truth_within_its_errors(scale, offset):
    far = []
    for seed in range(20):
        found = both(*bags_of([5, 20, 60] * 100, scale, offset, seed))
        far.append((found.theta - torch.tensor([scale, offset])) / found.error)
    spread = torch.stack(far).square().mean(0).sqrt()  # 1 but for chance
    assert ((spread > 0.6) & (spread < 1.5)).all()


def test_the_offset_meets_the_sums():
    z, bags = bags_of([64] * 500, 1.0, -1.5)
    for scale in (1.0, 0.4):
        predicted = torch.sigmoid(scale * z + offset_of(z, bags, scale)).sum()
        assert float(predicted) == pytest.approx(float(bags.label_sum.sum()), rel=0.01)
    mean = float(bags.label_sum.sum() / bags.size.sum())
    assert offset_of(torch.zeros_like(z), bags, 1.0) == pytest.approx(np.log(mean / (1 - mean)), abs=1e-6)


def test_the_scale_is_drawn_to_1_where_bags_tell_little_of_it():
    assert scale_of(*bags_of([30] * 3000, 0.5, 0.0)) == pytest.approx(0.5, abs=0.05)
    assert scale_of(*bags_of([30] * 10, 0.5, 0.0)) == 1.0  # too few
    z, bags = bags_of([30] * 60, 1.4, 0.0, spread=0.0)  # bags as if at random
    assert 1.0 <= scale_of(z, bags) < float(both(z, bags).theta[0])
    assert scale_of(torch.zeros_like(z), bags) == 1.0
    z, bags = bags_of([30] * 3000, 1.0, 0.0)
    assert scale_of(-z, bags) == 1.0  # else the order would turn round


def test_noisy_sums_count_by_their_variance():
    z, bags = bags_of([30] * 400, 1.0, -1.0)
    noise = np.concatenate([np.zeros(200), np.random.default_rng(1).normal(0, 200, 200)])
    variance = torch.from_numpy(np.repeat([0.0, 200.0**2], 200))
    clean = SumsOfBags(bags.segment[: 30 * 200], *(one[:200] for one in bags[1:]))
    noisy = bags._replace(label_sum=bags.label_sum + torch.from_numpy(noise), noise=variance)
    expected = both(z[: 30 * 200], clean).theta.tolist()
    assert both(z, noisy).theta.tolist() == pytest.approx(expected, abs=0.03)


SHORT = ("method=dllp_bce", "protocol=holdout", "trainer.max_epochs=3", "save_model=true", "optimizer.lr=0.01")


@pytest.mark.parametrize("refit", [False, True])
@pytest.mark.parametrize("method", ["dllp_bce", "mean_map"])
def test_a_recalibrated_run_ranks_as_the_plain_one_and_meets_the_sums_and_its_kept_weights_do(tiny, refit, method):
    words = (*SHORT, f"protocol.refit={str(refit).lower()}", f"method={method}")
    plain, config = tiny(*words), tiny(*words, "method.recalibrate=true")
    before, after = run_one(plain), run_one(config)
    assert after.config_hash != before.config_hash
    assert after.measures["auc"] == pytest.approx(before.measures["auc"], abs=1e-4)
    assert after.measures["log_loss"] != before.measures["log_loss"]
    assert set(after.facts["recalibrated"]) == {"scale", "offset"}
    table = open_table(config)
    method, data = start_of(config, table, refit=refit)
    method.model = load_method(run_of(config).folder, table).model
    label_sum, predicted, *_ = predict_bags(method, data, data.train_bags)
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
