"""What a method class must have."""

import pytest
import torch

from llp.errors import InputError
from llp.methods.base import LLPMethod
from tests.helpers.composed import build_method, build_model
from tests.helpers.every_method import DATASETS, composed
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


def test_second_stage_goes_on_from_the_weights_of_the_first(tables):
    config = composed("ot_llp", *DATASETS["binary"])
    method, trained = build_method(config, tables["binary"]), build_model(config, tables["binary"])
    with torch.no_grad():
        for weight in trained.parameters():
            weight.add_(1.0)
    method.start_from(trained)
    for weight, expected in zip(method.model.parameters(), trained.parameters(), strict=True):
        assert torch.equal(weight, expected)
