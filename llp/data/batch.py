"""What a training step sees: a minibatch of bags without instance labels, or of labelled instances."""

from typing import NamedTuple

from torch import Tensor


class BagBatch(NamedTuple):
    """A minibatch of M bags with n instances in all, bag after bag. It holds no instance label.

    Attributes
    ----------
    categorical : Tensor
        (n, Fc) int32, codes from 0 within each column.
    numeric : Tensor
        (n, Fn) float32.
    segment : Tensor
        (n,) int64, the bag of each instance: 0..M-1, rising.
    size : Tensor
        (M,) int64, instances of each bag.
    label_sum : Tensor
        (M,) float32, sum of the labels of each bag.
    """

    categorical: Tensor
    numeric: Tensor
    segment: Tensor
    size: Tensor
    label_sum: Tensor

    @property
    def label_proportion(self) -> Tensor:
        """(M,) float32: the label proportion of each bag (real labels: its mean label)."""
        return self.label_sum / self.size


class InstanceBatch(NamedTuple):
    """A minibatch of n labelled instances: for the instance baselines and for evaluation.

    Attributes
    ----------
    categorical : Tensor
        (n, Fc) int32, codes from 0 within each column.
    numeric : Tensor
        (n, Fn) float32.
    label : Tensor
        (n,) float32.
    """

    categorical: Tensor
    numeric: Tensor
    label: Tensor
