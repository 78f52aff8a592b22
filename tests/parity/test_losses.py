"""Every loss against the values and gradients of the benchmark authors' code.

The files hold predictions y_pred; the methods work from raw scores. For binary labels z = logit(y_pred), so
dL/dz = dL/dy_pred · y_pred (1 - y_pred). Keras' cross-entropy clips its predictions and adds 1e-7 inside the
logarithms: where a loss is made of it, the labels and weights are compared themselves, and the value through Keras'
form, written out here.
"""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.special import logit

from llp.data.batch import BagBatch
from llp.methods.dllp import DLLP
from llp.methods.easy_llp import EasyLLP, drawn_instances
from llp.methods.genbags import blocks_of, genbags_loss
from llp.methods.mean_map import mean_map_loss
from llp.methods.sim_llp import pair_weights, similarity_loss
from llp.models.linear import Linear
from llp.ops.bce import mean_instance_bce
from llp.ops.debiasing import surrogate_label
from llp.ops.segment import segment_mean, segment_sum
from llp.ops.transport import entropic_labels, transport_labels

FOLDER = Path(__file__).parent / "golden" / "losses"
SATURATED = "saturated_0_and_1"


def load(name):
    return json.loads((FOLDER / f"{name}.json").read_text())


def cases(*names):
    """The cases of some files as parameters (file's content, case)."""
    files = [load(name) for name in names]
    return pytest.mark.parametrize(
        ("golden", "case"),
        [pytest.param(file, case, id=f"{case['id']}-{case['category']}") for file in files for case in file["cases"]],
    )


def is_real(golden):
    return golden["name"].startswith("sscl")


def batch_of(golden, case):
    sizes = torch.tensor(case["bag_sizes"])
    label_sum = torch.tensor(case["mean_labels"]) * sizes if is_real(golden) else torch.tensor(case["label_counts"])
    n = int(sizes.sum())
    segment = torch.repeat_interleave(torch.arange(len(sizes)), sizes)
    return BagBatch(torch.zeros(n, 1, dtype=torch.int32), torch.zeros(n, 0), segment, sizes, label_sum.double())


def scores_of(golden, case):
    """Raw scores (float64) whose predictions are the case's; ±1e4 for predictions of exactly 0 and 1."""
    prediction = np.array(case["y_pred"], np.float64)
    z = prediction if is_real(golden) else np.clip(logit(prediction), -1e4, 1e4)
    return torch.tensor(z, requires_grad=True)


def expected_gradient(golden, case, name="grad_y_pred"):
    """The golden gradient with respect to the raw scores."""
    gradient, prediction = np.array(case[name], np.float64), np.array(case["y_pred"], np.float64)
    return gradient if is_real(golden) else gradient * prediction * (1 - prediction)


def check(loss, scores, value, gradient, *, rtol=1e-5, gradient_rtol=1e-4):
    """The value within rtol (+ 1e-6), the gradient within gradient_rtol of its largest entry."""
    loss.backward()
    assert loss.item() == pytest.approx(value, rel=rtol, abs=1e-6)
    np.testing.assert_allclose(scores.grad, gradient, rtol=0, atol=gradient_rtol * np.abs(gradient).max() + 1e-12)


def check_exact_match(loss, scores, case, *, absolute):
    """Zero residuals: no loss, and no gradient but float32 noise of the case's numbers in `absolute`'s subgradient."""
    assert case["loss"] == 0
    loss.backward()
    assert loss.item() == pytest.approx(0, abs=1e-6)
    sizes = np.array(case["bag_sizes"])
    bound = np.repeat(1 / (len(sizes) * sizes), sizes) if absolute else 1e-4
    assert (np.abs(scores.grad.numpy()) <= bound * (1 + 1e-12)).all()


def finite(loss, scores):
    loss.backward()
    return bool(torch.isfinite(loss)) and bool(torch.isfinite(scores.grad).all())


def keras_bce(label, prediction):
    """Keras' cross-entropy of each entry in float32, as it is: with its clip and its epsilon."""
    epsilon, one = np.float32(1e-7), np.float32(1)
    p = np.clip(np.asarray(prediction, np.float32), epsilon, one - epsilon)
    label = np.asarray(label, np.float32)
    return -(label * np.log(p + epsilon) + (one - label) * np.log(one - p + epsilon))


def bag_means(values, case):
    return np.array([part.mean() for part in np.split(values, np.cumsum(case["bag_sizes"])[:-1])])


# ---- DLLP


@cases("dllp_bce", "dllp_mse", "dllp_graph_bce", "dllp_graph_mse", "sscl_dllp_mse", "sscl_dllp_mae")
def test_dllp(golden, case):
    method = DLLP(
        loss=golden["name"].rsplit("_", 1)[1], target="proportion", reduction="mean", model=torch.nn.Identity(),
        optimizer=partial(torch.optim.SGD, lr=1.0), label_kind="real" if is_real(golden) else "binary", seed=0,
    )  # fmt: skip
    scores = scores_of(golden, case)
    loss = method.bag_loss(scores, batch_of(golden, case))
    if case["category"] == "exact_match":
        check_exact_match(loss, scores, case, absolute=method.loss == "mae")
        return
    check(loss, scores, case["loss"], expected_gradient(golden, case))


# ---- GenBags


@cases("genbags", "sscl_genbags")
def test_genbags(golden, case):
    scores, batch = scores_of(golden, case), batch_of(golden, case)
    weights = torch.tensor(case["weights"], dtype=torch.float64)  # blocks × draws × bags of a block
    if is_real(golden):
        residual = segment_mean(scores, batch.segment, batch.size) - batch.label_proportion
    else:
        residual = segment_sum(torch.sigmoid(scores), batch.segment, len(batch.size)) - batch.label_sum
    block, sizes = blocks_of(len(batch.size), weights.shape[2], scores.device)
    loss = genbags_loss(residual, weights.transpose(1, 2).flatten(0, 1), block, len(sizes))
    if case["category"] == "exact_match":
        check_exact_match(loss, scores, case, absolute=False)
        return
    check(loss, scores, case["loss"], expected_gradient(golden, case), rtol=1e-4)


# ---- Easy-LLP


@cases("easy_llp")
def test_easy_llp(golden, case):
    scores, batch = scores_of(golden, case), batch_of(golden, case)
    label = surrogate_label(batch.label_proportion, batch.size, case["p"])
    drawn = (torch.cumsum(batch.size, 0) - batch.size).numpy() + case["sampled_index_in_bag"]
    prediction = np.array(case["y_pred"])[drawn]
    keras = label.numpy() * keras_bce(1, prediction) + (1 - label.numpy()) * keras_bce(0, prediction)
    assert keras.sum() == pytest.approx(case["loss"], rel=1e-5, abs=1e-6)

    method = EasyLLP(
        estimator="single", clip=1e-7, model=torch.nn.Identity(), optimizer=partial(torch.optim.SGD, lr=1.0),
        label_kind="binary", seed=0,
    )  # fmt: skip
    method.label_mean = case["p"]
    uniform = (torch.tensor(case["sampled_index_in_bag"]) + 0.5) / batch.size
    assert drawn_instances(uniform, batch.size).tolist() == drawn.tolist()
    ones = torch.ones_like(batch.size)
    loss = mean_instance_bce(scores[drawn].clamp(-method.bound, method.bound), label, batch.segment[drawn], ones).sum()
    check_cross_entropy(loss, scores, golden, case)


def check_cross_entropy(loss, scores, golden, case):
    """A logit form against Keras' clipped one: close away from the ends, finite at them."""
    category = case["category"]
    if category == SATURATED:
        assert finite(loss, scores)
    elif category == "near_0_and_1":
        loss.backward()
        assert loss.item() == pytest.approx(case["loss"], rel=2e-3)  # at 1e-6 Keras' added 1e-7 is a tenth of p
        prediction, gradient = np.array(case["y_pred"]), expected_gradient(golden, case)
        inside = prediction * (1 - prediction) > 1e-4  # nearer to the ends 1e-7 is a share of the prediction itself
        difference = np.abs(scores.grad.numpy() - gradient)[inside]
        assert difference.max() <= 1e-2 * np.abs(gradient).max()
    else:
        check(loss, scores, case["loss"], expected_gradient(golden, case), rtol=1e-4, gradient_rtol=1e-3)


# ---- OT-LLP and EROT-LLP


@cases("ot_llp")
def test_ot_llp(golden, case):
    scores, batch = scores_of(golden, case), batch_of(golden, case)
    labels = transport_labels(scores, batch.segment, batch.size, batch.label_sum)
    counts = segment_sum(labels, batch.segment, len(batch.size))
    assert counts.tolist() == case["label_counts"]
    loss = mean_instance_bce(scores, labels, batch.segment, batch.size).sum()
    if case["n_pseudo_positive_per_bag"] != case["label_counts"]:
        # The authors' code marks every instance that ties with the y_B-th highest one, so a bag gets more positives
        # than it has. Exactly y_B, the first of the ties, is right; the others differ from it by ties alone.
        theirs = np.array(case["pseudo_labels"])
        assert ((labels.numpy() == 1) <= (theirs == 1)).all()
        assert finite(loss, scores)
        return
    np.testing.assert_array_equal(labels, case["pseudo_labels"])
    keras = bag_means(keras_bce(labels.numpy(), np.array(case["y_pred"])), case).sum()
    assert keras == pytest.approx(case["loss"], rel=1e-5, abs=1e-6)
    check_cross_entropy(loss, scores, golden, case)


@cases("soft_erot", "hard_erot")
def test_erot(golden, case):
    scores, batch = scores_of(golden, case), batch_of(golden, case)
    soft = entropic_labels(scores, batch.segment, batch.size, batch.label_sum, reg=golden["reg"])
    mean = segment_mean(soft, batch.segment, batch.size)
    np.testing.assert_allclose(mean, batch.label_proportion, atol=1e-6)
    hard = golden["name"] == "hard_erot"
    labels = (soft > 0.5).double() if hard else soft
    loss = mean_instance_bce(scores, labels, batch.segment, batch.size).mean()
    theirs = np.array(case["pseudo_labels"])
    if case["category"] == SATURATED:  # log 0 makes the authors' code NaN here; ours stays finite
        assert np.isnan(theirs).any()
        assert finite(loss, scores)
        return
    # near 0 and 1 their 1,000 iterations do not reach the optimum: columns add to 1.0002, labels are up to 6e-3 off
    near = case["category"] == "near_0_and_1"
    decided = np.abs(soft.numpy() - 0.5) > 1e-4 if hard else np.ones(len(theirs), bool)
    np.testing.assert_allclose(labels.numpy()[decided], theirs[decided], atol=1e-2 if near else 1e-4)
    if not decided.all():  # their hard labels are 0.5 there, by sign(0); ours are 0 or 1
        assert finite(loss, scores)
        return
    keras = bag_means(keras_bce(labels.numpy(), np.array(case["y_pred"])), case).mean()
    assert keras == pytest.approx(case["loss"], rel=1e-3 if near else 1e-4, abs=1e-6)
    check_cross_entropy(loss, scores, golden, case)


@cases("sink")
def test_two_class_plans_are_the_entropic_labels(golden, case):
    """Plans between two classes and equal columns are what `entropic_labels` solves; -M is log P there."""
    del golden
    a, b, M, plan = (np.array(case[name]) for name in ("a", "b", "M", "Q"))
    if len(a) != 2 or not np.allclose(b, b[0]) or case["max_iter"] < 1000:
        pytest.skip("another problem than two classes and equal columns, or cut off before it converged")
    k = len(b)
    scores, size = torch.tensor(M[0] - M[1]), torch.tensor([k])
    labels = entropic_labels(
        scores, torch.zeros(k, dtype=torch.int64), size, torch.tensor([a[1] * k]).double(), reg=case["reg"]
    )
    np.testing.assert_allclose(labels / k, plan[1], rtol=1e-4, atol=1e-7)


# ---- SIM-LLP


@cases("sim_loss", "sscl_sim_loss")
@pytest.mark.parametrize(("form", "weighting"), [("column", "row_mean"), ("flat", "pairwise")])
def test_similarity_with_the_second_sigmoid(golden, case, form, weighting):
    del golden
    prediction = torch.tensor(case["y_pred"], dtype=torch.float64, requires_grad=True)
    weights = pair_weights(torch.tensor(case["x_rep"], dtype=torch.float64), weighting=weighting)
    loss = similarity_loss(torch.sigmoid(prediction), weights)
    check(loss, prediction, case[f"loss_{form}"], np.array(case[f"grad_{form}"]), rtol=1e-4)


@cases("sim_llp", "sscl_sim_llp")
def test_sim_llp(golden, case):
    prediction = torch.tensor(case["y_pred"], dtype=torch.float64, requires_grad=True)
    batch, rows = batch_of(golden, case), torch.tensor(case["sampled_rows"])
    weights = pair_weights(torch.tensor(case["x_rep"], dtype=torch.float64)[rows], weighting="row_mean")
    error = segment_mean(prediction, batch.segment, batch.size) - batch.label_proportion
    loss = similarity_loss(torch.sigmoid(prediction[rows]), weights) + case["lambda"] * torch.square(error).mean()
    check(loss, prediction, case["loss"], np.array(case["grad_y_pred"]), rtol=1e-4)


# ---- Mean-Map


@cases("mean_map_loss")
def test_mean_map_loss(golden, case):
    del golden
    model = Linear(vocab_sizes=[case["vocab"]], n_numeric=0, bias=True).double()
    with torch.no_grad():
        model.first.weight[:, 0] = torch.tensor(case["w"])
        model.first.bias.fill_(case["b"])
    scores = model(torch.tensor(case["x_indices"], dtype=torch.int32), torch.zeros(len(case["x_indices"]), 0))
    scores.retain_grad()
    np.testing.assert_allclose(scores.detach(), case["score"], rtol=1e-5, atol=1e-6)
    mean_score = torch.tensor(case["mu_xy"]).double() @ model.first.weight[:, 0] + model.first.bias[0]
    loss = mean_map_loss(scores, mean_score)
    if case["category"] == "very_large_scores_overflow":  # the authors' log(e^f + e^-f) is infinite; ours is |f|
        assert not np.isfinite(case["loss"])
        expected = np.logaddexp(scores.detach(), -scores.detach()).sum() - len(scores) * mean_score
        assert loss.item() == pytest.approx(expected.item(), rel=1e-9)
        assert finite(loss, scores)
        return
    check(loss, scores, case["loss"], np.array(case["grad_score"]))
    for parameter, name in ((model.first.weight.grad[:, 0], "grad_w"), (model.first.bias.grad, "grad_b")):
        expected = np.atleast_1d(case[name])
        np.testing.assert_allclose(parameter, expected, rtol=0, atol=1e-4 * np.abs(expected).max() + 1e-6)
