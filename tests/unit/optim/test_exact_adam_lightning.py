"""Exact Adam under Lightning's automatic optimization: closures, evaluation, checkpoints."""

import lightning as L
import pytest
import torch
from torch import nn

from llp.optim.exact_adam import ExactAdam
from llp.optim.row_gradient import RowParameter, sum_rows

pytestmark = pytest.mark.run  # trains

SETTINGS = {"lr": 1e-2, "betas": (0.9, 0.999), "eps": 1e-8}
N = 50


class Rows(L.LightningModule):
    def __init__(self, *, exact: bool) -> None:
        super().__init__()
        weight = torch.randn(N, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        self.exact = exact
        self.weight = RowParameter(weight) if exact else nn.Parameter(weight)
        self.seen: list[float] = []

    def loss(self, rows):
        return (torch.tanh(sum_rows(self.weight, rows)).sum(1) - 1).square().mean()

    def training_step(self, batch, batch_idx):
        return self.loss(batch[0])

    def validation_step(self, batch, batch_idx):
        self.seen.append(self.loss(torch.arange(N, dtype=torch.int32)[:, None]).item())

    def configure_optimizers(self):
        return (ExactAdam if self.exact else torch.optim.Adam)(self.parameters(), **SETTINGS)


def fit(module: Rows, epochs: int, folder, ckpt_path=None) -> L.Trainer:
    rows = torch.randint(0, N, (40, 3), dtype=torch.int32, generator=torch.Generator().manual_seed(1))
    trainer = L.Trainer(
        max_epochs=epochs, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, default_root_dir=folder,
    )  # fmt: skip
    data = torch.utils.data.TensorDataset(rows)
    train = torch.utils.data.DataLoader(data, batch_size=2)
    check = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(rows[:1]))
    trainer.fit(module, train, check, ckpt_path=ckpt_path, weights_only=False)
    return trainer


def test_equals_dense_adam_and_goes_on_from_a_checkpoint(tmp_path):
    dense, exact = Rows(exact=False), Rows(exact=True)
    fit(dense, 4, tmp_path)
    fit(exact, 2, tmp_path).save_checkpoint(tmp_path / "half.ckpt")
    resumed, whole = Rows(exact=True), Rows(exact=True)
    fit(resumed, 4, tmp_path, ckpt_path=tmp_path / "half.ckpt")
    fit(whole, 4, tmp_path)
    saved = torch.load(tmp_path / "half.ckpt", weights_only=False)
    assert saved["optimizer_states"][0]["state"][0]["last"].dtype == torch.int32
    for module in (resumed, whole):
        module.weight.catch_up()
        torch.testing.assert_close(module.weight.detach(), dense.weight.detach(), rtol=1e-7, atol=1e-9)
    torch.testing.assert_close(torch.tensor(whole.seen), torch.tensor(dense.seen), rtol=1e-7, atol=1e-9)
    assert whole.seen[-1] < whole.seen[0]
