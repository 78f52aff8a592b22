import numpy as np
import pytest
import torch

from llp.ops.sampling import draw_instances, draw_of_each_bag


def draw(segment, n_drawn, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return draw_instances(torch.tensor(segment), 3, n_drawn, generator, dtype=torch.float64)


SEGMENT = [0] * 4 + [1] + [2] * 7
PADDED = [*SEGMENT, *[3] * 30]


def test_padding_is_drawn_only_when_nothing_else_is_left():
    drawn = [draw(PADDED, 5, seed).position.tolist() for seed in range(60)]
    assert all(len(set(positions)) == 5 and max(positions) < 12 for positions in drawn)
    counts = np.bincount(np.concatenate(drawn), minlength=12)  # of mean 25 and standard deviation 3.8
    assert counts.min() > 8
    assert counts.max() < 42
    assert set(range(12)) < set(draw(PADDED, 20).position.tolist())


@pytest.mark.parametrize(("segment", "n_drawn"), [(SEGMENT, 5), (SEGMENT, 40), (PADDED, 20), (PADDED, 100)])
def test_shares_weigh_a_mean_over_the_instances_of_bags(segment, n_drawn):
    position, share = draw(segment, n_drawn)
    values = torch.arange(len(segment), dtype=torch.float64).square()
    of_bags = values[position[position < 12]]
    assert float((values[position] * share).mean()) == pytest.approx(float(of_bags.mean()), rel=1e-12)


def test_where_no_more_are_there_all_come_in_order():
    assert draw(SEGMENT, 12).position.tolist() == list(range(12))


def test_each_bag_gives_as_many_as_are_asked_for():
    segment, size, n_drawn = torch.tensor(PADDED), torch.tensor([4, 1, 7]), torch.tensor([2, 1, 4])
    taken = [draw_of_each_bag(segment, size, n_drawn, torch.rand(42, generator=torch.Generator().manual_seed(seed)))
             for seed in range(50)]  # fmt: skip
    assert all(torch.bincount(segment[positions], minlength=4).tolist() == [2, 1, 4, 0] for positions in taken)
    counts = torch.bincount(torch.cat(taken), minlength=12)
    assert (counts[:4] - 25).abs().max() < 15
    assert (counts[5:] - 50 * 4 / 7).abs().max() < 15
