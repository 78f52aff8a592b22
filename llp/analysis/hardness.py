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
    proportion = label_sum / size
    ordered, ordered_proportion = np.sort(size), np.sort(proportion)
    binary, undefined = label_kind == "binary", float("nan")
    p = float(label_sum.sum() / size.sum()) if len(size) else undefined
    log_likelihood = chi2 = undefined
    if binary and len(size):  # log C(k, y) + y log p + (k - y) log(1 - p)
        log_likelihood = float(binom.logpmf(label_sum, size, p).mean())
    if binary and 0 < p < 1:  # of the table of bags and binary labels, whose Cramér's V is √(χ² / n)
        chi2 = float(((label_sum - size * p) ** 2 / (size * p * (1 - p))).sum())
    skewed = {e: percent_in_large_skewed(counts, high_thresh, e) if binary else undefined for e in SKEW_EPSILONS}
    return {
        "n_instances": counts.n_instances,
        "n_bags": counts.n_groups,
        "n_bags_kept": len(size),
        "n_instances_kept": int(size.sum()),
        "percent_instances_kept": 100 * float(size.sum()) / counts.n_instances,
        **spread(size, "bag_size"),
        **{f"bag_size_{percentile_name(q)}": value_at(ordered, q) for q in SIZE_PERMILLES},
        "label_bias": p,
        **spread(proportion, "label_proportion"),
        **{f"label_proportion_{percentile_name(q)}": value_at(ordered_proportion, q) for q in PROPORTION_PERMILLES},
        "log_likelihood": log_likelihood,
        "chi2": chi2,
        "cramers_v": float(np.sqrt(chi2 / size.sum())) if len(size) > 1 else undefined,
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


def percent_in_large_skewed(counts: GroupCounts, high_thresh: int | None, epsilon: float) -> float:
    """Percentage of all instances in bags over `high_thresh` with a label proportion below ε or above 1 - ε."""
    proportion = counts.label_sum / counts.size
    skewed = (counts.size > (high_thresh or np.inf)) & ((proportion < epsilon) | (proportion > 1 - epsilon))
    return 100 * float(counts.size[skewed].sum()) / counts.n_instances
