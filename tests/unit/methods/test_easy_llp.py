"""Easy-LLP's single instance of each bag, and its clip; its formula: test_formulas.py."""

import math

import numpy as np
import pytest
import torch

from llp.methods.easy_llp import EasyLLP, drawn_instances
from tests.helpers import formulas
from tests.helpers.minibatches import make_batch, make_method

SIZES, COUNTS, P = [3, 1, 6, 4], [1, 1, 0, 3], 0.3
BATCH = make_batch(SIZES, COUNTS)


def make(estimator, clip=1e-7):
    return make_method(EasyLLP, estimator=estimator, clip=clip, label_mean=P)


def test_single_takes_one_instance_of_each_bag_uniformly():
    scores, values = torch.linspace(-3, 2, sum(SIZES), dtype=torch.float64), []
    for seed in range(1000):
        method = make("single")
        method.seed = seed
        values.append(float(method.bag_loss(scores, BATCH)))
    # of a bag of as many instances that all have the score of one: that instance's loss
    bags = zip(np.split(scores.numpy(), np.cumsum(SIZES)[:-1]), COUNTS, strict=True)
    losses = [[formulas.easy_llp([np.full(len(z), one)], [count], P) for one in z] for z, count in bags]
    possible = np.sum(np.meshgrid(*losses, indexing="ij"), axis=0).ravel()
    assert np.abs(np.array(values)[:, None] - possible).min(1).max() < 1e-5
    standard_error = possible.std() / math.sqrt(len(values))
    assert np.mean(values) == pytest.approx(possible.mean(), abs=4 * standard_error)


def test_drawn_instances_stay_in_their_bags():
    size = torch.tensor([3, 1, 2500])
    assert drawn_instances(torch.tensor([0.0, 0.0, 0.0]), size).tolist() == [0, 3, 4]
    assert drawn_instances(torch.tensor([1 - 2**-24] * 3), size).tolist() == [2, 3, 2503]


@pytest.mark.parametrize("clip", [1e-7, None])
def test_clip_stops_the_gradient(clip):
    z = torch.full((sum(SIZES),), -50.0, dtype=torch.float64, requires_grad=True)
    make("bag_mean", clip).bag_loss(z, BATCH).backward()
    assert ((z.grad == 0) == (clip is not None)).all()
