import numpy as np
import pytest
import torch
from scipy import stats

from llp.methods.dllp import dllp_bce
from llp.methods.mixbag import MixBag, draw_mix, draw_of_each_bag, expectation_and_band, mixed_bag_losses
from tests.helpers.formulas import cross_entropy
from tests.helpers.minibatches import make_batch, make_method, random_batch


def mix_of(batch, seed):
    return draw_mix(batch, torch.Generator().manual_seed(seed))


def test_parts_are_of_the_two_bags_without_repetition_and_of_the_sizes_drawn():
    batch, _ = random_batch(np.random.default_rng(0))
    for seed in range(20):
        mix = mix_of(batch, seed)
        assert (mix.partner != torch.arange(8)).all()
        assert sorted(mix.partner.tolist()) == list(range(8))
        for b in range(8):
            taken = mix.taken[mix.segment == b]
            assert len(set(taken.tolist())) == len(taken)
            bags = batch.segment[taken]
            assert (bags == b).sum() == mix.n_own[b]
            assert (bags == mix.partner[b]).sum() == mix.n_partner[b]
            assert len(taken) == mix.n_own[b] + mix.n_partner[b]


def test_share_of_the_own_bag_is_uniform_and_the_rest_is_of_the_partner():
    batch = make_batch([1000, 3000] * 20, [10, 20] * 20)
    mix = mix_of(batch, 0)
    share = mix.n_own / batch.size
    torch.testing.assert_close(share + mix.n_partner / batch.size[mix.partner], torch.ones(40), atol=2e-3, rtol=0)
    assert stats.kstest(share.numpy(), stats.uniform.cdf).pvalue > 1e-3


@pytest.mark.parametrize("band", ["weighted", "authors_code", "none"])
def test_bands_and_mixed_losses_are_their_formulas(band):
    batch, scores = random_batch(np.random.default_rng(1), low=20, high=60)
    mix = mix_of(batch, 3)
    alpha, n, m = (one.double().numpy() for one in (batch.label_proportion, mix.n_own, mix.n_partner))
    other, t, a = alpha[mix.partner], stats.norm.isf(0.005), n / (n + m)
    gamma = a * alpha + (1 - a) * other
    e1, e2 = t * np.sqrt(alpha * (1 - alpha) / n), t * np.sqrt(other * (1 - other) / m)
    width = {"weighted": a * e1 + (1 - a) * e2, "authors_code": t * e1 + (1 - a) * e2, "none": 0 * a}[band]
    found = expectation_and_band(*map(torch.from_numpy, (alpha, other, n, m)), tail=0.005, band=band)
    np.testing.assert_allclose(torch.stack(found), [gamma, width])
    h = np.array([torch.sigmoid(scores[mix.taken[mix.segment == b]]).mean().item() for b in range(8)])
    inside = np.abs(h - gamma) <= width
    losses, is_inside = mixed_bag_losses(scores, batch, mix, tail=0.005, band=band)
    np.testing.assert_allclose(losses, cross_entropy(gamma, np.where(inside, gamma, h)), rtol=1e-5)
    assert is_inside.tolist() == inside.tolist()
    assert not inside.all()
    assert inside.any() == (band != "none")


def test_a_lone_bag_is_not_mixed():
    scores = torch.linspace(-1, 2, 5)
    lone = make_batch([5], [2])
    method = make_method(MixBag, probability=1.0, tail=0.005, band="weighted")
    assert method.bag_loss(scores, lone).item() == dllp_bce(scores, lone).item()


def test_each_bag_gives_as_many_as_are_asked_for():
    segment = torch.tensor([0] * 4 + [1] + [2] * 7 + [3] * 30)  # what is behind the three bags belongs to none
    size, n_drawn = torch.tensor([4, 1, 7]), torch.tensor([2, 1, 4])
    taken = [draw_of_each_bag(segment, size, n_drawn, torch.rand(42, generator=torch.Generator().manual_seed(seed)))
             for seed in range(50)]  # fmt: skip
    assert all(torch.bincount(segment[positions], minlength=4).tolist() == [2, 1, 4, 0] for positions in taken)
    counts = torch.bincount(torch.cat(taken), minlength=12)
    assert (counts[:4] - 25).abs().max() < 15
    assert (counts[5:] - 50 * 4 / 7).abs().max() < 15
