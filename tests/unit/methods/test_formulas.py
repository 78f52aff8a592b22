"""Every method as its YAML file builds it, with each option's other values, against its formula bag by bag."""

import math

import numpy as np
import pytest
import torch

from llp.conformance.case import MINIBATCHES, TRAIN
from llp.errors import InputError
from llp.methods.genbags import bag_weights, blocks_of
from llp.methods.mean_map import bag_coefficients
from llp.methods.mixbag import draw_mix, mixed_bag_losses
from tests.helpers import formulas
from tests.helpers.every_method import batch_of, prepare

# of pairs of bags one lies on both sides of p, one on one side, and one holds no positive
SIZES, COUNTS = [3, 5, 2, 6, 4, 1, 2, 3, 3], [1.0, 2.0, 0.0, 6.0, 2.0, 1.0, 0.0, 0.0, 2.0]
SUMS = {"binary": COUNTS, "real": [3.0, -2.5, 0.0, 14.0, 2.0, 7.0, 1.0, 4.5, -3.0]}
P = sum(TRAIN["binary"][1]) / sum(TRAIN["binary"][0])
BCE, SQUARED, ABSOLUTE = ({"loss": loss} for loss in ("bce", "mse", "mae"))

# method, options on the command line, formula, what the formula is told
FORMULAS = [
    ("dllp_bce", "", formulas.dllp, BCE),
    ("dllp_bce", "reduction=sum", formulas.dllp, BCE | {"reduction": "sum"}),
    ("dllp_mse", "", formulas.dllp, SQUARED),
    ("dllp_mse", "reduction=sum", formulas.dllp, SQUARED | {"reduction": "sum"}),
    ("dllp_mse", "target=sum", formulas.dllp, SQUARED | {"target": "sum"}),
    ("dllp_mae", "", formulas.dllp, ABSOLUTE),
    ("dllp_mae", "reduction=sum", formulas.dllp, ABSOLUTE | {"reduction": "sum"}),
    ("dllp_mae", "target=sum", formulas.dllp, ABSOLUTE | {"target": "sum"}),
    ("count", "", formulas.count, {}),
    ("debiased", "", formulas.debiased, {}),
    ("debiased", "centre=minibatch", formulas.debiased, {"centre": "minibatch"}),
    ("debiased", "absolute=true", formulas.debiased, {"absolute": True}),
    ("event_level", "", formulas.event_level, {}),
    ("event_level", "rho=0", formulas.dllp, BCE),
    ("event_level", "rho=0.3", formulas.event_level, {"rho": 0.3}),
    ("dsq", "", formulas.dsq, {}),
    ("easy_llp", "", formulas.easy_llp, {}),
    ("easy_llp", "clip=0.3", formulas.easy_llp, {"clip": 0.3}),
    ("easy_llp", "clip=null", formulas.easy_llp, {"clip": None}),
    ("ot_llp", "", formulas.ot_llp, {}),
    ("ot_llp", "solver=pot", formulas.ot_llp, {}),
    ("soft_erot_llp", "", formulas.erot_llp, {"pseudo_labels": "soft"}),
    ("soft_erot_llp", "reg=0.7", formulas.erot_llp, {"pseudo_labels": "soft", "reg": 0.7}),
    ("soft_erot_llp", "solver=pot", formulas.erot_llp, {"pseudo_labels": "soft"}),
    ("hard_erot_llp", "", formulas.erot_llp, {"pseudo_labels": "hard"}),
    ("hard_erot_llp", "solver=pot", formulas.erot_llp, {"pseudo_labels": "hard"}),
    ("rot", "", formulas.rot, {}),
    ("rot", "weight=0.1", formulas.rot, {"weight": 0.1}),
    ("rot", "pseudo_labels=soft", formulas.rot, {"pseudo_labels": "soft"}),
    ("rot", "pseudo_labels=soft solver=pot", formulas.rot, {"pseudo_labels": "soft"}),
    ("rot", "pseudo_labels=soft reg=0.3", formulas.rot, {"pseudo_labels": "soft", "reg": 0.3}),
    ("upm", "", formulas.upm, {}),
    ("upm", "detach=true", formulas.upm, {}),
    ("llp_dc", "", formulas.llp_dc, {}),
    ("llp_dc", "weight=2", formulas.llp_dc, {"weight": 2}),
    ("llp_dc", "threshold=0.9", formulas.llp_dc, {"threshold": 0.9}),
    ("llp_mm", "", formulas.llp_mm, {}),
    ("llp_mm", "max_order=2", formulas.llp_mm, {"max_order": 2}),
    ("llp_mm", "smoothing=0.3", formulas.llp_mm, {"smoothing": 0.3}),
    ("llpfc", "", formulas.llpfc, {}),
    ("llpfc", "noisy_prior=approx", formulas.llpfc, {"noisy_prior": "approx"}),
]
OF_REAL = [
    ("dllp_mse", "", formulas.dllp, SQUARED),
    ("dllp_mae", "", formulas.dllp, ABSOLUTE),
    ("dllp_mse", "target=sum", formulas.dllp, SQUARED | {"target": "sum"}),
    ("event_level", "", formulas.event_level, {}),
    ("event_level", "rho=0", formulas.dllp, SQUARED),
    ("event_level", "rho=0.3", formulas.event_level, {"rho": 0.3}),
]
CASES = [("binary", *case) for case in FORMULAS] + [("real", *case) for case in OF_REAL]


def built(name, options, tables, kind="binary"):
    return prepare(name, kind, tables, torch.float64, [f"method.{option}" for option in options.split()])


def minibatch(tables, kind="binary", sizes=SIZES, counts=COUNTS, seed=0, level=0.2):
    batch = batch_of(tables[kind], sizes, counts)
    scores = torch.from_numpy(np.random.default_rng(seed).normal(0, 1.4, sum(sizes)) + level)
    return batch._replace(label_sum=batch.label_sum.double(), numeric=batch.numeric.double()), scores


def split(values, sizes=SIZES):
    return np.split(np.asarray(values), np.cumsum(sizes)[:-1])


@pytest.mark.parametrize(("kind", "name", "options", "formula", "told"), CASES, ids=[" ".join(c[:3]) for c in CASES])
def test_loss_of_the_yaml_file_is_its_formula(kind, name, options, formula, told, tables):
    method, sums = built(name, options, tables, kind), SUMS[kind]
    # scores by chance, and scores that say what the bags say: there estimates from bags fall below 0
    fitting = np.repeat([4.0 if 2 * y > k else -4.0 for k, y in zip(SIZES, sums, strict=True)], SIZES)
    for level in (0.2, fitting):
        batch, scores = minibatch(tables, kind, counts=sums, level=level)
        expected = formula(split(scores), sums, P, **told, **({"real": True} if kind == "real" else {}))
        assert float(method.bag_loss(scores, batch)) == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(("name", "options", "reg"), [("soft_erot_llp", "", 0.2), ("rot", "pseudo_labels=soft", 1.0)])
def test_soft_labels_carry_no_gradient(name, options, reg, tables):
    method = built(name, options, tables)
    assert method.holds_constant  # so that `llp check` compares no derivatives
    method.weight = 0.0  # of rot's bag loss
    batch, scores = minibatch(tables)
    scores.requires_grad_()
    method.bag_loss(scores, batch).backward()
    bags = zip(split(scores.detach()), COUNTS, strict=True)
    expected = [(formulas.sigmoid(z) - formulas.entropic(z, y / len(z), reg)) / len(z) / len(SIZES) for z, y in bags]
    np.testing.assert_allclose(scores.grad, np.concatenate(expected), atol=1e-7)


def test_a_detached_excess_of_upm_has_no_gradient(tables):
    batch, scores = minibatch(tables)
    built("upm", "detach=true", tables).bag_loss(scores.requires_grad_(), batch).backward()
    h, expected = [formulas.sigmoid(z) for z in split(scores.detach())], []
    for b, (own, y) in enumerate(zip(h, COUNTS, strict=True)):
        excess = np.concatenate(h[:b] + h[b + 1 :]).mean() - P
        expected.append(-2 * (y / len(own) - own.mean() + excess) * own * (1 - own) / len(h))
    np.testing.assert_allclose(scores.grad, np.concatenate(expected), atol=1e-9)


@pytest.mark.parametrize("kind", ["binary", "real"])
@pytest.mark.parametrize(
    "options",
    ["", "covariance=reference", "covariance=tetrahedron", "residual=mean", "residual=sum", "block_size=3", "draws=7"],
)
def test_genbags_combines_the_bags_of_its_blocks(options, kind, tables):
    method = built("genbags", options, tables, kind)
    batch, scores = minibatch(tables, kind)
    given = dict(option.split("=") for option in options.split())
    residual = given.get("residual", "sum" if kind == "binary" else "mean")
    covariance = given.get("covariance", "tetrahedron" if kind == "binary" else "reference")
    h = formulas.sigmoid(scores.numpy()) if kind == "binary" else scores.numpy()
    error = np.array([own.sum() - y for own, y in zip(split(h), COUNTS, strict=True)])
    error = error / SIZES if residual == "mean" else error
    shape = (len(SIZES), int(given.get("draws", 60)))
    normal = torch.randn(*shape, generator=method.generator("bag weights"), dtype=torch.float64).numpy()
    expected = formulas.genbags(error, normal, block_size=int(given.get("block_size", 4)), covariance=covariance)
    assert float(method.bag_loss(scores, batch)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("covariance", "diagonal", "off"), [("tetrahedron", 1.0, -1.0), ("reference", 1.001, -0.99)])
@pytest.mark.parametrize("m", [2, 3, 4, 6])
def test_genbags_weights_of_a_block_have_the_published_covariance(covariance, diagonal, off, m):
    """Draws of the identity give a root of it; of four bags "reference" is 1.331 I - 0.33."""
    root = bag_weights(torch.eye(m).double(), *blocks_of(m, m, torch.device("cpu")), covariance=covariance)
    off /= m - 1
    np.testing.assert_allclose(root @ root.T, (diagonal - off) * np.eye(m) + off, atol=1e-12)


@pytest.mark.parametrize("kind", ["binary", "real"])
@pytest.mark.parametrize("options", ["", "squash=sigmoid", "weighting=row_mean", "bag_weight=0.5"])
def test_sim_llp_is_the_similarity_of_pairs_and_the_weighted_bag_loss(options, kind, tables):
    method = built("sim_llp", options, tables, kind)
    method._metric[0].double()
    batch, scores = minibatch(tables, kind)
    given = dict(option.split("=") for option in options.split())
    h = formulas.sigmoid(scores.numpy()) if kind == "binary" else scores.numpy()
    bag_loss = np.mean([(own.mean() - y / len(own)) ** 2 for own, y in zip(split(h), COUNTS, strict=True)])
    compared = formulas.sigmoid(h) if "squash" in given else h
    r = method.representation(batch.categorical, batch.numeric).numpy()
    expected = formulas.similarity(compared, r, weighting=given.get("weighting", "pairwise"))
    expected += float(given.get("bag_weight", 2.0)) * bag_loss
    assert float(method.bag_loss(scores, batch)) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("options", ["", "probability=0.9", "tail=0.3", "band=none", "band=authors_code"])
def test_mixbag_replaces_the_drawn_bags_by_mixed_ones(options, tables):
    method = built("mixbag", options, tables)
    batch, scores = minibatch(tables, sizes=[30, 50, 20, 60], counts=[3.0, 20.0, 19.0, 22.0])
    given = dict(option.split("=") for option in options.split())
    generator = method.generator("mixbag")
    replaced = torch.rand(4, generator=generator).numpy() < float(given.get("probability", 0.5))
    mix = draw_mix(batch, generator)
    how = {"tail": float(given.get("tail", 0.005)), "band": given.get("band", "weighted")}
    mixed, inside = (one.numpy() for one in mixed_bag_losses(scores, batch, mix, **how))
    bags = zip(split(scores, [30, 50, 20, 60]), [3, 20, 19, 22], strict=True)
    own = [formulas.cross_entropy(y / len(z), formulas.sigmoid(z).mean()) for z, y in bags]
    assert replaced.any()
    expected = np.where(replaced, mixed, own).mean()
    assert float(method.bag_loss(scores, batch)) == pytest.approx(expected, rel=1e-6)
    assert method.epoch_means.values()["inside_band"] == pytest.approx(inside[replaced].mean())


@pytest.mark.parametrize("options", ["", "radius=0.5", "weight=3", "ramp_epochs=0", "ramp_epochs=4"])
def test_llp_vat_adds_the_risen_weight_of_the_divergence(options, tables):
    method = built("llp_vat", options, tables)
    batch, _ = minibatch(tables)
    given = dict(option.split("=") for option in options.split())
    method.after_step()
    model = method.model
    layer = model.first_layer(batch.categorical, batch.numeric)
    scores = model.score_from_first_layer(layer)
    (gradient,) = torch.autograd.grad(scores.sum(), layer, retain_graph=True)
    coin = torch.randint(2, (len(scores), 1), generator=method.generator("adversarial direction"))
    direction = (2 * coin - 1) * gradient / gradient.norm(dim=1, keepdim=True)
    length = float(given.get("radius", 0.1)) * layer.square().sum(dim=1).mean().sqrt()
    h = torch.sigmoid(scores)
    moved = torch.sigmoid(model.score_from_first_layer(layer + length * direction))
    divergence = (h * (h / moved).log() + (1 - h) * ((1 - h) / (1 - moved)).log()).mean()
    steps = MINIBATCHES * float(given.get("ramp_epochs", 2.0))
    risen = np.exp(-5 * (1 - min(1, 1 / steps)) ** 2) if steps else 1.0
    expected = formulas.dllp(split(scores.detach()), COUNTS, P, loss="bce")
    expected += float(given.get("weight", 1.0)) * risen * divergence.item()
    assert float(method.batch_loss(batch)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("options", ["", "l2=0.5", "model.bias=true"])
def test_mean_map_is_the_likelihood_given_the_mean_operator(options, tables):
    table, (sizes, counts) = tables["binary"], TRAIN["binary"]
    overrides = [options] if options.startswith("model.") else [f"method.{options}"] * bool(options)
    method = prepare("mean_map", "binary", tables, torch.float64, overrides)
    hot = [np.eye(size)[table.categorical[:, j]] for j, size in enumerate(table.vocab_sizes)]
    multi_hot = np.concatenate([*hot, table.numeric], axis=1).astype(float)
    rows = np.arange(sum(sizes))
    mean = formulas.mean_operator(multi_hot, np.split(rows, np.cumsum(sizes)[:-1]), counts, rows)
    first = method.model.first
    theta = torch.cat([first.weight[:, 0], first.numeric.weight[0]]).detach().numpy()
    batch, _ = minibatch(tables)
    if first.bias is not None:
        first.bias.data.fill_(0.3)
    bias = 0.0 if first.bias is None else 0.3
    scores = method(batch.categorical, batch.numeric)
    f = multi_hot[: sum(SIZES)] @ theta + bias
    np.testing.assert_allclose(scores.detach(), f, atol=1e-9)
    expected = np.logaddexp(f, -f).sum() - len(f) * (mean @ theta + bias)
    expected += (0.5 if "l2" in options else 0.0) * theta @ theta
    loss = method.bag_loss(scores, batch)
    assert float(loss) == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(method.predict(scores).detach(), formulas.sigmoid(2 * f), atol=1e-9)
    loss.backward()
    gradient = torch.cat([first.weight.grad[:, 0], first.numeric.weight.grad[0]]).numpy()
    penalty = (1.0 if "l2" in options else 0.0) * theta
    np.testing.assert_allclose(gradient, multi_hot[: len(f)].T @ np.tanh(f) - len(f) * mean + penalty, atol=1e-7)
    if first.bias is not None:
        assert float(first.bias.grad) == pytest.approx(np.tanh(f).sum() - len(f))


@pytest.mark.parametrize("proportion", [0.0, 0.25, 1.0])
def test_mean_map_refuses_bags_of_one_proportion(proportion):
    with pytest.raises(InputError, match=f"all 6 bags have about {proportion:g}"):
        bag_coefficients(np.full(6, proportion), proportion)


@pytest.mark.parametrize(
    ("name", "kind"), [("instance_bce", "binary"), ("instance_mse", "binary"), ("instance_mse", "real")]
)
def test_instance_methods_are_the_mean_over_labelled_instances(name, kind, tables):
    from llp.data.on_device import ResidentInstances, table_on

    method, table = prepare(name, kind, tables), tables[kind]
    batch = ResidentInstances(table_on(table, torch.device("cpu")), np.arange(50))[np.arange(50)]
    z = method(batch.categorical, batch.numeric).detach().double().numpy()
    h, y = formulas.sigmoid(z) if kind == "binary" else z, table.label[:50]
    expected = np.mean(formulas.cross_entropy(y, h) if name == "instance_bce" else (h - y) ** 2)
    assert float(method.batch_loss(batch)) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("kind", ["binary", "real"])
def test_what_is_counted_beside_the_loss(kind, tables):
    """The bag-level error of an epoch, and the loss of held-out bags: both are of the predictions, not of the loss."""
    method = prepare("dllp_mae", kind, tables, torch.float64)
    batch, scores = minibatch(tables, kind)
    h = formulas.sigmoid(scores.numpy()) if kind == "binary" else scores.numpy()
    means, alpha = np.array([own.mean() for own in split(h)]), np.array(COUNTS) / SIZES
    expected = formulas.cross_entropy(alpha, means) if kind == "binary" else (means - alpha) ** 2
    np.testing.assert_allclose(method.held_out_loss(scores, batch), expected, rtol=1e-6)
    method._count_bag_error(scores, batch)
    assert method.epoch_means.values()["bag_error"] == pytest.approx(np.abs(means - alpha).mean(), rel=1e-6)
    loss = method.minibatch_loss(batch)
    assert method.epoch_means.values()["train_loss"] == pytest.approx(loss.item(), rel=1e-6)


def test_hard_erot_llp_cuts_the_labels_at_one_half(tables):
    batch = batch_of(tables["binary"], [2, 2], [0.9, 1.1])  # soft labels 0.45 and 0.55
    loss = built("hard_erot_llp", "", tables).bag_loss(torch.ones(4).double(), batch)
    softplus = math.log(1 + math.e)  # of a label 0 at the score 1; that of a label 1 is 1 less
    assert float(loss) == pytest.approx((softplus + softplus - 1) / 2)
