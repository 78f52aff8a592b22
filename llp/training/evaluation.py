"""Measures of a method: of an epoch, on what the protocol selects by, and of its final weights, on the test rows."""

import math
from collections.abc import Iterable, Iterator
from typing import Any

import lightning as L
import numpy as np
import torch
from lightning.pytorch.callbacks import Callback
from numpy.typing import NDArray
from torch import Tensor

from llp import signals
from llp.data.bags import Bags
from llp.data.datamodule import LLPDataModule
from llp.methods.base import LLPMethod
from llp.metrics.evaluation import (
    MAIN,
    all_measures,
    bag_measures,
    constant_measures,
    epoch_measures,
    weighted_measures,
)
from llp.metrics.held_out import HeldOutBags, criteria
from llp.ops.finite import all_finite
from llp.ops.segment import segment_sum


class EpochMeasures(Callback):
    """Logs an epoch's measures: `test_auc` or `test_mse` and the like, or `held_out_loss` and every estimate."""

    def on_validation_epoch_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Begin collecting."""
        self._held_out = trainer.datamodule.protocol == "holdout"  # type: ignore[attr-defined]
        self._losses: list[Tensor] = []
        self._bags: list[HeldOutBags] = []
        self._scores: list[Tensor] = []
        self._labels: list[Tensor] = []

    def on_validation_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: Any, *args: Any
    ) -> None:
        """Collect scores and labels of test rows, or losses of held-out bags (or instances)."""
        assert isinstance(pl_module, LLPMethod)
        if self._held_out:
            self._losses.append(pl_module.held_out_loss(outputs, batch))
            if not pl_module.sees_instance_labels:
                self._bags.append(HeldOutBags.of(pl_module.log_odds(outputs), batch, pl_module.label_kind))
        else:
            self._scores.append(pl_module.log_odds(outputs))
            self._labels.append(batch.label)

    def on_validation_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Log the measures; FloatingPointError where a held-out loss or a score is not finite."""
        assert isinstance(pl_module, LLPMethod)
        if self._held_out:
            held_out_loss = torch.cat(self._losses).double().mean().item()
            if not math.isfinite(held_out_loss):
                raise FloatingPointError(f"the held-out loss is {held_out_loss}")
            pl_module.log("held_out_loss", held_out_loss)
            if self._bags:
                bags = HeldOutBags.joined(self._bags)
                found = criteria(bags, label_mean=pl_module.label_mean, label_kind=pl_module.label_kind)
                for criterion, value in found.items():
                    pl_module.log(f"held_out_{criterion}", value)
            data = trainer.datamodule  # type: ignore[attr-defined]
            if data.test_in_curve:
                _log_measures(pl_module, *score_test_rows(pl_module, data))
            return
        _log_measures(pl_module, finite(torch.cat(self._scores)), torch.cat(self._labels).cpu().numpy())


def _log_measures(method: LLPMethod, scores: NDArray[np.float32], labels: NDArray[np.float32]) -> None:
    for name, value in epoch_measures(scores, labels, method.label_kind).items():
        method.log(f"test_{name}", value)


def main_measure(method: LLPMethod, data: LLPDataModule) -> float:
    """The metric of the method's current weights on the fold's test rows."""
    scores, labels = score_test_rows(method, data)
    name, _ = MAIN[method.label_kind]
    return epoch_measures(scores, labels, method.label_kind)[name]


def evaluate(method: LLPMethod, data: LLPDataModule) -> tuple[dict[str, float], Tensor | None]:
    """Every measure of the method's current weights on the fold's test rows; or on bags, whose sums come beside it."""
    if data.test_bags is not None:
        epsilon, sums = data.table.schema.facts.get("epsilon"), predict_bags(method, data, data.test_bags)
        return bag_measures(method.label_kind, *sums.numpy(), epsilon=epsilon), sums
    scores, labels = score_test_rows(method, data)
    measures = all_measures(scores, labels, method.label_kind)
    measures |= constant_measures(data.train_bags.label_mean, labels, method.label_kind)
    if data.source.weight is not None:
        measures |= weighted_measures(scores, labels, data.source.weight[data.test_rows], method.label_kind)
    return measures, None


@torch.inference_mode()
def predict_bags(method: LLPMethod, data: LLPDataModule, bags: Bags) -> Tensor:
    """Label sum, predicted sum, its variance if labels are drawn from the predictions, and size of bags: (4, K)."""
    found = []
    for batch, raw in _scored(method, data.bag_dataloader(bags)):
        h, segment = method.predict(raw).double(), batch.segment.to(method.device)
        sums = [segment_sum(values, segment, len(batch.size)).cpu() for values in (h, h * (1 - h))]
        found.append(torch.stack([batch.label_sum.double().cpu(), *sums, batch.size.double().cpu()]))
    return torch.cat(found, dim=1)


@torch.inference_mode()
def score_bags(method: LLPMethod, data: LLPDataModule, bags: Bags) -> tuple[Tensor, Tensor]:
    """Scores (log-odds for binary labels) of the bags' instances, and the bag of each: (n,), on the device."""
    scores = [method.log_odds(raw).float() for _, raw in _scored(method, data.bag_dataloader(bags))]
    segment = torch.from_numpy(np.repeat(np.arange(len(bags)), bags.sizes))
    return torch.cat(scores), segment.to(method.device)


@torch.inference_mode()
def score_test_rows(method: LLPMethod, data: LLPDataModule) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Scores (log-odds if binary) and labels of the test rows, (n,) float32; FloatingPointError if not finite."""
    scores, labels = [], []
    for batch, raw in _scored(method, data.test_dataloader()):
        scores.append(method.log_odds(raw))
        labels.append(batch.label)
    return finite(torch.cat(scores)), torch.cat(labels).cpu().numpy()


def _scored(method: LLPMethod, batches: Iterable[Any]) -> Iterator[tuple[Any, Tensor]]:
    """Batches with the raw scores (n,) of their instances; a signal ends the process between two of them."""
    method.eval()
    with signals.deferred():
        for batch in batches:
            signals.exit_if_received()
            yield batch, method.score(batch.categorical.to(method.device), batch.numeric.to(method.device))
    method.train()


def finite(scores: Tensor) -> NDArray[np.float32]:
    """Scores of test rows in the host's memory; FloatingPointError where one of them is not finite."""
    if not all_finite(scores := scores.float()):
        raise FloatingPointError("the scores of the test rows are not finite")
    return scores.cpu().numpy()
