"""SIM-LLP against a loop over pairs, and what becomes of its frozen metric."""

import numpy as np
import torch

from llp.methods.sim_llp import SimLLP, draw_instances, pair_weights
from llp.models.mlp import MLP
from tests.helpers.minibatches import make_batch, make_method

TABLE = {"vocab_sizes": [5, 7], "n_numeric": 0}


def make(**options):
    torch.manual_seed(0)
    given = {"pair_instances": 400, "squash": "none", "weighting": "pairwise", "bag_weight": 2.0} | options
    return make_method(SimLLP, model=MLP(hidden=[6, 4], **TABLE), **given)


def metric():
    torch.manual_seed(1)
    return MLP(hidden=[6, 4], **TABLE)


def batch():
    rng = np.random.default_rng(2)
    codes = np.stack([rng.integers(0, size, 12) for size in TABLE["vocab_sizes"]], 1).astype(np.int32)
    return make_batch([4, 1, 7], [1, 1, 1])._replace(categorical=torch.from_numpy(codes))


def test_pairs_are_of_instances_drawn_without_replacement_each_as_often_as_another_one():
    def touched(seed):
        method = make(pair_instances=5, bag_weight=0.0)
        method.seed = seed
        method.start_from(metric())
        z = torch.linspace(-2, 2, 12, requires_grad=True)
        method.bag_loss(z, batch()).backward()
        return torch.nonzero(z.grad).flatten().tolist()

    drawn = [touched(seed) for seed in range(60)]
    assert {len(positions) for positions in drawn} == {5}
    assert touched(0) == drawn[0]
    counts = np.bincount(np.concatenate(drawn), minlength=12)  # of mean 25 and standard deviation 3.8
    assert counts.min() > 8
    assert counts.max() < 42


def test_the_metric_is_frozen_and_no_part_of_the_method():
    method, trained = make(), metric()
    before = {name: weight.clone() for name, weight in trained.state_dict().items()}
    own = {name: weight.clone() for name, weight in method.model.state_dict().items()}
    method.start_from(trained)
    assert all(torch.equal(weight, own[name]) for name, weight in method.model.state_dict().items())  # fresh weights
    method.train()
    optimizer = method.configure_optimizers()
    bags = batch()
    method.bag_loss(method(bags.categorical, bags.numeric), bags).backward()
    optimizer.step()
    assert all(torch.equal(weight, before[name]) for name, weight in trained.state_dict().items())
    assert all(weight.grad is None and not weight.requires_grad for weight in trained.parameters())
    assert not trained.training
    assert {name.split(".")[0] for name in method.state_dict()} == {"model", "_extra_state"}
    optimized = {id(weight) for group in optimizer.param_groups for weight in group["params"]}
    assert optimized == {id(weight) for weight in method.model.parameters()}


def test_pair_weights_of_long_near_equal_and_far_representations():
    rng = np.random.default_rng(0)
    near = 100 + 0.1 * rng.normal(size=(50, 64))
    r = np.concatenate([near, near[:5]]).astype(np.float32)
    expected = np.exp(-np.square(r[:, None].astype(float) - r).sum(-1))
    np.testing.assert_allclose(pair_weights(torch.from_numpy(r), weighting="pairwise"), expected, atol=1e-5)
    far = pair_weights(torch.from_numpy(np.concatenate([r, r[:1] + 50])), weighting="pairwise")
    assert (far[-1, :-1] == 0).all()
    np.testing.assert_allclose(far[:-1, :-1], expected, atol=1e-2)  # one far instance costs digits, in float32


def test_where_no_more_are_there_all_come_in_order():
    assert draw_instances(12, 12, torch.Generator()).tolist() == list(range(12))
