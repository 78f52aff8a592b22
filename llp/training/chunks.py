"""Training on a chunk of minibatches in one step of Lightning, from data that lives on the device.

Lightning's own work for a step takes longer than a GPU needs for a minibatch, and so does launching its kernels one by
one. So Lightning hands over a chunk of minibatches, and each is a whole step: gather, loss, gradient, optimizer; on
CUDA as a graph that was captured once (`llp.training.cuda_graphs`). Steps, draws and results are those of one minibatch
a time.
"""

from collections.abc import Callable
from typing import Any, Protocol

import lightning as L
from lightning.pytorch.callbacks import Callback
from torch import Tensor
from torch.optim import Optimizer

from llp.data.on_device import Chunk, Gatherer
from llp.methods.base import LLPMethod

HOOKS_OF_A_STEP = (
    "on_before_batch_transfer",
    "transfer_batch_to_device",
    "on_after_batch_transfer",
    "on_train_batch_start",
    "training_step",
    "on_before_backward",
    "backward",
    "on_after_backward",
    "on_before_zero_grad",
    "optimizer_zero_grad",
    "on_before_optimizer_step",
    "configure_gradient_clipping",
    "optimizer_step",
    "on_train_batch_end",
    "lr_scheduler_step",
    "configure_optimizers",  # it may bring a scheduler, or several optimizers
)
"""What Lightning calls for a minibatch; with chunks it calls it once a chunk, or not at all."""


def own_hooks(method: type[LLPMethod]) -> list[str]:
    """Those of the hooks of a step that a method writes itself: it cannot train on chunks."""
    return [name for name in HOOKS_OF_A_STEP if getattr(method, name) is not getattr(LLPMethod, name)]


class Step(Protocol):
    """One whole training step on the minibatch with the given ids and n instances."""

    def __call__(self, ids: Tensor, n: int) -> None:
        """Take it."""


class PlainStep:
    """A step as a sequence of operations.

    Parameters
    ----------
    method : LLPMethod
        What is trained.
    optimizer : Optimizer
        Of its parameters.
    gatherer : ResidentBags or ResidentInstances
        Gives the minibatch.
    """

    def __init__(self, method: LLPMethod, optimizer: Optimizer, gatherer: Gatherer) -> None:
        self.method = method
        self.optimizer = optimizer
        self.gatherer = gatherer

    def __call__(self, ids: Tensor, n: int) -> None:
        """See `Step`."""
        self.optimizer.zero_grad()
        loss = self.method.minibatch_loss(self.gatherer.gather(ids, n))
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        self.method.after_step()


class ChunkTraining(Callback):
    """Makes a method train on chunks.

    Parameters
    ----------
    make_step : callable
        Makes the step once training begins, from the method and its optimizer with the state that training starts from.
    """

    def __init__(self, make_step: Callable[[LLPMethod, Optimizer], Step]) -> None:
        self._make_step = make_step

    def setup(self, trainer: L.Trainer, pl_module: L.LightningModule, stage: str) -> None:
        """Take over the optimizer's steps from Lightning."""
        pl_module.automatic_optimization = False

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Give the method the function that trains on a chunk."""
        assert isinstance(pl_module, LLPMethod)
        method, step = pl_module, self._make_step(pl_module, trainer.optimizers[0])
        counters = _step_counters(trainer)

        def take_steps(chunk: Chunk) -> None:
            first = 0
            for n_ids, n in zip(chunk.n_ids, chunk.n_instances, strict=True):
                step(chunk.ids[first : first + n_ids], n)
                first += n_ids
                method.count_step()
                for counter in counters:
                    counter.increment_completed()

        method.take_steps = take_steps

    def on_train_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Let go of the step and the device memory that it holds."""
        assert isinstance(pl_module, LLPMethod)
        pl_module.take_steps = None


def _step_counters(trainer: L.Trainer) -> list[Any]:
    """Lightning's two counts of optimizer steps: it reads the one or the other, by who calls the optimizer."""
    loop = trainer.fit_loop.epoch_loop
    automatic = loop.automatic_optimization.optim_progress.optimizer.step
    manual = loop.manual_optimization.optim_step_progress
    taken = max(automatic.total.completed, manual.total.completed)  # a checkpoint may come from the other way to train
    automatic.total.completed = manual.total.completed = taken
    return [automatic, manual]
