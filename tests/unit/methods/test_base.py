"""What a method class must have, and what it has of its base: draws of a step, means of an epoch."""

import math
from types import SimpleNamespace

import pytest
import torch

from llp.errors import InputError
from llp.methods.base import LLPMethod
from llp.methods.epoch_means import EpochMeans
from llp.methods.upm import UPM
from tests.helpers.minibatches import make_method


class Lossless(LLPMethod):
    """A method that forgot its loss."""


class Prior(LLPMethod):
    """One that needs none."""

    trains = False


def test_method_without_a_loss_is_refused_by_its_name():
    with pytest.raises(InputError, match=r"^Invalid method class Lossless: expected a loss, bag_loss\(scores, batch\)"):
        make_method(Lossless)
    assert isinstance(make_method(Prior), Prior)


def test_draws_differ_by_epoch_and_by_step():
    method = make_method(UPM, detach=False)
    drawn = {}
    for epoch, step in ((0, 0), (1, 0), (0, 1), (1, 1)):
        method._fabric = None
        method._trainer = SimpleNamespace(current_epoch=epoch)
        method.steps_taken = step
        drawn[epoch, step] = torch.rand(4, generator=method.generator("a")).tolist()
        assert torch.rand(4, generator=method.generator("a")).tolist() == drawn[epoch, step]
        assert torch.rand(4, generator=method.generator("b")).tolist() != drawn[epoch, step]
    method.seed += 1
    drawn["another seed"] = torch.rand(4, generator=method.generator("a")).tolist()
    assert len({tuple(values) for values in drawn.values()}) == 5


def test_means_are_over_what_was_counted_since_the_epoch_began():
    means = EpochMeans(["loss", "error", "never"])
    means.add("loss", torch.tensor(100.0), 1)
    means.begin()
    for loss in (1.0, 2.0, 6.0):
        means.add("loss", torch.tensor(loss), 1)
    means.add("error", torch.tensor(1.5), torch.tensor(3))
    values = means.values()
    assert (values["loss"], values["error"]) == (3.0, 0.5)
    assert math.isnan(values["never"])
