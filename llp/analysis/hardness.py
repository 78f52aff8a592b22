"""Hardness of bag datasets, as in LLP-Bench (arXiv 2310.10096): measures of bag sizes and label proportions.

Its names are LabelPropStdev, MeanBagSize and CumuBagSizeDist (`bag_size_p50` ...). Undefined measures are NaN.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from llp.analysis.counting import GroupCounts
from llp.data.table import LabelKind

# in permille, so that floor(q · n) is exact
SIZE_PERMILLES = (100, 200, 300, 400, 500, 600, 700, 800, 850, 900, 950, 970, 990, 999)
PROPORTION_PERMILLES = (50, 250, 500, 750, 950)
SKEW_EPSILONS = (0.1, 0.05)

Measures = dict[str, float]


def hardness(
    counts: GroupCounts, label_kind: LabelKind, *, low_thresh: int | None, high_thresh: int | None
) -> Measures:
    """All measures of a bag dataset that need only sizes and label sums, by name; NaN for counts of real labels.

    Bags outside the limits are not kept; `counts` must list all of `low_thresh` or more. Percentages are of the table.
    """
    keep = (counts.size >= (low_thresh or 0)) & (counts.size <= (high_thresh or np.inf))
    size, label_sum = counts.size[keep], counts.label_sum[keep]
    binary = label_kind == "binary"
    undefined, ordered = float("nan"), np.sort(size)
    chi2 = chi_squared(size, label_sum) if binary else undefined
    skewed = {e: percent_in_large_skewed(counts, high_thresh, e) if binary else undefined for e in SKEW_EPSILONS}
    return {
        "n_instances": counts.n_instances,
        "n_bags": counts.n_groups,
        "n_bags_kept": len(size),
        "n_instances_kept": int(size.sum()),
        "percent_instances_kept": 100 * float(size.sum()) / counts.n_instances,
        **spread(size, "bag_size"),
        **{f"bag_size_{percentile_name(q)}": value_at(ordered, q) for q in SIZE_PERMILLES},
        **_label_proportions(size, label_sum),
        "log_likelihood": mean_log_likelihood(size, label_sum) if binary else undefined,
        "chi2": chi2,
        "cramers_v": cramers_v(chi2, size),
        **{f"percent_in_large_skewed_{epsilon}": percent for epsilon, percent in skewed.items()},
    }


def value_at(ordered: NDArray[np.float64] | NDArray[np.int64], permille: int) -> float:
    """Value at index floor(q · n) of n sorted values, as the authors' code takes percentiles; NaN of none."""
    return float(ordered[len(ordered) * permille // 1000]) if len(ordered) else float("nan")


def percentile_name(permille: int) -> str:
    """Name of a percentile in a measure's name: p50, p99_9."""
    return f"p{permille / 10:g}".replace(".", "_")


def spread(values: NDArray[np.float64] | NDArray[np.int64], name: str) -> Measures:
    """Minimum, maximum, mean and population standard deviation; NaN of no value."""
    kinds = ("min", "max", "mean", "std")
    return {f"{kind}_{name}": float(getattr(values, kind)() if len(values) else "nan") for kind in kinds}


def _label_proportions(size: NDArray[np.int64], label_sum: NDArray[np.float64]) -> Measures:
    proportion = label_sum / size
    ordered = np.sort(proportion)
    return {
        "label_bias": float(label_sum.sum() / size.sum()) if len(size) else float("nan"),
        **spread(proportion, "label_proportion"),
        **{f"label_proportion_{percentile_name(q)}": value_at(ordered, q) for q in PROPORTION_PERMILLES},
    }


def mean_log_likelihood(size: NDArray[np.int64], label_sum: NDArray[np.float64]) -> float:
    """Mean over bags of log C(k, y) + y log p + (k - y) log(1 - p), p the pooled label mean; NaN without."""
    if not len(size):
        return float("nan")
    return float(binom.logpmf(label_sum, size, label_sum.sum() / size.sum()).mean())


def chi_squared(size: NDArray[np.int64], label_sum: NDArray[np.float64]) -> float:
    """χ² of the table of bags and binary labels, Σ (y - k p)² / (k p (1 - p)); NaN with no bag or constant label."""
    p = label_sum.sum() / size.sum() if len(size) else 0.0
    if p in (0.0, 1.0):
        return float("nan")
    return float(((label_sum - size * p) ** 2 / (size * p * (1 - p))).sum())


def cramers_v(chi2: float, size: NDArray[np.int64]) -> float:
    """Cramér's V of bag and binary label, `√(χ² / n / min(r - 1, c - 1))`; NaN with one bag or a constant label."""
    return float(np.sqrt(chi2 / size.sum())) if len(size) > 1 else float("nan")


def percent_in_large_skewed(counts: GroupCounts, high_thresh: int | None, epsilon: float) -> float:
    """Percentage of all instances in bags over `high_thresh` with a label proportion below ε or above 1 - ε."""
    proportion = counts.label_sum / counts.size
    skewed = (counts.size > (high_thresh or np.inf)) & ((proportion < epsilon) | (proportion > 1 - epsilon))
    return 100 * float(counts.size[skewed].sum()) / counts.n_instances
