"""The methods' losses written out bag by bag in numpy, from the sources that their files name."""

import itertools
import math

import numpy as np


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def cross_entropy(label, h):
    """-a log h - (1 - a) log(1 - h), of single values or arrays."""
    return -(label * np.log(h) + (1 - label) * np.log1p(-h))


def reduced(values, reduction):
    return np.mean(values) if reduction == "mean" else np.sum(values)


def dllp(bags, y, p, *, loss, target="proportion", reduction="mean", real=False):
    """Over the bags: cross-entropy, squared or absolute error of proportions or sums."""
    values = []
    for z, count in zip(bags, y, strict=True):
        h = z if real else sigmoid(z)
        if loss == "bce":
            values.append(cross_entropy(count / len(z), h.mean()))
        else:
            error = h.sum() - count if target == "sum" else h.mean() - count / len(z)
            values.append(error**2 if loss == "mse" else abs(error))
    return reduced(values, reduction)


def event_level(bags, y, p, *, rho=1.0, real=False):
    """Every instance has its bag's proportion as its label; mixed with the bags' own loss."""
    label = np.concatenate([np.full(len(z), count / len(z)) for z, count in zip(bags, y, strict=True)])
    z = np.concatenate(bags)
    instances = np.mean((z - label) ** 2 if real else cross_entropy(label, sigmoid(z)))
    return (1 - rho) * dllp(bags, y, p, loss="mse" if real else "bce", real=real) + rho * instances


def count(bags, y, p):
    """-log of the probability of the count, which the law of a sum of independent labels gives."""
    values = []
    for z, number in zip(bags, y, strict=True):
        law = np.ones(1)
        for h in sigmoid(z):
            law = np.convolve(law, [1 - h, h])
        values.append(-math.log(law[int(number)]))
    return np.mean(values)


def debiased(bags, y, p, *, centre="other_bags", absolute=False):
    """arXiv 2509.15145, eq. 28."""
    losses = [np.stack([-np.log1p(-sigmoid(z)), -np.log(sigmoid(z))], axis=1) for z in bags]
    whole, prior = np.concatenate(losses).mean(axis=0), np.array([1 - p, p])
    values = []
    for b, own in enumerate(losses):
        others = np.concatenate(losses[:b] + losses[b + 1 :]).mean(axis=0)
        around = whole if centre == "minibatch" else others
        alpha = y[b] / len(own)
        values.append((np.array([1 - alpha, alpha]) - prior) @ (own - around).sum(axis=0) + prior @ whole)
    return abs(np.mean(values)) if absolute else np.mean(values)


def dsq(bags, y, p, *, mean=None):
    """arXiv 2406.00487; `mean` stands for E[h] where it is not the minibatch's."""
    mean = sigmoid(np.concatenate(bags)).mean() if mean is None else mean
    errors = [len(z) * (sigmoid(z).mean() - count / len(z)) ** 2 for z, count in zip(bags, y, strict=True)]
    return np.mean(errors) - np.mean([len(z) - 1 for z in bags]) * (mean - p) ** 2


def easy_llp(bags, y, p, *, clip=1e-7):
    """Busa-Fekete et al., NeurIPS 2023, Definition 3.4: the sum over the bags of the mean over their instances."""
    total = 0.0
    for z, number in zip(bags, y, strict=True):
        k, alpha, h = len(z), number / len(z), sigmoid(z)
        h = h if clip is None else np.clip(h, clip, 1 - clip)
        total += np.mean((k * (alpha - p) + p) * -np.log(h) + (k * (p - alpha) + 1 - p) * -np.log1p(-h))
    return total


def highest(z, number):
    """Labels that are 1 for so many of the highest scores."""
    label = np.zeros(len(z))
    label[np.argsort(-z, kind="stable")[: int(number)]] = 1
    return label


def entropic(z, alpha, reg):
    """Labels of the entropic transport problem, by Sinkhorn's scaling of the rows of a 2 × k plan."""
    if alpha in (0, 1):
        return np.full(len(z), alpha)
    kernel = np.exp(np.stack([np.log1p(-sigmoid(z)), np.log(sigmoid(z))]) / reg)
    rows = np.ones(2)
    for _ in range(4_000):
        columns = (1 / len(z)) / (rows @ kernel)
        rows = np.array([1 - alpha, alpha]) / (kernel @ columns)
    return len(z) * rows[1] * kernel[1] * columns


def pseudo(bags, y, labels, reduction):
    values = [np.mean(cross_entropy(labels(z, c), sigmoid(z))) for z, c in zip(bags, y, strict=True)]
    return reduced(values, reduction)


def ot_llp(bags, y, p):
    return pseudo(bags, y, highest, "sum")


def erot_llp(bags, y, p, *, pseudo_labels, reg=0.2):
    def labels(z, number):
        soft = entropic(z, number / len(z), reg)
        return (soft > 0.5).astype(float) if pseudo_labels == "hard" else soft

    return pseudo(bags, y, labels, "mean")


def rot(bags, y, p, *, weight=0.6, reg=1.0, pseudo_labels="hard"):
    instances = erot_llp(bags, y, p, pseudo_labels=pseudo_labels, reg=reg)
    return weight * dllp(bags, y, p, loss="bce") + (1 - weight) * instances


def llp_dc(bags, y, p, *, weight=0.5, threshold=0.95):
    total, n = 0.0, sum(map(len, bags))
    for z, number in zip(bags, y, strict=True):
        label, h = highest(z, number), sigmoid(z)
        sure = np.where(label == 1, h, 1 - h) >= threshold
        total += cross_entropy(label, h)[sure].sum()
    return dllp(bags, y, p, loss="bce") + weight * total / n


def upm(bags, y, p):
    """arXiv 2505.05355."""
    h, values = [sigmoid(z) for z in bags], []
    for b, own in enumerate(h):
        excess = np.concatenate(h[:b] + h[b + 1 :]).mean() - p
        values.append(len(own) * (y[b] / len(own) - own.mean() + excess) ** 2 + excess**2)
    return np.mean(values)


def llp_mm(bags, y, p, *, max_order=8, smoothing=1e-4):
    """Cross-entropy of the laws of the positives in random subsets, every subset looked at."""
    values = []
    for z, number in zip(bags, y, strict=True):
        h, k, orders = sigmoid(z), len(z), []
        for r in range(1, min(max_order, k) + 1):
            model = np.zeros(r + 1)
            subsets = list(itertools.combinations(range(k), r))
            for subset in subsets:
                law = np.ones(1)
                for i in subset:
                    law = np.convolve(law, [1 - h[i], h[i]])
                model += law / len(subsets)
            coin = np.array([math.comb(r, j) for j in range(r + 1)]) / 2**r
            ways = [math.comb(int(number), j) * math.comb(k - int(number), r - j) for j in range(r + 1)]
            smooth = (1 - smoothing) * model + smoothing * coin
            orders.append(-(np.array(ways) / math.comb(k, r)) @ np.log(smooth))
        values.append(np.mean(orders))
    return np.mean(values)


def llpfc(bags, y, p, *, noisy_prior="uniform"):
    """Forward correction: two bags a group, an instance's noisy label is which of the two it comes from."""
    total, groups = 0.0, len(bags) // 2
    for g in range(groups):
        pair, alpha = bags[2 * g : 2 * g + 2], [y[b] / len(bags[b]) for b in (2 * g, 2 * g + 1)]
        share = 0.5
        if noisy_prior == "approx" and alpha[0] != alpha[1]:
            share = np.clip((p - alpha[1]) / (alpha[0] - alpha[1]), 1e-6, 1 - 1e-6)
        prior = np.array([share, 1 - share])
        by_label = np.array([[1 - a for a in alpha], alpha])  # label × noisy label
        joint = prior * by_label
        whole = joint.sum(axis=1, keepdims=True)
        T = np.where(whole > 0, joint / np.where(whole > 0, whole, 1), prior)
        for m, z in enumerate(pair):
            h = sigmoid(z)
            total += prior[m] * np.mean(-np.log((1 - h) * T[0, m] + h * T[1, m]))
    return total / groups


def mean_operator(multi_hot, bags, y, rows):
    """μ_XY of Quadrianto et al., JMLR 2009, from each bag's mean vector and label proportion."""
    alpha = np.array([count / len(bag) for bag, count in zip(bags, y, strict=True)])
    means = np.stack([multi_hot[rows[bag]].mean(axis=0) for bag in bags])
    of_class, *_ = np.linalg.lstsq(np.stack([1 - alpha, alpha], axis=1), means, rcond=None)
    p = sum(y) / sum(map(len, bags))
    return p * of_class[1] - (1 - p) * of_class[0]


def genbags(error, normal, *, block_size, covariance):
    """Σ (Σ_B w_B d_B)² with w of the covariance's Cholesky root in another basis: see the draws' deviation and mean."""
    total = 0.0
    for start in range(0, len(error), block_size):
        d, draws = error[start : start + block_size], normal[start : start + block_size]
        m = len(d)
        off, diagonal = (0.99, 1.001) if covariance == "reference" else (1.0, 1.0)
        mean = draws.mean(axis=0)
        w = np.ones_like(draws)
        if m > 1:
            w = math.sqrt(diagonal + off / (m - 1)) * (draws - mean) + math.sqrt(max(diagonal - off, 0)) * mean
        total += ((w * d[:, None]).sum(axis=0) ** 2).sum()
    return total


def similarity(h, representation, *, weighting="pairwise"):
    """Mean over the pairs of weights times squared differences; of the mean weight of one of a pair."""
    n = len(h)
    w = [[np.exp(-np.sum((representation[i] - representation[j]) ** 2)) for j in range(n)] for i in range(n)]
    w = np.array(w)
    if weighting == "row_mean":
        w = np.repeat(w.mean(axis=1, keepdims=True), n, axis=1)
    return np.mean([w[i, j] * (h[i] - h[j]) ** 2 for i in range(n) for j in range(n)])
