"""What a method class must have."""

import pytest

from llp.errors import InputError
from llp.methods.base import LLPMethod
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
