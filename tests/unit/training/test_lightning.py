"""What the training relies on in Lightning. After an upgrade a failure here says what has moved, before a run does."""

import lightning as L
import pytest
import torch
from lightning.fabric.plugins import CheckpointIO
from lightning.fabric.plugins.environments.lightning import LightningEnvironment
from lightning.pytorch.callbacks import Callback, Checkpoint, EarlyStopping


class Memory(CheckpointIO):
    """A checkpoint that stays in memory."""

    content = None

    def save_checkpoint(self, checkpoint, path, storage_options=None):
        self.content = {**checkpoint}

    def load_checkpoint(self, path, *args, **kwargs):
        return self.content

    def remove_checkpoint(self, path):
        raise AssertionError


class Told(Callback):
    """Writes down when Lightning calls a callback, and the epoch that it says."""

    HOOKS = ("on_train_epoch_start", "on_train_batch_end", "on_validation_start", "on_validation_batch_end")
    HOOKS += ("on_validation_end", "on_train_epoch_end")

    def __init__(self, told):
        for name in self.HOOKS:
            setattr(self, name, lambda trainer, *_, name=name: told.append((name, trainer.current_epoch)))


class Save(Checkpoint):
    """Saves after epoch 1, and writes down when."""

    def __init__(self, told):
        self.told = told

    def on_train_epoch_end(self, trainer, pl_module):
        self.told.append(("checkpoint", trainer.current_epoch))
        if trainer.current_epoch == 1:
            trainer.save_checkpoint("a path")


class Stopper(EarlyStopping):
    """Writes down when it looks."""

    def on_train_epoch_end(self, trainer, pl_module):
        super().on_train_epoch_end(trainer, pl_module)
        trainer.told.append(("early stopping", trainer.current_epoch))


class Loader:
    """A loader that is no DataLoader, and its own sampler, whose epoch is set."""

    def __init__(self, told, n):
        self.told, self.n, self.sampler = told, n, self

    def set_epoch(self, epoch):
        self.told.append(("set_epoch", epoch))

    def __len__(self):
        return self.n

    def __iter__(self):
        self.told.append(("first minibatch", None))
        yield from torch.ones(self.n, 1, 1)


class Module(L.LightningModule):
    """A weight whose loss is never better than at first."""

    def __init__(self, told, *, automatic):
        super().__init__()
        self.told = told
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.automatic_optimization = automatic

    def get_extra_state(self):
        return {"own": 7}

    def set_extra_state(self, state):
        self.told.append(("own state", state["own"]))

    def train_dataloader(self):
        return Loader(self.told, 2)

    def val_dataloader(self):
        return torch.utils.data.DataLoader(torch.ones(1, 1, 1), batch_size=None)

    def configure_optimizers(self):
        return torch.optim.SGD([self.weight], 0.5)

    def training_step(self, batch, batch_idx):
        self.told.append(("training_step", self.current_epoch))
        return (self.weight * batch).sum() if self.automatic_optimization else None

    def on_train_batch_end(self, outputs, batch, batch_idx):
        self.told.append(("the module's on_train_batch_end", self.current_epoch))

    def validation_step(self, batch, batch_idx):
        return batch

    def on_validation_epoch_end(self):
        self.log("value", 1.0, batch_size=1)


def fit(module, told, plugin, *, max_epochs, ckpt_path=None):
    stopper = Stopper("value", patience=9, check_finite=False)
    trainer = L.Trainer(
        max_epochs=max_epochs, accelerator="cpu", devices=1, callbacks=[Save(told), stopper, Told(told)], logger=False,
        enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0, use_distributed_sampler=False,
        plugins=[LightningEnvironment(), plugin],
    )  # fmt: skip
    trainer.told = told
    trainer.fit(module, ckpt_path=ckpt_path, weights_only=True)
    return trainer, stopper


def of_epoch(number):
    """An epoch's events in their order."""
    batch = ["training_step", "on_train_batch_end", "the module's on_train_batch_end"]
    evaluation = ["on_validation_start", "on_validation_batch_end", "on_validation_end"]
    end = ["on_train_epoch_end", "early stopping", "checkpoint"]
    events = [(name, number) for name in ["set_epoch", "on_train_epoch_start", *batch, *batch, *evaluation, *end]]
    return [*events[:2], ("first minibatch", None), *events[2:]]


@pytest.mark.parametrize("automatic", [True, False])
def test_order_of_an_epoch_and_of_the_first_one_resumed(tmp_path, monkeypatch, automatic):
    """A callback hears of a step before the module; a checkpoint comes last; no minibatch before the epoch is told."""
    monkeypatch.chdir(tmp_path)
    told, memory = [], Memory()
    module = Module(told, automatic=automatic)
    _, stopper = fit(module, told, memory, max_epochs=2)
    assert told == of_epoch(0) + of_epoch(1)
    assert stopper.wait_count == 1
    assert module.weight.item() == (-2.0 if automatic else 0.0)  # it steps by itself, or leaves all steps to us
    assert {"state_dict", "loops", "callbacks", "optimizer_states"} <= memory.content.keys()
    saved = [state for key, state in memory.content["callbacks"].items() if key.startswith("Stopper")]
    assert [state["wait_count"] for state in saved] == [1]  # after its epoch
    told.clear()
    again, stopper = fit(Module(told, automatic=automatic), told, memory, max_epochs=3, ckpt_path="a path")
    assert told == [("own state", 7), *of_epoch(2)]
    assert stopper.wait_count == 2
    assert again.callback_metrics["value"] == 1.0
    assert again.should_stop is False


def test_patience_that_is_used_up_is_told_by_the_trainer(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = []
    module = Module(told, automatic=True)
    stopper = EarlyStopping("value", patience=2, check_finite=False)
    trainer = L.Trainer(
        max_epochs=9, accelerator="cpu", callbacks=[stopper], logger=False, enable_progress_bar=False,
        enable_model_summary=False, num_sanity_val_steps=0, enable_checkpointing=False,
    )  # fmt: skip
    trainer.fit(module)
    assert (trainer.current_epoch, stopper.wait_count, trainer.should_stop) == (3, 2, True)
