"""Three optimizer steps of the benchmark authors' networks: forward pass, loss, gradient and weights.

Keras' Adam adds its epsilon outside the bias correction; its formula is written out here.
"""

import json
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from llp.data.batch import BagBatch
from llp.methods.dllp import DLLP
from llp.methods.mean_map import MeanMap
from llp.methods.ot import OTLLP
from llp.models.embedding_mlp import EmbeddingMLP
from llp.models.linear import Linear
from llp.models.mlp import MLP

FOLDER = Path(__file__).parent / "golden" / "training"


class Golden(SimpleNamespace):
    """One file: `meta` and `arrays`."""

    @property
    def initial(self):
        return self.tensors("init")

    @property
    def final(self):
        return self.tensors("final")

    def tensors(self, prefix):
        names = [f"{prefix}_{i}" for i in range(len(self.meta["weights"]))]
        return [torch.from_numpy(self.arrays[name]) for name in names if name in self.arrays]


def load(name):
    meta, arrays = json.loads((FOLDER / f"{name}.json").read_text()), np.load(FOLDER / f"{name}.npz")
    return Golden(meta=meta, arrays=dict(arrays))


def layers(model, golden):
    """The model's weights in the golden order: transposed views where Keras' kernels are [in, out]."""
    if golden.meta["model"] == "mean_map":
        return [model.first.weight, model.first.bias]
    dense = [model.body[1].weight.T, model.body[1].bias, model.score.weight.T, model.score.bias]
    if golden.meta["model"] == "CustomModelRegression":
        tables = list(model.embedding.split(golden.meta["vocab_sizes"]))
        return [*tables, model.first.weight.T, model.first.bias, *dense]
    first = [model.first.weight, model.first.bias]
    return [*dense[2:], *first, *dense[:2]] if golden.meta["model"] == "custom" else [*first, *dense]


def build(golden):
    """The model with the golden initial weights; multi-hot models get one code more, for repeated codes."""
    meta = golden.meta
    if meta["model"] == "CustomModelRegression":
        model = EmbeddingMLP(vocab_sizes=meta["vocab_sizes"], n_numeric=3, embedding_dim=16, hidden=[128, 64])
    elif meta["model"] == "mean_map":
        model = Linear(vocab_sizes=[meta["vocab"]], n_numeric=0, bias=True)
    else:
        model = MLP(vocab_sizes=[meta["vocab"] + 1], n_numeric=0, hidden=[128, 64])
    with torch.no_grad():
        for weight, value in zip(layers(model, golden), golden.initial, strict=True):
            weight[: len(value)].copy_(value)
            weight[len(value) :].zero_()
    return model


def batch_of(golden, step):
    sizes = torch.tensor(golden.meta["steps"][step]["bag_sizes"])
    segment = torch.repeat_interleave(torch.arange(len(sizes)), sizes)
    if golden.meta["model"] == "CustomModelRegression":
        categorical, numeric = (torch.from_numpy(golden.arrays[f"x_{kind}_{step}"]) for kind in ("catg", "numer"))
        label_sum = torch.from_numpy(golden.arrays[f"mean_labels_{step}"]) * sizes
        return BagBatch(categorical.int(), numeric.float(), segment, sizes, label_sum)
    codes = golden.arrays[f"x_{step}"].copy()
    if golden.meta["duplicate_token_in_row"]:  # a code that a row repeats counts once; the extra code weighs nothing
        codes[codes[:, -1] == codes[:, -2], -1] = golden.meta["vocab"]
    label_sum = torch.tensor(golden.meta["steps"][step]["label_counts"]).float()
    return BagBatch(torch.from_numpy(codes).int(), torch.zeros(len(codes), 0), segment, sizes, label_sum)


def method_of(golden):
    shared = {"model": build(golden), "optimizer": partial(torch.optim.SGD, lr=0.0), "label_kind": "binary", "seed": 0}
    name = golden.meta["loss_name"]
    if name == "mean_map":
        method = MeanMap(l2=0.0, **shared)
        method.register_buffer("mean_categorical", torch.from_numpy(golden.arrays["mu_xy"]).float(), persistent=False)
        return method
    if name == "ot_llp":
        return OTLLP(solver="closed_form", **shared)
    shared["label_kind"] = "real" if name.startswith("sscl") else "binary"
    return DLLP(loss=name.rsplit("_", 1)[1], target="proportion", reduction="mean", **shared)


class KerasAdam:
    """p -= lr · √(1 - β₂ᵗ) / (1 - β₁ᵗ) · m / (√v + ε), in float64."""

    def __init__(self, parameters, lr):
        self.lr, self.t, self.parameters = lr, 0, list(parameters)
        self.m = [torch.zeros_like(p, dtype=torch.float64) for p in self.parameters]
        self.v = [torch.zeros_like(p, dtype=torch.float64) for p in self.parameters]

    @torch.no_grad()
    def step(self):
        self.t += 1
        rate = self.lr * (1 - 0.999**self.t) ** 0.5 / (1 - 0.9**self.t)
        for p, m, v in zip(self.parameters, self.m, self.v, strict=True):
            m.lerp_(p.grad.double(), 1 - 0.9)
            v.lerp_(p.grad.double() ** 2, 1 - 0.999)
            p -= (rate * m / (v.sqrt() + 1e-7)).to(p.dtype)
            p.grad = None


def close(found, expected, tolerance):
    """Largest difference within `tolerance` of the largest expected entry."""
    found = found[: len(expected)].detach()
    assert float((found - expected).abs().max()) <= tolerance * float(expected.abs().max())


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.json")))
def test_three_steps(name):
    golden = load(name)
    method = method_of(golden)
    optimizer = KerasAdam(method.model.parameters(), golden.meta["lr"])
    for step, expected in enumerate(golden.meta["steps"]):
        batch = batch_of(golden, step)
        scores = method(batch.categorical, batch.numeric)
        linear_output = golden.meta["model"] in ("mean_map", "CustomModelRegression")
        prediction = scores if linear_output else torch.sigmoid(scores)
        np.testing.assert_allclose(prediction.detach(), golden.arrays[f"y_pred_{step}"], rtol=2e-4, atol=2e-6)
        loss = method.bag_loss(scores, batch)
        assert loss.item() == pytest.approx(expected["loss_before_update"], rel=1e-4)
        loss.backward()
        if step == 0:
            gradients = build(golden)  # a second model carries the gradients, to be read in the golden order
            for holder, weight in zip(gradients.parameters(), method.model.parameters(), strict=True):
                holder.data = weight.grad.clone()
            for found, value in zip(layers(gradients, golden), golden.tensors("grad0"), strict=False):
                close(found, value, 1e-3)
        if golden.meta.get("duplicate_token_in_row"):
            method.model.first.weight.grad[golden.meta["vocab"] :] = 0  # the extra code never weighs anything
        optimizer.step()
    for found, start, end in zip(layers(method.model, golden), golden.initial, golden.final, strict=True):
        close(found[: len(start)] - start, end - start, 2e-3)
