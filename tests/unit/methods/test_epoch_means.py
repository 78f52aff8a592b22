import math

import torch

from llp.methods.epoch_means import EpochMeans


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


def test_sums_stay_in_their_memory_and_out_of_a_checkpoint():
    means = EpochMeans(["loss"])
    place = means.sums.data_ptr()
    means.add("loss", torch.tensor(1.0), 1)
    means.begin()
    means.add("loss", torch.tensor(1.0), 1)
    assert means.sums.data_ptr() == place
    assert not means.state_dict()
