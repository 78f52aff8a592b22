"""Minibatches and methods outside a training run, for the tests of the methods."""

import numpy as np
import torch
from torch import nn

from llp.data.batch import BagBatch


def make_batch(sizes, label_sums):
    """Bags without features."""
    size = torch.as_tensor(sizes, dtype=torch.int64)
    segment = torch.repeat_interleave(torch.arange(len(size)), size)
    return BagBatch(
        categorical=torch.zeros(len(segment), 0, dtype=torch.int32),
        numeric=torch.zeros(len(segment), 0),
        segment=segment,
        size=size,
        label_sum=torch.as_tensor(label_sums, dtype=torch.float32),
    )


def random_batch(rng, n_bags=8, low=2, high=20):
    """A batch of random sizes and label counts, and its scores in float64."""
    sizes = rng.integers(low, high, n_bags)
    batch = make_batch(sizes, rng.integers(0, sizes + 1))
    return batch, torch.from_numpy(rng.normal(0, 2, sizes.sum()))


def make_method(cls, *, model=None, label_mean=0.3, step=0, **options):
    """A method as in a run, at a step of its first epoch."""
    method = cls(model=model or nn.Identity(), optimizer=torch.optim.Adam, label_kind="binary", seed=0, **options)
    method.label_mean = label_mean
    method.steps_taken = step
    return method


def population(rng, n=2000):
    """Labels and scores of a fixed population that are correlated."""
    scores = rng.normal(-0.5, 1.5, n)
    label = (rng.random(n) < 1 / (1 + np.exp(-0.7 * scores))).astype(float)
    return scores, label


def bags_of(rng, scores, label, sizes):
    """Bags of instances drawn uniformly from a population, with replacement."""
    picked = rng.integers(0, len(scores), int(np.sum(sizes)))
    starts = np.cumsum(sizes) - sizes
    return make_batch(sizes, np.add.reduceat(label[picked], starts)), torch.from_numpy(scores[picked])


def assert_mean(values, expected):
    """Assert that simulated values have a mean, which they tell to 2 %."""
    values = np.array([float(value) for value in values])
    error = values.std(ddof=1) / np.sqrt(len(values))
    assert abs(values.mean() - expected) < 3 * error
    assert error < 0.02 * expected
