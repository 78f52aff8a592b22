"""Two-class optimal transport of a bag's label mass to its instances, for all bags of a minibatch at once.

Shapes: `scores` z and the labels (n,); `segment` (n,) int64 in 0..M-1, rising; the rest (M,). Labels are plain
numbers: nothing here is differentiable. Instances that belong to no bag get the label 0.
"""

import torch
from torch import Tensor

from llp.ops.segment import descending_order, rank_in_segment, segment_sum, to_instances

# From the start below, safeguarded Newton steps bring every tried bag (2 to 2,500 instances, scores up to 1e4) to a
# label proportion right to 1e-7 in at most seven. A fixed number needs no reading of the device's numbers.
NEWTON_STEPS = 8


@torch.no_grad()
def transport_labels(scores: Tensor, segment: Tensor, size: Tensor, label_sum: Tensor) -> Tensor:
    """Labels of the unregularised problem: 1 for exactly the y_B highest scores of each bag, ties by position.

    With two classes the greedy choice is the optimum: swapping a chosen instance for another one costs the
    difference of their scores.
    """
    rank = rank_in_segment(scores, segment, size)
    return (rank < to_instances(label_sum.round(), segment)).to(scores.dtype)


@torch.no_grad()
def entropic_labels(scores: Tensor, segment: Tensor, size: Tensor, label_sum: Tensor, *, reg: float) -> Tensor:
    """Labels k·Q[1, j] in [0, 1] of the entropic problem min_Q <Q, -log P> + reg Σ Q log Q.

    Q is 2 × k with row sums (1-α, α) and column sums 1/k, P holds the two classes' probabilities. Dividing the
    two rows leaves one unknown s per bag: k·Q[1, j] = sigmoid(z_j / reg + s), where s makes the mean over the bag
    equal α. It is found by Newton steps on logit(mean) = logit(α), each kept inside a bracket by bisection; the
    start is the midpoint between the y-th and the next score, which is where s goes for scores far apart.

    Source: Liu et al., "Two-stage training for learning from label proportions", IJCAI 2021, eq. 7.
    """
    u = scores.double() / reg
    highest_first = u[descending_order(u, segment)]
    start = torch.cumsum(size, 0) - size

    def score_at(rank: Tensor) -> Tensor:
        return highest_first[start + rank]

    alpha = (label_sum.double() / size).clamp(0, 1)  # of a noisy sum it may lie outside
    target = torch.logit(alpha)
    count = label_sum.round().long().clamp(min=1).minimum(size - 1)  # of the scores above the start
    low, high = target - score_at(torch.zeros_like(size)), target - score_at(size - 1)
    s = (-(score_at((count - 1).clamp(min=0)) + score_at(count)) / 2).clamp(low, high)
    k = size.double()
    for _ in range(NEWTON_STEPS):
        label = torch.sigmoid(u + to_instances(s, segment))
        mean = segment_sum(label, segment, len(size)) / k
        slope = segment_sum(label * (1 - label), segment, len(size)) / k
        low, high = torch.where(mean < alpha, s, low), torch.where(mean > alpha, s, high)
        newton = s - (torch.logit(mean) - target) * mean * (1 - mean) / slope  # NaN where the bag is saturated
        s = torch.where((newton >= low) & (newton <= high), newton, (low + high) / 2)
    mixed = to_instances((alpha > 0) & (alpha < 1), segment)
    labels = torch.where(mixed, torch.sigmoid(u + to_instances(s, segment)), to_instances(alpha, segment))
    return labels.to(scores.dtype)
