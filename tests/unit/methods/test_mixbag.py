import numpy as np
import pytest
import torch
from scipy import stats

from llp.methods.dllp import dllp_bce
from llp.methods.mixbag import MixBag, draw_mix, draw_of_each_bag, expectation_and_band, mixed_bag_losses
from tests.helpers.minibatches import make_batch, make_method, random_batch

OPTIONS = {"probability": 0.5, "tail": 0.005, "band": "weighted"}


def mix_of(batch, seed):
    return draw_mix(batch, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("band", ["weighted", "authors_code"])
def test_the_band_is_its_formula(band):
    alpha, other, n, m = 0.3, 0.05, 12, 30
    expected, width = expectation_and_band(
        *(torch.tensor([x], dtype=torch.float64) for x in (alpha, other, n, m)), tail=0.005, band=band
    )
    t, a, b = stats.norm.isf(0.005), n / (n + m), m / (n + m)
    e1, e2 = t * np.sqrt(alpha * (1 - alpha) / n), t * np.sqrt(other * (1 - other) / m)
    assert expected.item() == pytest.approx(a * alpha + b * other)
    assert width.item() == pytest.approx((a if band == "weighted" else t) * e1 + b * e2)


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


@pytest.mark.parametrize("band", ["weighted", "none"])
def test_mixed_losses_are_their_formula_bag_by_bag(band):
    batch, scores = random_batch(np.random.default_rng(1), low=20, high=60)
    mix = mix_of(batch, 3)
    alpha = (batch.label_sum / batch.size).numpy()
    losses, is_inside = mixed_bag_losses(scores, batch, mix, tail=0.005, band=band)
    n_inside = 0
    for b in range(8):
        h = torch.sigmoid(scores[mix.taken[mix.segment == b]]).mean().item()
        expected, width = expectation_and_band(
            torch.tensor(alpha[b]), torch.tensor(alpha[mix.partner[b]]), mix.n_own[b], mix.n_partner[b],
            tail=0.005, band=band,
        )  # fmt: skip
        gamma = expected.item()
        inside = abs(h - gamma) <= width.item()
        n_inside += inside
        assert is_inside[b] == inside
        q = gamma if inside else h
        assert losses[b].item() == pytest.approx(-gamma * np.log(q) - (1 - gamma) * np.log(1 - q), rel=1e-5)
    assert 0 < n_inside < 8 if band == "weighted" else n_inside == 0


def test_a_lone_bag_is_not_mixed():
    scores = torch.linspace(-1, 2, 5)
    lone = make_batch([5], [2])
    method = make_method(MixBag, **{**OPTIONS, "probability": 1.0})
    assert method.bag_loss(scores, lone).item() == dllp_bce(scores, lone).item()


def test_the_share_of_mixed_bags_inside_the_band_is_in_the_epochs_means():
    batch, scores = random_batch(np.random.default_rng(1), low=20, high=60)
    method = make_method(MixBag, **{**OPTIONS, "probability": 1.0})
    method.bag_loss(scores, batch)
    draws = method.generator("mixbag")
    torch.rand(8, generator=draws)
    _, inside = mixed_bag_losses(scores, batch, draw_mix(batch, draws), tail=0.005, band="weighted")
    assert method.epoch_means.values()["inside_band"] == pytest.approx(inside.double().mean().item())
    assert np.isnan(make_method(MixBag, **OPTIONS).epoch_means.values()["inside_band"])


def test_each_bag_gives_as_many_as_are_asked_for():
    segment = torch.tensor([0] * 4 + [1] + [2] * 7 + [3] * 30)  # what is behind the three bags belongs to none
    size, n_drawn = torch.tensor([4, 1, 7]), torch.tensor([2, 1, 4])
    taken = [draw_of_each_bag(segment, size, n_drawn, torch.rand(42, generator=torch.Generator().manual_seed(seed)))
             for seed in range(50)]  # fmt: skip
    assert all(torch.bincount(segment[positions], minlength=4).tolist() == [2, 1, 4, 0] for positions in taken)
    counts = torch.bincount(torch.cat(taken), minlength=12)
    assert (counts[:4] - 25).abs().max() < 15
    assert (counts[5:] - 50 * 4 / 7).abs().max() < 15
