"""Changes of the measures, the optimizer, the statistics of a report, and published settings."""

from tests.mutants.change import Mutant
from tests.mutants.of_methods import in_file

RANKING = "tests/unit/metrics/test_ranking.py tests/parity/test_auc.py"
MEASURES = "tests/unit/metrics/test_evaluation.py"
BAG_LEVEL = "tests/unit/metrics/test_bag_level_measures.py"
ADAM = "tests/unit/optim/test_exact_adam.py"
STATISTICS = "tests/unit/results/test_statistics.py"
SETTINGS = "tests/unit/config/test_published_settings.py"


def settings(*changes):
    return [Mutant(f"conf/{file}.yaml", old, new, SETTINGS) for file, old, new in changes]


MUTANTS = [
    *in_file(
        "metrics/ranking", RANKING,
        ('below = np.searchsorted(negative, positive, side="left")', 'below = np.searchsorted(negative, positive, side="right")'),
        ("/ (2.0 * len(positive) * len(negative))", "/ (2.0 * len(positive) * len(negative) + 1)"),
        ('astype(np.float32), side="left")  # thresholds', 'astype(np.float32), side="right")  # thresholds'),
        ("np.arange(1, 199) / 199", "np.arange(1, 199) / 200"),
        ("np.cumsum(count)[:200]", "np.cumsum(count)[1:201]"),
        ("if np.isnan(positive[-1]) or np.isnan(negative[-1]):", "if np.isnan(positive[-1]):"),
    ),
    *in_file("metrics/on_device", "tests/unit/metrics/test_measures_on_device.py",
             ("for right in (False, True)", "for right in (True, True)"), ("count.cumsum(0)[:200]", "count.cumsum(0)[1:201]")),
    *in_file(
        "metrics/evaluation", MEASURES,
        ('("auc", "max") if', '("auc", "min") if'), ('else ("mse", "min")', 'else ("mse", "max")'),
        ("CALIBRATION_BINS = 15", "CALIBRATION_BINS = 10"), ("LOG_LOSS_CLIP = 1e-7", "LOG_LOSS_CLIP = 1e-4"),
        ("prediction.mean() / label.mean()", "label.mean() / prediction.mean()"),
        ("float(np.mean(np.square(", "float(np.median(np.square("),
    ),
    *in_file(
        "metrics/held_out", "tests/unit/metrics/test_held_out.py",
        ("bags.label_sum - bags.size * label_mean + label_mean", "bags.label_sum - bags.size * label_mean"),
        ("others.square() - (weight.square()", "others.square() + (weight.square()"),
        ("/ (n - bags.size)[:, None]", "/ n"),
        ("label * positive + (1 - label) * negative", "label * negative + (1 - label) * positive"),
    ),
    *in_file("metrics/weighted", "tests/unit/metrics/test_weighted.py", ("counted = weight > 0", "counted = weight >= 0"),
             ("roc_auc_score(y, z, sample_weight=w)", "roc_auc_score(y, z)"), ("log_loss(y, h, sample_weight=w)", "log_loss(y, h)"),
             ("CLIP = 1e-7", "CLIP = 1e-4"), ("CLIP = 1e-7", "CLIP = 1e-12")),
    *in_file(
        "metrics/bag_level", BAG_LEVEL,
        ("NORMAL_95 * np.sqrt(variance) + 0.5", "NORMAL_95 * np.sqrt(variance)"), ("xlogy(alpha, h) +", "xlogy(alpha, h) -"),
        ("np.clip(proportion, 0, 1), np", "proportion, np"), ("float(np.sqrt(mse))", "float(mse)"),
        ("np.mean(np.abs(alpha - prediction))", "np.mean(alpha - prediction)"),
        ("np.divide(predicted_sum.sum(), label_sum.sum())", "np.divide(label_sum.sum(), predicted_sum.sum())"),
    ),
    *in_file(
        "optim/compiled", ADAM,
        ("1 / math.sqrt(1 - beta2**step)", "1.0"), ("lr / (1 - beta1**step)", "lr"),
        ("* inverse_root + epsilon)", "* inverse_root)"), ("(np.sqrt(v[row, d]) * inverse_root + epsilon)", "((np.sqrt(v[row, d]) + epsilon) * inverse_root)"),
        ("beta1, 1 - beta1, beta2, 1 - beta2", "beta2, 1 - beta2, beta1, 1 - beta1"),
        ("t0, step - t0, sums", "t0, step - t0 - 1, sums"), ("if 0 < t0 < step:", "if 0 < t0 < step - 1:"),
        ("decay1, decay2 = math.exp(k * log_beta1), math.exp(k * log_beta2)", "decay1, decay2 = math.exp(k * log_beta1), 1.0"),
    ),
    *in_file(
        "optim/catch_up", ADAM,
        ("A = lr * decay1[:reach] / (1 - self.beta1**step)", "A = lr * decay1[:reach]"),
        ("reach = min(self.window, step - 1)", "reach = min(self.window, step - 2)"),
        ("np.sqrt(decay2[:reach] / (1 - self.beta2**step))", "np.sqrt(decay2[:reach])"), ("TERMS = 8\n", "TERMS = 8 - 6\n"),
        ("TAIL = 1e-12", "TAIL = 1e-2"),
    ),
    *in_file(
        "optim/exact_adam", ADAM,
        ('"betas": tuple(betas), "eps": eps,', '"betas": tuple(betas), "eps": 1e-8,'),
        ("beta1, beta2 = group[\"betas\"]", "beta1, beta2 = 0.9, 0.999"),
        ("maximize=False", "maximize=True"),
        ('_step_rows(weight, group["lr"])', '_step_rows(weight, self.defaults["lr"])'),
    ),
    *in_file(
        "results/statistics", STATISTICS,
        ("differences.std(ddof=1)", "differences.std()"), ("(1 / k + n_test / n_train)", "(1 / k)"),
        ("stats.t.sf(abs(t), k - 1)", "stats.t.sf(abs(t), k)"), ("-scores if larger_is_better else scores", "scores if larger_is_better else -scores"),
        ("(len(order) - step) * p_values[i]", "len(order) * p_values[i]"), ("(6 * n)", "(12 * n)"),
        ("high - low < difference", "high - low <= difference"),
    ),
    *settings(
        ("method/soft_erot_llp", "reg: 0.2", "reg: 0.1"), ("method/dllp_mse", "reduction: mean", "reduction: sum"),
        ("dataset/criteo_ctr", "rare_at_most: 10", "rare_at_most: 9"), ("optimizer/exact_adam", "eps: 1.0e-8", "eps: 1.0e-7"),
        ("optimizer/adam", "betas: [0.9, 0.999]", "betas: [0.9, 0.99]"), ("trainer/default", "bags_per_batch: 8", "bags_per_batch: 4"),
        ("trainer/default", "max_epochs: 50", "max_epochs: 40"), ("protocol/holdout", "held_out: 0.1", "held_out: 0.2"),
        ("method/rot", "weight: 0.6", "weight: 0.5"), ("method/sim_llp", "bag_weight: 2.0", "bag_weight: 1.0"),
        ("method/genbags", "draws: 60", "draws: 30"), ("model/mlp", "[128, 64]", "[64, 64]"),
        ("grouping_key/feature", "low_thresh: 50", "low_thresh: 30"), ("dataset/criteo_sscl", "patience: 5", "patience: 3"),
        ("analyze", "instance_thresh: 30", "instance_thresh: 50"),
    ),
]  # fmt: skip
