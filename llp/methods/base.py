"""LLPMethod: what every method shares. A method adds its loss."""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import lightning as L
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from llp.data.batch import BagBatch
from llp.data.table import LabelKind
from llp.metrics.on_device import epoch_measures
from llp.ops.segment import segment_mean
from llp.seeding import keyed_seed

OptimizerFactory = Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]


class LLPMethod(L.LightningModule):
    """A model, an optimizer and a loss on minibatches of bags.

    A subclass writes `bag_loss(scores, batch)`. Whatever it needs of the whole train split it takes in `setup`
    from `self.trainer.datamodule` (`table`, `train_bags`); the pooled label mean p is `self.label_mean`.

    Parameters
    ----------
    model : nn.Module
        Maps (categorical, numeric) to raw scores z (n,).
    optimizer : callable
        Builds the optimizer from the model's parameters.
    label_kind : {'binary', 'real'}
        Kind of the labels: h = sigmoid(z) or h = z.
    seed : int
        The run's seed, for `generator`.

    Attributes
    ----------
    static_shape : bool
        Whether a training step may be recorded once and replayed on minibatches that are filled up to one n (see
        `BagBatch`): `batch_loss` is that of the bags alone, no operation waits for the device or reads the host's
        memory, all shapes follow from n and M, and what lasts from step to step are tensors changed in place.
    """

    static_shape: ClassVar[bool] = False
    sees_instance_labels: ClassVar[bool] = False
    trains: ClassVar[bool] = True

    def __init__(self, *, model: nn.Module, optimizer: OptimizerFactory, label_kind: LabelKind, seed: int) -> None:
        super().__init__()
        self.model = model
        self.make_optimizer = optimizer
        self.label_kind = label_kind
        self.seed = seed
        self.label_mean = float("nan")
        self.take_steps: Callable[[Any], None] | None = None  # how a chunk of minibatches is trained on, if in chunks
        self.generators: dict[str, torch.Generator] = {}
        self.running_sums = torch.zeros(3, dtype=torch.float64)  # of an epoch: loss, bag error, bags
        self.steps_taken = 0  # since training began; part of a checkpoint
        self._n_summed = 0

    @abstractmethod
    def bag_loss(self, scores: Tensor, batch: BagBatch) -> Tensor:
        """Loss of a minibatch of bags: a scalar from raw scores z (n,)."""

    def forward(self, categorical: Tensor, numeric: Tensor) -> Tensor:
        """Raw scores z (n,) of categorical (n, Fc) int32 and numeric (n, Fn)."""
        scores: Tensor = self.model(categorical, numeric)
        return scores

    def predict(self, scores: Tensor) -> Tensor:
        """Predictions h of raw scores z: sigmoid(z) for binary labels, z itself for real ones."""
        return torch.sigmoid(self.log_odds(scores)) if self.label_kind == "binary" else scores

    def log_odds(self, scores: Tensor) -> Tensor:
        """Log-odds of the prediction from raw scores z (binary labels): z itself, unless the method says otherwise."""
        return scores

    def generator(self, purpose: str) -> torch.Generator:
        """Give the generator for this step's draws of one purpose, at the start of its draws.

        It is one object per purpose for the whole run: a CUDA graph holds on to it, and is replayed after `reseed`.
        """
        if purpose not in self.generators:
            self.generators[purpose] = torch.Generator(self.device)
        if not (self.device.type == "cuda" and torch.cuda.is_current_stream_capturing()):
            self._seed_for_step(purpose)
        return self.generators[purpose]

    def reseed(self) -> None:
        """Set every generator to the start of this step's draws."""
        for purpose in self.generators:
            self._seed_for_step(purpose)

    def _seed_for_step(self, purpose: str) -> None:
        seed = keyed_seed(self.seed, purpose, self.current_epoch, self.steps_taken)
        self.generators[purpose].manual_seed(seed)

    def start_from(self, trained: nn.Module) -> None:
        """Take over the model that the method's first stage trained: go on from its weights."""
        self.model.load_state_dict(trained.state_dict())

    def setup(self, stage: str) -> None:
        """Take what the loss needs of the whole train split."""
        self.label_mean = self.trainer.datamodule.train_bags.label_mean  # type: ignore[attr-defined]

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Build the optimizer over the model's parameters."""
        return self.make_optimizer(self.model.parameters())

    # ---- training: sums stay on the device, so that no step waits for the device

    def on_train_epoch_start(self) -> None:
        """Begin the epoch's sums, in the same memory on the device in every epoch."""
        self.running_sums = self.running_sums.to(self.device).zero_()
        self._n_summed = 0
        # for a model with dropout or the like, which draws from torch's own generator: no checkpoint holds its state
        torch.manual_seed(keyed_seed(self.seed, "torch's own generator", self.current_epoch))

    def training_step(self, batch: Any, batch_idx: int) -> Tensor | None:
        """Loss of one minibatch; or train on a chunk of them, without Lightning's help."""
        if self.take_steps is not None:
            self.take_steps(batch)
            return None
        self._n_summed += 1
        return self.minibatch_loss(batch)

    def on_train_batch_end(self, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Tell the method that the optimizer has taken its step; in chunks the step itself does."""
        if self.take_steps is None:
            self.after_step()
            self.steps_taken += 1

    def after_step(self) -> None:
        """Change state that the next step's loss depends on, in place; called once a minibatch's step is taken.

        A method that overrides Lightning's own hooks of a step instead never trains on chunks (`llp.training.chunks`).
        """

    def minibatch_loss(self, batch: Any) -> Tensor:
        """Loss of one minibatch, which is added to the epoch's sums."""
        loss = self.batch_loss(batch)
        self.running_sums[0].add_(loss.detach())
        return loss

    def count_step(self) -> None:
        """Count a step that was taken without Lightning's help."""
        self._n_summed += 1
        self.steps_taken += 1

    def get_extra_state(self) -> dict[str, int]:
        """What goes into a checkpoint beside the weights and buffers."""
        return {"steps_taken": self.steps_taken}

    def set_extra_state(self, state: dict[str, int]) -> None:
        """Take over the state of a checkpoint."""
        self.steps_taken = state["steps_taken"]

    def batch_loss(self, batch: Any) -> Tensor:
        """Loss of one minibatch of bags; the bag-level error is counted beside it."""
        scores = self(batch.categorical, batch.numeric)
        self._count_bag_error(scores.detach(), batch)
        return self.bag_loss(scores, batch)

    def _count_bag_error(self, scores: Tensor, batch: BagBatch) -> None:
        mean_prediction = segment_mean(self.predict(scores), batch.segment, batch.size)
        self.running_sums[1].add_((mean_prediction - batch.label_proportion).abs().sum())
        self.running_sums[2].add_(len(batch.size))

    def epoch_sums(self) -> dict[str, float]:
        """Train loss per minibatch of the epoch, and the mean of |α - h̄| over its bags (NaN without bags)."""
        loss, error, bags = self.running_sums.tolist()
        train_loss = loss / self._n_summed if self._n_summed else float("nan")  # a training_step of one's own sums none
        return {"train_loss": train_loss, "bag_error": error / bags if bags else float("nan")}

    def log(self, *args: Any, **kwargs: Any) -> None:
        """Log a value as Lightning does; an epoch's is the mean over its minibatches, in chunks or not."""
        if kwargs.get("batch_size") is None:
            kwargs["batch_size"] = 1  # Lightning would take the length of whatever tensor it finds in the batch
        super().log(*args, **kwargs)

    # ---- evaluation of an epoch: on the test rows, or on what is held out of the train rows

    def on_validation_epoch_start(self) -> None:
        """Begin collecting."""
        self._scores: list[Tensor] = []
        self._labels: list[Tensor] = []
        self._held_out: list[Tensor] = []

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        """Collect scores and labels of test rows, or losses of held-out bags (or instances)."""
        scores = self(batch.categorical, batch.numeric)
        if self.trainer.datamodule.protocol == "holdout":  # type: ignore[attr-defined]
            self._held_out.append(self.held_out_loss(scores, batch))
        else:
            self._scores.append(self.log_odds(scores))
            self._labels.append(batch.label)

    def held_out_loss(self, scores: Tensor, batch: Any) -> Tensor:
        """Loss of each held-out bag (M,), whatever the training loss: log loss (binary) or squared error (real)."""
        prediction = segment_mean(self.predict(scores), batch.segment, batch.size)
        if self.label_kind == "real":
            return torch.square(prediction - batch.label_proportion)
        # float32 cannot resolve 1 - h near 1, so compute in float64; the cross-entropy refuses NaN, on a GPU for good
        h = prediction.double().clamp(1e-12, 1 - 1e-12)
        loss = F.binary_cross_entropy(h.nan_to_num(0.5), batch.label_proportion.double(), reduction="none")
        return torch.where(h.isnan(), h, loss)

    def on_validation_epoch_end(self) -> None:
        """Log the epoch's measures: held_out_loss, or test_auc / test_mse and what goes with it.

        Raises
        ------
        FloatingPointError
            A held-out loss or a score is not finite.
        """
        if self._held_out:
            held_out_loss = torch.cat(self._held_out).double().mean().item()
            if not math.isfinite(held_out_loss):
                raise FloatingPointError(f"the held-out loss is {held_out_loss}")
            self.log("held_out_loss", held_out_loss)
            return
        scores = torch.cat(self._scores)
        if not torch.isfinite(scores).all():
            raise FloatingPointError("the scores of the test rows are not finite")
        measures = epoch_measures(scores, torch.cat(self._labels), self.label_kind)
        for name, value in measures.items():
            self.log(f"test_{name}", value)
