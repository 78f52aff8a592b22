"""Cross-entropies from raw scores: the formula where it can be computed plainly, and sense where it cannot."""

import pytest
import torch
from torch.nn import functional as F

from llp.ops.bce import bag_bce, log_mean_sigmoid, mean_instance_bce

SIZES = [3, 1, 5]
SIZE = torch.tensor(SIZES)
SEGMENT = torch.repeat_interleave(torch.arange(3), SIZE)
SCORES = torch.linspace(-3, 4, 9, dtype=torch.float64) ** 2 - 4
PROPORTION = torch.tensor([1 / 3, 1.0, 0.0], dtype=torch.float64)


def test_bag_bce_is_the_formula():
    mean = torch.stack([part.mean() for part in torch.split(torch.sigmoid(SCORES), SIZES)])
    expected = F.binary_cross_entropy(mean, PROPORTION, reduction="none")
    torch.testing.assert_close(bag_bce(SCORES, SEGMENT, SIZE, PROPORTION), expected)
    noisy = torch.tensor([1 / 3, 1.8, -0.7], dtype=torch.float64)  # taken as the nearest that can be
    torch.testing.assert_close(bag_bce(SCORES, SEGMENT, SIZE, noisy), expected)


def test_bag_bce_gradient():
    scores = SCORES.clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda z: bag_bce(z, SEGMENT, SIZE, PROPORTION), scores)


@pytest.mark.parametrize("z", [-1e4, -100.0, 100.0, 1e4])
def test_saturated_bags_keep_a_loss_and_a_gradient(z):
    scores = torch.full((9,), z, requires_grad=True)
    wrong = torch.full((3,), 0.0 if z > 0 else 1.0)
    loss = bag_bce(scores, SEGMENT, SIZE, wrong)
    torch.testing.assert_close(loss, torch.full((3,), abs(z)))
    loss.sum().backward()
    torch.testing.assert_close(scores.grad, torch.sign(torch.tensor(z)) / SIZE[SEGMENT])
    right = bag_bce(scores.detach(), SEGMENT, SIZE, 1 - wrong)
    torch.testing.assert_close(right, torch.zeros(3), rtol=0, atol=1e-40)


def test_log_mean_sigmoid_of_scores_far_apart():
    scores = torch.tensor([-500.0, 500.0])
    value = log_mean_sigmoid(scores, torch.tensor([0, 0]), torch.tensor([2]))
    torch.testing.assert_close(value, torch.log(torch.tensor([0.5])))


def test_mean_instance_bce_with_hard_and_outlying_labels():
    label = torch.tensor([0, 1, 1, 0.5, 1.4, -0.2, 0, 1, 0], dtype=torch.float64)
    each = -(label * F.logsigmoid(SCORES) + (1 - label) * F.logsigmoid(-SCORES))
    expected = torch.stack([part.mean() for part in torch.split(each, SIZES)])
    torch.testing.assert_close(mean_instance_bce(SCORES, label, SEGMENT, SIZE), expected)
