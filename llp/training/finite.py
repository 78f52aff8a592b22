"""Early ends of a training: by a signal, and by numbers that are no longer finite, which mean nothing."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import lightning as L
from lightning.pytorch.callbacks import Callback

from llp import signals
from llp.data.datamodule import LLPDataModule
from llp.errors import InputError
from llp.methods.base import LLPMethod
from llp.ops.finite import all_finite

STEPS_BETWEEN_CHECKS = 1000
"""Steps after which an epoch's loss is checked: to read it the host waits for a GPU."""


class Watch(Callback):
    """Ends a training on a signal, and where its loss, weights or count of steps, which keys draws, are wrong."""

    def __init__(self) -> None:
        self._checked_at = 0

    def on_train_batch_end(self, trainer: L.Trainer, pl_module: L.LightningModule, *args: Any) -> None:
        """Check for a signal, and the loss from time to time."""
        assert isinstance(pl_module, LLPMethod)
        if pl_module.steps_taken - self._checked_at >= STEPS_BETWEEN_CHECKS:
            self._checked_at = pl_module.steps_taken
            require_finite(pl_module, weights=False)
        signals.exit_if_received()

    def on_validation_batch_end(self, *args: Any, **kwargs: Any) -> None:
        """Check for a signal."""
        signals.exit_if_received()

    def on_validation_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Check the epoch's steps, its loss and the weights."""
        assert isinstance(pl_module, LLPMethod)
        data: LLPDataModule = trainer.datamodule  # type: ignore[attr-defined]
        expected = (trainer.current_epoch + 1) * data.minibatches_per_evaluation
        if pl_module.steps_taken != expected:
            raise RuntimeError(
                f"{type(pl_module).__name__} has counted {pl_module.steps_taken} of {expected} steps: call super() in "
                "its on_train_batch_end, get_extra_state and set_extra_state"
            )
        self._checked_at = pl_module.steps_taken
        require_finite(pl_module)


def require_finite(method: LLPMethod, *, weights: bool = True) -> None:
    """FloatingPointError where the epoch's loss or, if they are asked for, one of the weights is not finite."""
    loss = float(method.epoch_means.sums[0, 0])
    if not math.isfinite(loss):
        raise FloatingPointError(f"the train loss is {loss}")
    for name, weight in method.model.named_parameters() if weights else ():
        if not all_finite(weight):
            raise FloatingPointError(f"the weights {name} are not finite")


@contextmanager
def stopped_unless_finite(trainer: L.Trainer, method: LLPMethod) -> Iterator[None]:
    """Report numbers that are not finite in one line: where training stood, and at which learning rate."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        cause = error
        if not isinstance(error, FloatingPointError):
            try:
                require_finite(method)
            except FloatingPointError as found:
                cause = found
            else:
                raise
        rate = trainer.optimizers[0].param_groups[0]["lr"] if trainer.optimizers else None
        raise InputError(
            f"Training diverged: {cause} in epoch {method.current_epoch}, after {method.steps_taken} steps with the "
            f"learning rate {rate}; expected finite numbers: write a smaller optimizer.lr, such as optimizer.lr=0.001"
        ) from error
