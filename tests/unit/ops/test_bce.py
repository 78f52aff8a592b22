"""The bag cross-entropy where it cannot be computed plainly; elsewhere: tests/unit/methods/test_formulas.py."""

import pytest
import torch

from llp.ops.bce import bag_bce, log_mean_sigmoid

SIZE = torch.tensor([3, 1, 5])
SEGMENT = torch.repeat_interleave(torch.arange(3), SIZE)


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


def test_a_proportion_outside_0_and_1_is_taken_as_the_nearest():
    noisy, nearest = torch.tensor([1 / 3, 1.8, -0.7]), torch.tensor([1 / 3, 1.0, 0.0])
    scores = torch.linspace(-3, 4, 9) ** 2 - 4
    assert torch.equal(bag_bce(scores, SEGMENT, SIZE, noisy), bag_bce(scores, SEGMENT, SIZE, nearest))
