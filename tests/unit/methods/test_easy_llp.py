"""Easy-LLP against its definition, written out per instance."""

import math
from functools import partial

import numpy as np
import pytest
import torch

from llp.data.batch import BagBatch
from llp.methods.easy_llp import EasyLLP, drawn_instances

SIZES, COUNTS, P = [3, 1, 6, 4], [1, 1, 0, 3], 0.3


def make(estimator, clip=1e-7, seed=0):
    method = EasyLLP(
        estimator=estimator, clip=clip, model=torch.nn.Identity(), optimizer=partial(torch.optim.SGD, lr=1.0),
        label_kind="binary", seed=seed,
    )  # fmt: skip
    method.label_mean = P
    return method


def batch():
    n, size = sum(SIZES), torch.tensor(SIZES)
    segment = torch.repeat_interleave(torch.arange(len(SIZES)), size)
    return BagBatch(
        torch.zeros(n, 1, dtype=torch.int32), torch.zeros(n, 0), segment, size, torch.tensor(COUNTS).float()
    )


def instance_loss(z, k, y):
    """Definition 3.4 for one instance of a bag."""
    alpha, h = y / k, 1 / (1 + math.exp(-z))
    return (k * (alpha - P) + P) * -math.log(h) + (k * (P - alpha) + 1 - P) * -math.log(1 - h)


def scores():
    return torch.linspace(-3, 2, sum(SIZES), dtype=torch.float64)


def losses_by_bag():
    z, segment = scores(), batch().segment
    return [
        [instance_loss(float(v), k, y) for v in z[segment == bag]]
        for bag, (k, y) in enumerate(zip(SIZES, COUNTS, strict=True))
    ]


def test_single_takes_one_instance_of_each_bag_uniformly():
    losses = losses_by_bag()
    values = [float(make("single", seed=seed).bag_loss(scores(), batch())) for seed in range(1000)]
    possible = np.sum(np.meshgrid(*losses, indexing="ij"), axis=0).ravel()
    assert np.abs(np.array(values)[:, None] - possible).min(1).max() < 1e-5
    standard_error = possible.std() / math.sqrt(len(values))
    assert np.mean(values) == pytest.approx(possible.mean(), abs=4 * standard_error)


def test_drawn_instances_stay_in_their_bags():
    size = torch.tensor([3, 1, 2500])
    assert drawn_instances(torch.tensor([0.0, 0.0, 0.0]), size).tolist() == [0, 3, 4]
    assert drawn_instances(torch.tensor([1 - 2**-24] * 3), size).tolist() == [2, 3, 2503]


def test_clip_bounds_the_loss_and_stops_the_gradient():
    z = torch.full((sum(SIZES),), -50.0, dtype=torch.float64, requires_grad=True)
    make("bag_mean").bag_loss(z, batch()).backward()
    assert (z.grad == 0).all()
    unclipped = make("bag_mean", clip=None)
    unclipped.bag_loss(z, batch()).backward()
    assert (z.grad != 0).all()
    h = 1e-3
    wide = make("bag_mean", clip=h).bag_loss(torch.full((sum(SIZES),), -50.0, dtype=torch.float64), batch())
    at_the_clip = sum(instance_loss(math.log(h / (1 - h)), k, y) for k, y in zip(SIZES, COUNTS, strict=True))
    assert float(wide) == pytest.approx(at_the_clip, rel=1e-6)
