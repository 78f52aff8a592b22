"""A training whose numbers are no longer finite stops: nothing that comes after them means anything."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import lightning as L
from lightning.pytorch.callbacks import Callback

from llp.errors import InputError
from llp.methods.base import LLPMethod
from llp.ops.finite import all_finite

STEPS_BETWEEN_LOOKS = 1000
"""Steps after which an epoch's loss is looked at: to read it the host waits for a GPU."""


class StopUnlessFinite(Callback):
    """Ends a training whose loss or weights are not finite.

    The loss is looked at every `STEPS_BETWEEN_LOOKS` steps and, with the weights, before an epoch is evaluated.

    Raises
    ------
    FloatingPointError
        One of them is not finite.
    """

    def __init__(self) -> None:
        self._looked_at = 0

    def on_train_batch_end(self, trainer: L.Trainer, pl_module: L.LightningModule, *args: Any) -> None:
        """Look at the loss from time to time."""
        assert isinstance(pl_module, LLPMethod)
        if pl_module.steps_taken - self._looked_at >= STEPS_BETWEEN_LOOKS:
            self._looked_at = pl_module.steps_taken
            _require_finite_loss(pl_module)

    def on_validation_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Look at the loss and the weights."""
        assert isinstance(pl_module, LLPMethod)
        self._looked_at = pl_module.steps_taken
        require_finite(pl_module)


def require_finite(method: LLPMethod) -> None:
    """Look at the epoch's loss and the weights.

    Raises
    ------
    FloatingPointError
        One of them is not finite.
    """
    _require_finite_loss(method)
    _require_finite_weights(method)


def _require_finite_loss(method: LLPMethod) -> None:
    loss = float(method.epoch_means.sums[0, 0])
    if not math.isfinite(loss):
        raise FloatingPointError(f"the train loss is {loss}")


def _require_finite_weights(method: LLPMethod) -> None:
    for name, weight in method.model.named_parameters():
        if not all_finite(weight):
            raise FloatingPointError(f"the weights {name} are not finite")


@contextmanager
def stopped_unless_finite(trainer: L.Trainer, method: LLPMethod) -> Iterator[None]:
    """Tell of numbers that are not finite in one line: where training stood, and at which learning rate.

    They may show first as an error of an operation that refuses them.

    Raises
    ------
    InputError
        A loss, weight or score is not finite.
    """
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
