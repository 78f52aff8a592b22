"""The unit in which a method sees real labels: what the train bags' sums tell of their mean and spread."""

from dataclasses import dataclass, replace

import numpy as np
import torch

from llp.data.bags import Bags


@dataclass(frozen=True)
class LabelUnit:
    """Labels y are seen as (y - mean) / scale, both in the labels' own unit; `AS_GIVEN` leaves them as they are."""

    mean: float = 0.0
    scale: float = 1.0

    @classmethod
    def of(cls, bags: Bags, *, most: float = float("inf")) -> "LabelUnit":
        """The pooled mean, and a scale near the instances' standard deviation σ, from aggregates alone.

        For a bag's deviation d, mean(d²) ≤ σ² ≤ mean(k d²): bags of like instances are at the lower bound, random ones
        at the upper. The scale is the bounds' geometric mean, and at most `most`, as noise in the sums widens them.
        """
        mean = bags.label_mean
        squared = np.square(bags.label_sum / bags.summed - mean)
        scale = float((squared.mean() * (bags.summed * squared).mean()) ** 0.25)
        return cls(mean, min(scale, most) or 1.0)  # bags of one mean tell no scale

    def of_bags(self, bags: Bags) -> Bags:
        """The same bags with the sums of the labels in this unit."""
        if self == AS_GIVEN:
            return bags
        variance = None if bags.noise_variance is None else bags.noise_variance / self.scale**2
        label_sum = (bags.label_sum - self.mean * bags.summed) / self.scale
        return replace(bags, label_sum=label_sum, noise_variance=variance)

    def of_labels(self, labels: torch.Tensor) -> torch.Tensor:
        """Labels (n,) float32 in this unit; as precise as they are where their mean is large."""
        if self == AS_GIVEN:
            return labels
        return ((labels.double() - self.mean) / self.scale).float()


AS_GIVEN = LabelUnit()
