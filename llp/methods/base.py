"""LLPMethod: what every method shares. A method adds its loss."""

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from llp import methods
from llp.data.batch import BagBatch
from llp.data.on_device import Chunk
from llp.data.table import LabelKind
from llp.data.train_split import TrainSplit
from llp.errors import InputError
from llp.methods.epoch_means import EpochMeans
from llp.methods.returned import check_loss, check_scores
from llp.models.label_start import begun, label_start_of
from llp.ops.bce import bag_log_loss
from llp.ops.segment import segment_mean
from llp.seeding import keyed_seed

if TYPE_CHECKING or not methods.SCORES_ONLY:
    from lightning import LightningModule
else:
    from torch.nn import Module as LightningModule

RAREST = 1e-4
"""Least probability, of either class, at which the scores of binary labels start."""

OptimizerFactory = Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]


class LLPMethod(LightningModule):
    """A model, an optimizer and a loss on minibatches of bags.

    A subclass writes `bag_loss(scores, batch)`. Whatever else it needs of the whole train split it takes in
    `take_train_split`; the pooled label mean p is `self.label_mean`.

    Training sees real labels in the unit of `llp.data.label_unit`, with mean 0 and a spread of about 1, and so do the
    scores z of `forward`; `score` gives them in the labels' own unit. Scores of binary labels start at the logit of p.

    Parameters
    ----------
    model : nn.Module
        Maps (categorical, numeric) to raw scores z (n,).
    optimizer : callable
        Builds the optimizer from the model's parameters.
    label_kind : {'binary', 'real'}
        Kind of the labels: h = sigmoid(z) or h = z.
    seed : int
        Of the run's draws on its fold, for `generator`.

    Raises
    ------
    InputError
        The class has no loss.

    Attributes
    ----------
    own_means : tuple of str
        Names of what a method adds to `self.epoch_means` beside the loss: their means over an epoch are in its curve.
    labels_as_given : bool
        Whether training sees real labels in their own unit, and scores start where the model has them.
    sees_instance_labels, own_labels : bool
        Whether it is trained on single instances with labels; whether these are its first stage's predictions.
    groups_bags : bool
        Whether the loss groups the bags of a minibatch in their order, which is drawn again in every epoch.
    trains, solves : bool
        Whether steps on minibatches find the model's weights; whether `take_train_split` does, at once.
    """

    own_means: ClassVar[tuple[str, ...]] = ()
    labels_as_given: ClassVar[bool] = False
    sees_instance_labels: ClassVar[bool] = False
    own_labels: ClassVar[bool] = False
    groups_bags: ClassVar[bool] = False
    trains: ClassVar[bool] = True
    solves: ClassVar[bool] = False

    def __init__(self, *, model: nn.Module, optimizer: OptimizerFactory, label_kind: LabelKind, seed: int) -> None:
        super().__init__()
        losses = ("bag_loss", "batch_loss", "training_step")
        if self.trains and all(getattr(type(self), name) is getattr(LLPMethod, name) for name in losses):
            raise InputError(
                f"Invalid method class {type(self).__name__}: expected a loss, bag_loss(scores, batch), or no training"
            )
        self.model = model
        self.make_optimizer = optimizer
        self.label_kind = label_kind
        self.seed = seed
        self.label_mean = float("nan")
        self.label_scale = 1.0  # of the unit in which training sees real labels
        self.epoch_means = EpochMeans(("train_loss", "bag_error", *self.own_means))
        self.facts: dict[str, Any] = {}  # for the record: what the method chose by itself
        self.holds_constant = False  # a part of the loss, as pseudo-labels: the gradient is not its derivative
        self.steps_taken = 0  # since training began; part of a checkpoint

    @classmethod
    def learns_from_bags(cls) -> bool:
        """Whether its steps are on minibatches of bags."""
        return cls.trains and not cls.sees_instance_labels

    def bag_loss(self, scores: Tensor, batch: BagBatch) -> Tensor:
        """Loss of a minibatch of bags: a scalar from raw scores z (n,).

        With `sees_instance_labels` the minibatch is an `InstanceBatch`.
        """
        raise NotImplementedError(f"{type(self).__name__} has no bag_loss(scores, batch)")

    def forward(self, categorical: Tensor, numeric: Tensor) -> Tensor:
        """Raw scores z (n,) of categorical (n, Fc) int32 and numeric (n, Fn), as training takes them."""
        scores: Tensor = self.model(categorical, numeric)
        check_scores(scores, self.model)
        return self.started(scores)

    def started(self, scores: Tensor) -> Tensor:
        """Raw scores z (n,) from what the model gives (n,)."""
        return begun(self.model, scores) if self.label_kind == "binary" else scores

    def score(self, categorical: Tensor, numeric: Tensor) -> Tensor:
        """Raw scores z (n,) in the labels' own unit."""
        scores: Tensor = self(categorical, numeric)
        return scores if self.label_kind == "binary" else begun(self.model, scores)

    def predict(self, scores: Tensor) -> Tensor:
        """Predictions h of raw scores z: sigmoid(z) for binary labels, z itself, in its unit, for real ones."""
        return torch.sigmoid(self.log_odds(scores)) if self.label_kind == "binary" else scores

    def log_odds(self, scores: Tensor) -> Tensor:
        """Log-odds of the prediction from raw scores z (binary labels): z itself, unless the method says otherwise."""
        return scores

    def generator(self, purpose: str) -> torch.Generator:
        """Give the generator for this step's draws of one purpose, at the start of its draws."""
        seed = keyed_seed(self.seed, purpose, self.current_epoch, self.steps_taken)
        return torch.Generator(self.device).manual_seed(seed)

    def start_from(self, trained: nn.Module) -> None:
        """Take over the model that the method's first stage trained, with its weights."""
        self.model.load_state_dict(trained.state_dict())

    def check_columns(self, names: list[str]) -> None:
        """Refuse an option that names other columns than the table's categorical ones; called before any work."""

    def take_train_split(self, split: TrainSplit) -> None:
        """Take what the loss needs of the whole train split; called once, before training and on the CPU."""
        self.label_mean = split.label_mean

    def take_start(self, split: TrainSplit) -> None:
        """Begin at the pooled label mean: for a model that has a `LabelStart`; called before training."""
        start = label_start_of(self.model)
        if start is None or self.labels_as_given:
            return
        mean = min(max(split.label_mean, RAREST), 1 - RAREST)  # of noisy sums it may lie outside
        offset = self.score_of(mean) if self.label_kind == "binary" else split.unit.mean
        start.offset.fill_(offset)
        start.scale.fill_(split.unit.scale)
        self.label_scale = split.unit.scale

    def score_of(self, prediction: float) -> float:
        """Raw score of a prediction (binary labels)."""
        return math.log(prediction) - math.log1p(-prediction)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Build the optimizer over the model's parameters."""
        return self.make_optimizer(self.model.parameters())

    # ---- training

    def on_train_epoch_start(self) -> None:
        """Begin the epoch's means."""
        self.epoch_means.begin()
        # for a model with dropout or the like, which draws from torch's own generator: no checkpoint holds its state
        torch.manual_seed(keyed_seed(self.seed, "torch's own generator", self.current_epoch))

    def training_step(self, batch: Any, batch_idx: int) -> Tensor | None:
        """Loss of one minibatch; or, without Lightning's help, a whole step on each minibatch of a chunk."""
        if not isinstance(batch, Chunk):
            return self.minibatch_loss(batch)
        for minibatch in batch:
            self.take_step(self.trainer.optimizers[0], minibatch)
        return None

    def on_train_batch_end(self, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Count the step that the optimizer has taken; in chunks the step itself does."""
        if not isinstance(batch, Chunk):
            self._count_step()

    def take_step(self, optimizer: torch.optim.Optimizer, batch: Any) -> None:
        """Take one whole training step on a minibatch."""
        optimizer.zero_grad()
        self.minibatch_loss(batch).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        self._count_step()

    def _count_step(self) -> None:
        self.after_step()
        self.steps_taken += 1

    def after_step(self) -> None:
        """Change state that the next step's loss depends on, in place; called once a minibatch's step is taken.

        A method that overrides Lightning's own hooks of a step instead never trains on chunks (`llp.training.place`).
        """

    def minibatch_loss(self, batch: Any) -> Tensor:
        """Loss of one minibatch, which counts in the epoch's mean."""
        loss = self.batch_loss(batch)
        check_loss(loss, self)
        self.epoch_means.add("train_loss", loss.detach(), 1)
        return loss

    def get_extra_state(self) -> dict[str, int]:
        """State for a checkpoint, beside the weights and buffers."""
        return {"steps_taken": self.steps_taken}

    def set_extra_state(self, state: dict[str, int]) -> None:
        """Take over the state of a checkpoint."""
        self.steps_taken = state["steps_taken"]

    def batch_loss(self, batch: Any) -> Tensor:
        """Loss of one minibatch of bags; the bag-level error is counted beside it."""
        scores, penalty = self.scores_and_penalty(batch)
        if not self.sees_instance_labels:
            self._count_bag_error(scores.detach(), batch)
        loss = self.bag_loss(scores, batch)
        return loss if penalty is None else loss + penalty

    def scores_and_penalty(self, batch: BagBatch) -> tuple[Tensor, Tensor | None]:
        """Give raw scores z (n,), and what a method adds to `bag_loss` that needs more than them; None: nothing."""
        return self(batch.categorical, batch.numeric), None

    def _count_bag_error(self, scores: Tensor, batch: BagBatch) -> None:
        mean_prediction = segment_mean(self.predict(scores), batch.segment, batch.size)
        error = self.label_scale * (mean_prediction - batch.label_proportion).abs().sum()
        self.epoch_means.add("bag_error", error, len(batch.size))

    def log(self, *args: Any, **kwargs: Any) -> None:
        """Log a value as Lightning does; an epoch's is the mean over its minibatches, in chunks or not."""
        if kwargs.get("batch_size") is None:
            kwargs["batch_size"] = 1  # Lightning would take the length of whatever tensor it finds in the batch
        super().log(*args, **kwargs)

    # ---- evaluation: `llp.training.evaluation` makes an epoch's measures of these

    def validation_step(self, batch: Any, batch_idx: int) -> Tensor:
        """Raw scores z (n,) of a batch of test rows, or of held-out bags (or instances), in the labels' own unit."""
        return self.score(batch.categorical, batch.numeric)

    def held_out_loss(self, scores: Tensor, batch: Any) -> Tensor:
        """Loss of each held-out bag (M,), whatever the training loss: log loss (binary) or squared error (real).

        Of an `InstanceBatch`, loss of each instance (n,).
        """
        prediction, target = self.predict(scores), batch.label if self.sees_instance_labels else batch.label_proportion
        if not self.sees_instance_labels:
            prediction = segment_mean(prediction, batch.segment, batch.size)
        if self.label_kind == "real":
            return torch.square(prediction - target)
        return bag_log_loss(target, prediction)
