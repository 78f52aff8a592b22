"""A training step that is captured once as a CUDA graph and then replayed.

A step on a few thousand instances is some sixty small kernels, which the host launches more slowly than the device runs
them. A graph is launched as a whole. Its shapes are fixed, so a minibatch is padded to one of a few capacities, each
with a graph of its own; what changes from step to step (ids, draws, the step's number) is read from device memory.
"""

import logging
import math
import threading

import torch
from torch import Tensor

from llp.optim.exact_adam import ExactAdam
from llp.training.chunks import PlainStep

log = logging.getLogger(__name__)

LARGEST_DIFFERENCE = 1e-3
"""Relative tolerance between a graph's first replay and the eager loss."""

_capturing = threading.Lock()  # runs side by side capture one after another


def capacity_for(n: int) -> int:
    """Instances that a minibatch of n is padded to: the next of four steps between two powers of two, at least 256.

    >>> [capacity_for(n) for n in (1, 257, 2000, 2048, 2049)]
    [256, 320, 2048, 2048, 2560]
    """
    step = max(64, 1 << max(0, (n - 1).bit_length() - 3))
    return max(256, -(-n // step) * step)


class CapturedStep:
    """A step as a CUDA graph per capacity; the first step of each capacity runs eagerly, as warm-up.

    Minibatches of another number of bags (an epoch's last one) run eagerly. Where a capture fails, all do.

    Parameters
    ----------
    plain : PlainStep
        The step; its method's `static_shape` is True.
    n_ids : int
        Bags (or instances) of the minibatches to capture.
    n_steps : int
        Steps that training takes at most.
    """

    def __init__(self, plain: PlainStep, *, n_ids: int, n_steps: int) -> None:
        self._plain = plain
        self._n_ids = n_ids
        self._pool = torch.cuda.graph_pool_handle()
        self._graphs: dict[int, tuple[torch.cuda.CUDAGraph, Tensor]] = {}
        self._unproved: set[int] = set()
        self._failed = False
        if isinstance(plain.optimizer, ExactAdam):
            plain.optimizer.reserve(n_steps)
        for group in plain.optimizer.param_groups:
            if "capturable" in group:  # torch's own optimizers keep their step's number on the device then
                group["capturable"] = True

    def __call__(self, ids: Tensor, n: int) -> None:
        """See `llp.training.chunks.Step`."""
        capacity = capacity_for(n)
        if self._failed or len(ids) != self._n_ids:
            self._plain(ids, n)
        elif capacity in self._graphs:
            self._replay(ids, capacity)
        else:
            self._plain(ids, capacity)
            self._capture(ids, capacity)

    def _capture(self, ids: Tensor, capacity: int) -> None:
        graph, static_ids = torch.cuda.CUDAGraph(), ids.clone()
        for generator in self._plain.method.generators.by_purpose.values():
            graph.register_generator_state(generator)
        try:
            with _capturing, torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):
                self._plain(static_ids, capacity)
        except RuntimeError as error:
            log.warning("the training step cannot be captured (%s); it is taken without cuda_graphs", error)
            self._failed = True
            self._graphs.clear()
            return
        finally:
            self._plain.optimizer.zero_grad()  # gradients in the graph's memory are its own
        self._graphs[capacity] = graph, static_ids
        self._unproved.add(capacity)

    def _replay(self, ids: Tensor, capacity: int) -> None:
        graph, static_ids = self._graphs[capacity]
        static_ids.copy_(ids)
        expected = self._plain_loss(static_ids, capacity) if capacity in self._unproved else None
        before = self._sums.clone() if expected is not None else None
        self._plain.method.reseed()
        if isinstance(self._plain.optimizer, ExactAdam):
            self._plain.optimizer.before_replay()
        graph.replay()
        if expected is not None and before is not None:
            self._prove(float(expected), float(self._sums[0, 0] - before[0, 0]))
            self._unproved.discard(capacity)

    @property
    def _sums(self) -> Tensor:
        return self._plain.method.epoch_means.sums

    def _plain_loss(self, ids: Tensor, capacity: int) -> Tensor:
        """Loss of the minibatch without a step."""
        before = self._sums.clone()
        loss = self._plain.method.batch_loss(self._plain.gatherer.gather(ids, capacity)).detach()
        self._sums.copy_(before)
        return loss

    def _prove(self, expected: float, replayed: float) -> None:
        """Compare the first replay of a graph with the plain loss.

        Raises
        ------
        FloatingPointError
            The eager loss is not finite.
        RuntimeError
            They differ: nothing that this graph computes can be trusted.
        """
        if not math.isfinite(expected):
            raise FloatingPointError(f"the train loss is {expected}")
        if not abs(replayed - expected) <= LARGEST_DIFFERENCE * max(1.0, abs(expected)):
            raise RuntimeError(
                f"a captured training step has the loss {replayed}, the eager one {expected}: write "
                "hardware.cuda_graphs=false"
            )
