"""Comparisons of methods: over the folds of one dataset, and over many datasets.

The paired t test is corrected for overlapping train rows as by C. Nadeau and Y. Bengio, Machine Learning 52 (2003);
rank tests are those of R. Iman and J. Davenport and of P. Nemenyi, as by J. Demšar, JMLR 7 (2006), families by S.
Holm's steps. Bag datasets of one table are no independent sample: intervals come from a bootstrap over tables.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

ScoreArray = NDArray[np.float64]


class PairedTest(NamedTuple):
    """Mean difference, statistic t, two-sided p, and d_z: the difference over the differences' sample deviation."""

    difference: float
    t: float
    p: float
    effect: float


def corrected_paired_t(differences: ScoreArray, n_train: float, n_test: float) -> PairedTest:
    """Paired t test of differences (k,) of k runs with the variance that overlapping train rows call for.

    The runs are those of k folds, or of all folds of a repeated cross-validation (the corrected repeated k-fold test).
    t = mean / √((1/k + n_test/n_train) · s²) with k − 1 degrees of freedom. Equal differences other than 0 have p = 0;
    no difference at all has p = 1. NaN for fewer than two folds.

    >>> round(corrected_paired_t(np.array([0.01, 0.02, 0.03]), 80, 20).p, 3)  # uncorrected: 0.074
    0.12
    """
    k = len(differences)
    mean = float(differences.mean()) if k else math.nan
    if k < 2:
        return PairedTest(mean, math.nan, math.nan, math.nan)
    std = float(differences.std(ddof=1))
    if std <= 1e-12 * abs(mean) or std == 0.0:  # equal but for rounding
        infinite = math.copysign(math.inf, mean) if mean else 0.0
        return PairedTest(mean, infinite, 0.0 if mean else 1.0, infinite)
    t = mean / math.sqrt((1 / k + n_test / n_train) * std**2)
    return PairedTest(mean, t, float(2 * stats.t.sf(abs(t), k - 1)), mean / std)


def least_difference(differences: ScoreArray, n_train: float, n_test: float, alpha: float) -> float:
    """Least mean difference with a two-sided p below alpha at these ones' spread; NaN for fewer than two runs."""
    k = len(differences)
    if k < 2:
        return math.nan
    error = math.sqrt((1 / k + n_test / n_train) * float(differences.var(ddof=1)))
    return float(stats.t.isf(alpha / 2, k - 1)) * error


def confidence_set(scores: ScoreArray, n_train: float, n_test: float, *, margin: float, alpha: float) -> list[bool]:
    """Which of m methods may be worse than the best by `margin` at most, from upward scores (k, m) of k runs.

    Out is one that another beats by more than that in a one-sided corrected t test, at alpha over the number of others:
    so each within the margin is kept with 1 − alpha at least.
    """
    m = scores.shape[1]

    def behind(one: int, other: int) -> bool:
        beyond = scores[:, other] - scores[:, one] - margin
        test = corrected_paired_t(beyond, n_train, n_test)
        return test.difference > 0 and test.p / 2 < alpha / (m - 1)

    return [not any(behind(one, other) for other in range(m) if other != one) for one in range(m)]


def holm(p_values: Sequence[float]) -> list[float]:
    """P values corrected for their number by Holm's steps, in the order given; NaN stays and does not count.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = [i for i in np.argsort(p_values) if not math.isnan(p_values[i])]
    corrected, least = [math.nan] * len(p_values), 0.0
    for step, i in enumerate(order):
        least = max(least, min(1.0, (len(order) - step) * p_values[i]))
        corrected[i] = least
    return corrected


def ranks(scores: ScoreArray, *, larger_is_better: bool) -> ScoreArray:
    """Ranks (n, k) of k methods on each of n datasets, 1 for the best; equal scores share their mean rank."""
    ordered: ScoreArray = stats.rankdata(-scores if larger_is_better else scores, axis=1)
    return ordered


def rank_draws(scores: Mapping[str, Sequence[ScoreArray]], *, larger_is_better: bool, draws: int = 2000) -> ScoreArray:
    """Mean ranks (draws, k): a bootstrap of tables, bag datasets (repeats, k) of each, and repeats."""
    rng, tables = np.random.default_rng(0), [*scores.values()]

    def drawn(items: Sequence[ScoreArray] | ScoreArray) -> NDArray[np.int64]:
        return rng.integers(len(items), size=len(items))

    def draw() -> ScoreArray:
        chosen = [tables[i] for i in rng.integers(len(tables), size=len(tables))]
        means = [table[i][drawn(table[i])].mean(axis=0) for table in chosen for i in drawn(table)]
        mean: ScoreArray = ranks(np.array(means), larger_is_better=larger_is_better).mean(axis=0)
        return mean

    return np.array([draw() for _ in range(draws)])


class RankTest(NamedTuple):
    """Friedman's chi², the F of Iman and Davenport, and its p."""

    chi2: float
    f: float
    p: float


def friedman(ranked: ScoreArray) -> RankTest:
    """Whether k methods differ in their ranks (n, k) over n datasets.

    F = (n − 1) chi² / (n (k − 1) − chi²) with k − 1 and (k − 1)(n − 1) degrees of freedom, chi² corrected for ties; NaN
    for n < 2 or k < 3, and where all ranks are equal.
    """
    n, k = ranked.shape
    if n < 2 or k < 3 or np.all(ranked == ranked[0, 0]):
        return RankTest(math.nan, math.nan, math.nan)
    chi2 = float(stats.friedmanchisquare(*ranked.T).statistic)
    rest = n * (k - 1) - chi2
    f = math.inf if rest <= 1e-9 * chi2 else (n - 1) * chi2 / rest
    return RankTest(chi2, f, float(stats.f.sf(f, k - 1, (k - 1) * (n - 1))))


def critical_difference(k: int, n: int, alpha: float = 0.05) -> float:
    """Nemenyi's critical difference of mean ranks: k methods over n datasets differ at level alpha when beyond it.

    >>> round(critical_difference(4, 14), 2)
    1.25
    """
    q = float(stats.studentized_range.ppf(1 - alpha, k, np.inf)) / math.sqrt(2)
    return q * math.sqrt(k * (k + 1) / (6 * n))


def cliques(mean_ranks: Sequence[float], difference: float) -> list[tuple[int, int]]:
    """Largest groups of rising mean ranks that differ by less than the critical difference: first and last index.

    >>> cliques([1.0, 1.5, 2.4, 4.0], 1.0)
    [(0, 1), (1, 2)]
    """
    found: list[tuple[int, int]] = []
    for first, low in enumerate(mean_ranks):
        last = max(i for i, high in enumerate(mean_ranks) if high - low < difference)
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found


def least_wilcoxon_p(n: int, n_tests: int) -> float:
    """The least p, by Holm's steps over `n_tests`, that a two-sided signed-rank test of n differences can have.

    >>> round(least_wilcoxon_p(8, 20), 3)
    0.156
    """
    return min(1.0, n_tests * 2.0 ** (1 - n))


def wilcoxon_p(differences: ScoreArray) -> float:
    """Two-sided p of Wilcoxon's signed-rank test of differences over datasets (n,); NaN where all are 0 or none is."""
    if not differences.any():
        return math.nan
    return float(stats.wilcoxon(differences).pvalue)
