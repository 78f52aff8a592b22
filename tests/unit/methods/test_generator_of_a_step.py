"""The draws of a method's step are keyed by the epoch and the step that it is at."""

from types import SimpleNamespace

import torch

from llp.methods.upm import UPM
from tests.helpers.minibatches import make_method


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
