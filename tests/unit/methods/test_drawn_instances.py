import numpy as np
import torch

from llp.methods.mixbag import draw_of_each_bag
from llp.methods.sim_llp import draw_instances


def draw(n, n_drawn, seed=0):
    return draw_instances(n, n_drawn, torch.Generator().manual_seed(seed)).tolist()


def test_every_instance_is_drawn_as_often_as_another_one_and_none_twice():
    drawn = [draw(12, 5, seed) for seed in range(60)]
    assert all(len(set(positions)) == 5 for positions in drawn)
    counts = np.bincount(np.concatenate(drawn), minlength=12)  # of mean 25 and standard deviation 3.8
    assert len(counts) == 12
    assert counts.min() > 8
    assert counts.max() < 42


def test_where_no_more_are_there_all_come_in_order():
    assert draw(12, 12) == draw(12, 40) == list(range(12))


def test_each_bag_gives_as_many_as_are_asked_for():
    segment = torch.tensor([0] * 4 + [1] + [2] * 7 + [3] * 30)  # what is behind the three bags belongs to none
    size, n_drawn = torch.tensor([4, 1, 7]), torch.tensor([2, 1, 4])
    taken = [draw_of_each_bag(segment, size, n_drawn, torch.rand(42, generator=torch.Generator().manual_seed(seed)))
             for seed in range(50)]  # fmt: skip
    assert all(torch.bincount(segment[positions], minlength=4).tolist() == [2, 1, 4, 0] for positions in taken)
    counts = torch.bincount(torch.cat(taken), minlength=12)
    assert (counts[:4] - 25).abs().max() < 15
    assert (counts[5:] - 50 * 4 / 7).abs().max() < 15
