import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from llp.data.bags import Bags
from llp.data.keys import RandomKey
from llp.data.train_split import TrainSplit
from llp.methods.llp_vat import LLPVAT, adversarial_direction, ramp
from llp.models.mlp import MLP
from tests.helpers.minibatches import make_method, random_batch

OPTIONS = {"radius": 0.1, "weight": 0.05, "ramp_epochs": 0}


def model_and_batch():
    torch.manual_seed(0)
    model = MLP(vocab_sizes=[7, 5], n_numeric=2, hidden=[64, 32]).double()
    rng = np.random.default_rng(0)
    batch, _ = random_batch(rng)
    n = len(batch.segment)
    codes = torch.from_numpy(rng.integers(0, 5, (n, 2)).astype(np.int32))
    return model, batch._replace(categorical=codes, numeric=torch.from_numpy(rng.normal(size=(n, 2))))


def test_the_direction_is_where_the_power_iteration_ends():
    model, batch = model_and_batch()
    layer = model.first_layer(batch.categorical, batch.numeric)
    scores = model.score_from_first_layer(layer)
    ours = adversarial_direction(scores, layer, torch.Generator().manual_seed(0))
    start = F.normalize(torch.randn_like(layer), dim=1).requires_grad_()
    moved = model.score_from_first_layer(layer.detach() + 1e-6 * start)
    two = torch.stack([torch.zeros_like(moved), moved], dim=1)
    target = torch.stack([1 - torch.sigmoid(scores), torch.sigmoid(scores)], dim=1).detach()
    kl = F.kl_div(two.log_softmax(dim=1), target, reduction="batchmean")
    iterated = F.normalize(torch.autograd.grad(kl, start)[0], dim=1, eps=1e-30)
    cosine = (ours * iterated).sum(dim=1).abs()
    np.testing.assert_allclose(cosine.detach(), 1, atol=1e-4)


def test_the_weight_rises_by_the_step_to_its_full_value():
    shares = [float(ramp(torch.tensor(float(step)), ramp_steps=4)) for step in range(6)]
    assert shares == pytest.approx([math.exp(-5 * (1 - t) ** 2) for t in (0, 0.25, 0.5, 0.75, 1, 1)])
    assert float(ramp(torch.tensor(0.0), ramp_steps=0)) == 1


def test_the_steps_that_the_weight_rises_over_are_those_of_its_epochs():
    model, _ = model_and_batch()
    method = make_method(LLPVAT, model=model, **{**OPTIONS, "ramp_epochs": 2.5})
    bags = Bags(np.arange(4), np.array([0, 4]), np.array([1.0]))
    method.take_train_split(TrainSplit(None, bags, RandomKey(bag_size=4, seed=0), minibatches=12))
    assert method.ramp_steps == 30
    method.after_step()
    assert method.state_dict()["steps"] == 1  # a run that goes on from a checkpoint goes on with it
