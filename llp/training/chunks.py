"""Training on a chunk of minibatches in one step of Lightning, from data that lives on the device.

Lightning's own work for a step takes longer than a GPU needs for a minibatch, and so does launching its kernels one by
one. So Lightning hands over a chunk of minibatches, and each is a whole step: gather, loss, gradient, optimizer; on
CUDA as a graph that was captured once (`llp.training.cuda_graphs`). Steps, draws and results are those of one minibatch
a time.
"""

from collections.abc import Callable
from typing import Protocol

import lightning as L
from lightning.pytorch.callbacks import Callback
from torch import Tensor
from torch.optim import Optimizer

from llp.data.on_device import Chunk, Gatherer
from llp.methods.base import LLPMethod

ONCE_AN_EPOCH = {
    *("setup", "prepare_data", "configure_model", "configure_callbacks", "teardown", "forward"),
    *("on_fit_start", "on_fit_end", "on_train_start", "on_train_end", "on_train_epoch_start", "on_train_epoch_end"),
    *("validation_step", "on_validation_start", "on_validation_end", "on_validation_batch_start"),
    *("on_validation_batch_end", "on_validation_epoch_start", "on_validation_epoch_end"),
    *("on_validation_model_eval", "on_validation_model_train", "on_save_checkpoint", "on_load_checkpoint"),
}
"""What of Lightning's module a method may write itself and still train on chunks: it is called as often either way."""


def own_hooks(method: type[LLPMethod]) -> list[str]:
    """What of Lightning's module a method writes itself that chunks do not call once a minibatch, or not at all.

    Whatever is not in `ONCE_AN_EPOCH` counts, also a hook that a later Lightning brings.
    """
    lightning = [base for base in L.LightningModule.__mro__ if base.__module__.startswith("lightning.")]
    hooks = {name: value for base in lightning for name, value in vars(base).items() if not name.startswith("_")}
    return [
        name
        for name, value in hooks.items()
        if callable(value) and name not in ONCE_AN_EPOCH and getattr(method, name) is not getattr(LLPMethod, name)
    ]


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

        def take_steps(chunk: Chunk) -> None:
            first = 0
            for n_ids, n in zip(chunk.n_ids, chunk.n_instances, strict=True):
                step(chunk.ids[first : first + n_ids], n)
                first += n_ids
                method.steps_taken += 1

        method.take_steps = take_steps

    def on_train_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Let go of the step and the device memory that it holds."""
        assert isinstance(pl_module, LLPMethod)
        pl_module.take_steps = None
