"""Training on a chunk of minibatches in one step of Lightning, from data that lives on the device.

Lightning's own work for a step takes longer than a GPU needs for a minibatch, and so does launching its kernels one by
one. So Lightning hands over a chunk of minibatches, and each is a whole step: gather, loss, gradient, optimizer. Steps,
draws and results are those of one minibatch a time.
"""

import lightning as L
from lightning.pytorch.callbacks import Callback
from torch.optim import Optimizer

from llp.data.batch import BagBatch, InstanceBatch
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


def take_step(method: LLPMethod, optimizer: Optimizer, batch: BagBatch | InstanceBatch) -> None:
    """Take one whole training step on a minibatch."""
    optimizer.zero_grad()
    method.minibatch_loss(batch).backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    method.after_step()
    method.steps_taken += 1


class ChunkTraining(Callback):
    """Makes a method train on chunks.

    Parameters
    ----------
    gatherer : ResidentBags or ResidentInstances
        Gives the minibatches.
    """

    def __init__(self, gatherer: Gatherer) -> None:
        self._gatherer = gatherer

    def setup(self, trainer: L.Trainer, pl_module: L.LightningModule, stage: str) -> None:
        """Take over the optimizer's steps from Lightning."""
        pl_module.automatic_optimization = False

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Give the method the function that trains on a chunk."""
        assert isinstance(pl_module, LLPMethod)
        method, optimizer, gatherer = pl_module, trainer.optimizers[0], self._gatherer

        def take_steps(chunk: Chunk) -> None:
            first = 0
            for n_ids, n in zip(chunk.n_ids, chunk.n_instances, strict=True):
                take_step(method, optimizer, gatherer.gather(chunk.ids[first : first + n_ids], n))
                first += n_ids

        method.take_steps = take_steps

    def on_train_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Let go of the data and the device memory that they hold."""
        assert isinstance(pl_module, LLPMethod)
        pl_module.take_steps = None
