"""Changes of the methods and of what they share."""

from tests.mutants.change import Mutant

FORMULAS = "tests/unit/methods/test_formulas.py"
LEARNING = "tests/unit/methods/test_learning.py"
DRAWS = "tests/unit/test_draws.py"


def of(words):
    """The formulas' tests of some methods."""
    return f"{FORMULAS} -k {words.replace(' ', '_')}"


def in_file(name, tests, *changes):
    return [Mutant(f"llp/{name}.py", old, new, tests) for old, new in changes]


MUTANTS = [
    *in_file(
        "methods/base", LEARNING + " -k dllp_bce_or_vat_or_ot_llp_or_upm",
        ("        loss = self.batch_loss(batch)\n", "        loss = -self.batch_loss(batch)\n"),
    ),
    *in_file("methods/base", of("vat"), ("return loss if penalty is None else loss + penalty", "return loss")),
    *in_file("methods/base", of("upm or dsq"), ("self.label_mean = split.label_mean", "self.label_mean = 0.5")),
    *in_file("methods/base", "tests/unit/methods/test_base.py", ("self.model.load_state_dict(trained.state_dict())", "pass")),
    *in_file(
        "methods/base", of("counted or mean_map"),
        ("batch.label_proportion).abs().sum(), len(batch.size))", "batch.label_proportion).abs().sum() / 2, len(batch.size))"),
        ("loss = F.binary_cross_entropy(h.nan_to_num(0.5), alpha,", "loss = F.binary_cross_entropy(h.nan_to_num(0.5), 1 - alpha,"),
        ("return torch.square(prediction - batch.label_proportion)", "return (prediction - batch.label_proportion).abs()"),
        ('self.epoch_means.add("train_loss", loss.detach(), 1)', 'self.epoch_means.add("train_loss", loss.detach(), 2)'),
        ('return torch.sigmoid(self.log_odds(scores)) if', 'return torch.sigmoid(scores) if'),
    ),
    *in_file("methods/base", DRAWS + " tests/unit/methods/test_generator_of_a_step.py",
             ("epoch=self.current_epoch, step=self.steps_taken)\n\n    def reseed", "epoch=0, step=self.steps_taken)\n\n    def reseed"),
             ("epoch=self.current_epoch, step=self.steps_taken)\n\n    def start", "epoch=self.current_epoch, step=0)\n\n    def start")),
    *in_file("methods/generators", DRAWS, ("keyed_seed(self._seed, purpose, epoch, step)", "keyed_seed(self._seed, purpose, step)"),
             ("keyed_seed(self._seed, purpose, epoch, step)", "keyed_seed(self._seed, purpose, epoch)"),
             ("keyed_seed(self._seed, purpose, epoch, step)", "keyed_seed(0, purpose, epoch, step)")),
    *in_file(
        "methods/dllp", of("dllp"),
        ('losses.mean() if reduction == "mean" else losses.sum()', "losses.mean()"),
        ('if target == "sum":', 'if target == "none":'),
        ('error.abs() if self.loss == "mae" else torch.square(error)', "torch.square(error)"),
        ("segment_sum(prediction, batch.segment, len(batch.size)) - batch.label_sum", "segment_sum(prediction, batch.segment, len(batch.size)) - batch.label_proportion"),
    ),
    *in_file(
        "methods/ot", of("ot_llp or erot"),
        ("label = (label > 0.5)", "label = (label > 0.4)"),
        ("batch.label_sum, reg=reg)", "batch.label_sum, reg=0.2)"),
        ('label, batch.segment, batch.size).mean()', 'label, batch.segment, batch.size).sum()'),
        ("label, batch.segment, batch.size).sum()", "label, batch.segment, batch.size).mean()"),
        ('if pseudo_labels == "hard":', 'if pseudo_labels == "soft":'),
    ),
    *in_file(
        "methods/genbags", of("genbags"),
        ("return genbags_loss(error, weights, block, len(sizes))", "return error.square().sum() * self.draws"),
        ("blocks_of(len(error), self.block_size, error.device)", "blocks_of(len(error), 4, error.device)"),
        ('"sum" if residual == "sum" else "proportion"', '"sum"'),
        ("covariance=self.covariance)", 'covariance="tetrahedron")'),
        ("r**0.5 * mean", "0 * mean"),
        ('"bag weights"', '"weights"'),
        ("c, r = diagonal + off_diagonal / (m - 1)", "c, r = diagonal + off_diagonal / m"),
        ("torch.where((m == 1)[block, None], 1.0, weights)", "torch.where((m == 1)[block, None], 0.0, weights)"),
    ),
    *in_file(
        "methods/easy_llp", FORMULAS + " tests/unit/methods/test_easy_llp.py -k easy",
        ("segment), segment, size).sum()", "segment), segment, size).mean()"),
        ("size * (proportion - label_mean) + label_mean", "size * (proportion - label_mean)"),
        ("size * (proportion - label_mean) + label_mean", "(size - 1) * (proportion - label_mean) + label_mean"),
        ("z = z.clamp(-self.bound, self.bound)", "z = z.clamp(-self.bound, 2 * self.bound)"),
        ('if self.estimator == "single":', 'if self.estimator == "none":'),
    ),
    *in_file(
        "methods/sim_llp", of("sim_llp"),
        ('torch.sigmoid(h[drawn]) if self.squash == "sigmoid" else h[drawn]', "h[drawn]"),
        ('return weights if weighting == "pairwise" else', 'return weights if weighting else'),
        ("+ self.bag_weight * bag_loss", "+ 2.0 * bag_loss"),
        ("len(batch.size), self.pair_instances, generator", "len(batch.size), 500, generator"),
        ("torch.exp(-squared.clamp(max=80))", "torch.exp(-squared.clamp(max=80) / 2)"),
    ),
    *in_file(
        "methods/debiased", of("debiased"),
        ('mean_loss if self.centre == "minibatch" else others', "mean_loss"),
        ("loss.abs() if self.absolute else loss", "loss"),
        ("[F.softplus(scores), F.softplus(-scores)]", "[F.softplus(-scores), F.softplus(scores)]"),
    ),
    *in_file(
        "methods/dsq", of("dsq"),
        ("(size - 1).mean()", "size.mean()"),
        ("decay * previous + (1 - decay) * current", "(1 - decay) * previous + decay * current"),
        ("self.mean_prediction.copy_(self.next_mean)", "pass"),
    ),
    *in_file(
        "methods/upm", of("upm"),
        ("+ excess.square()).mean()", "+ excess.square()).sum()"),
        ("(size * error.square()", "((size + 1) * error.square()"),
        ("excess.detach() if self.detach_excess else excess", "excess.detach()"),
        ("alone=label_mean) - label_mean", "alone=label_mean) + label_mean"),
    ),
    *in_file(
        "methods/rot", of("rot"),
        ("(1 - self.weight) * instance_loss", "instance_loss"),
        ("reg=self.reg, pseudo", "reg=1.0, pseudo"),
    ),
    *in_file("methods/count", of("count"), ("return -log_count_probability", "return log_count_probability"),
             ("batch.size, count).mean()", "batch.size, count).sum()")),
    *in_file("methods/llp_dc", of("llp_dc"), ("label > 0.5, h, 1 - h", "label > 0.5, 1 - h, h"), ("+ self.weight * instance_loss", "+ instance_loss"),
             ("threshold=self.threshold)", "threshold=0.6)"), ('reduction="none") * counts', 'reduction="none")')),
    *in_file(
        "methods/llp_mm", of("llp_mm"),
        ("range(1, max_order + 1)", "range(1, max_order)"),
        ("(1 - smoothing) * law + smoothing * coin", "law"),
        ("(total / n_orders).mean()", "total.mean()"),
        ("n_orders + (size >= order)", "n_orders + (size > order)"),
    ),
    *in_file(
        "methods/llp_vat", of("vat"),
        ("self.ramp_epochs * split.minibatches", "self.ramp_epochs"),
        ("torch.exp(-5 * (1 - t) ** 2)", "torch.exp(-5 * (1 - t))"),
        ("self.steps.add_(1)", "self.steps.add_(2)"),
        ("length = self.radius *", "length = 0.1 *"),
        ("weight * self.divergence_nearby", "self.divergence_nearby"),
    ),
    *in_file(
        "methods/llpfc", of("llpfc"),
        ('share = half if choice == "uniform" else', 'share = half if choice else'),
        ("/ max(n_grouped // 2, 1)", "/ max(n_grouped, 1)"),
        ("torch.stack([1 - proportion, proportion], dim=1)", "torch.stack([proportion, 1 - proportion], dim=1)"),
    ),
    *in_file(
        "methods/mean_map", of("mean_map"),
        ("return 2 * scores", "return scores"),
        ("loss + self.l2 * self.model.squared_norm()", "loss"),
        ("- len(scores) * mean_score", "- mean_score"),
        ("label_mean * of_positive - (1 - label_mean) * of_negative", "label_mean * of_positive + (1 - label_mean) * of_negative"),
    ),
    *in_file(
        "methods/mixbag", FORMULAS + " tests/unit/methods/test_mixbag.py -k mix",
        ("device=losses.device) < self.probability", "device=losses.device) < 0.5"),
        ("tail=self.tail, band=self.band)", "tail=0.005, band=self.band)"),
        ("share if band == \"weighted\" else quantile", "share"),
        ("NormalDist().inv_cdf(1 - tail)", "NormalDist().inv_cdf(1 - tail / 2)"),
        ("torch.where(inside, entropy,", "torch.where(~inside, entropy,"),
        ("((1 - share) * size[partner])", "(share * size[partner])"),
    ),
    *in_file("methods/instance", of("instance_methods"), ("batch).mean()", "batch).sum()"), ("torch.square(prediction - label)", "(prediction - label).abs()")),
    *in_file("methods/epoch_means", "tests/unit/methods/test_epoch_means.py", ("self.sums.zero_()", "pass"), ("both[1].add_(count)", "both[1].add_(1)")),
    *in_file("methods/group_prior", "tests/unit/training/test_training.py",
             ("split.bags.label_sum / split.bags.sizes)", "split.bags.label_sum / split.bags.sizes.max())"),
             ("self._prior.get(bytes(value), self.label_mean)", "self._prior.get(bytes(value), 0.5)")),
    *in_file("ops/bce", of("ot_llp or dllp_bce"), ("segment_mean(losses, segment, size)", "segment_sum(losses, segment, len(size))"),
             ("- torch.log(size.to(scores.dtype))", "")),
    *in_file("ops/transport", of("ot_llp or erot"), ("u = scores.double() / reg", "u = scores.double() * reg"),
             ("rank < to_instances(label_sum.round(), segment)", "rank <= to_instances(label_sum.round(), segment)"),
             ("NEWTON_STEPS = 8", "NEWTON_STEPS = 1")),
    *in_file("ops/transport", "tests/unit/ops/test_transport.py -k noisy", ("to_instances(label_sum.round(), segment)", "to_instances(label_sum, segment)")),
    *in_file("ops/transport_pot", "tests/unit/ops/test_transport.py -k noisy", ("label_sum.round(), ot.emd)", "label_sum, ot.emd)")),
    *in_file("methods/llp_mm", "tests/unit/methods/test_every_method.py -k nearest", ("round().clamp(min=0).minimum(size)", "round()")),
    *in_file("ops/segment", of("upm or dsq"), ("(total.sum(dim=0) - total) / n_others", "total.sum(dim=0) / n_others"),
             ("torch.where(in_a_bag, values, 0).sum(dim=0) / size.sum()", "torch.where(in_a_bag, values, 0).sum(dim=0) / len(size)")),
    *in_file("ops/debiasing", of("debiased"), ("loss_sum - size[:, None] * centre", "loss_sum - centre"), ("(1 - label_mean, label_mean)", "(label_mean, 1 - label_mean)")),
    *in_file("ops/poisson_binomial", FORMULAS + " tests/unit/methods/test_count.py -k count", ("BISECTIONS = 30", "BISECTIONS = 5"), ("DECAY = 40.0", "DECAY = 4.0"), ("NODES = 32", "NODES = 23")),
    *in_file("models/dense", DRAWS, ("xavier_uniform_", "xavier_normal_"), ("nn.init.zeros_(layer.bias)", "nn.init.ones_(layer.bias)")),
    *in_file("models/multi_hot", DRAWS, ("nn.init.xavier_uniform_(self.weight)", "nn.init.kaiming_uniform_(self.weight)")),
    *in_file("models/embedding_mlp", DRAWS, ("-0.05, 0.05", "-0.1, 0.1")),
]  # fmt: skip
