"""What ours is timed beside computes the same."""

import torch

from benchmarks.plain_torch import network
from llp.models.mlp import MLP


def test_network_of_plain_torch_gives_the_models_scores_and_trains_the_models_table():
    model = MLP(vocab_sizes=[3, 5, 2], n_numeric=0, hidden=[8, 4])
    categorical = torch.tensor([[0, 4, 1], [2, 0, 0], [1, 1, 1]], dtype=torch.int32)
    net = network(model)
    scores = net(categorical + model.first.offset).squeeze(1)
    torch.testing.assert_close(scores, model(categorical, torch.empty(3, 0)))
    scores.sum().backward()
    assert sum(p.grad is not None for p in net.parameters()) == len(list(model.parameters()))
