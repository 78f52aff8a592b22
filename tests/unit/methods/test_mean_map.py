"""What Mean-Map cannot learn from; its operator and loss: test_formulas.py and tests/parity."""

from functools import partial

import numpy as np
import pytest
import torch

from llp.errors import InputError
from llp.methods.mean_map import MeanMap, bag_coefficients
from llp.models.mlp import MLP


@pytest.mark.parametrize("proportion", [0.0, 0.25, 1.0])
def test_bags_of_one_proportion_are_refused(proportion):
    with pytest.raises(InputError, match=f"all 6 bags have about {proportion:g}"):
        bag_coefficients(np.full(6, proportion), proportion)


def test_another_model_is_refused():
    model = MLP(vocab_sizes=[5, 3], n_numeric=0, hidden=[4, 2])
    with pytest.raises(InputError, match="model=linear"):
        MeanMap(l2=0.0, model=model, optimizer=partial(torch.optim.SGD, lr=1.0), label_kind="binary", seed=0)
