"""Clusters of standardised bag datasets by k-means, named as in LLP-Bench (arXiv 2310.10096)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from llp.analysis.hardness import percentile_name
from llp.data.table import LabelKind

KMEANS_SEED = 42
TAIL_PERMILLES = (500, 700, 850, 950)
Tail = Literal["p70", "p85"]


@dataclass(frozen=True)
class Clustering:
    """One way to group bag datasets."""

    name: str  # what the clusters differ in
    measures: tuple[str, ...]  # those that are clustered
    named_by: str  # the measure whose cluster means, rising, give the clusters their names
    names: tuple[str, ...]  # one per cluster


def clusterings(label_kind: LabelKind, tail: Tail) -> list[Clustering]:
    """The paper's three groupings; `tail` is the percentile that names tails: p85 in its code, p70 in its text."""
    tails, variation, separation = {
        "binary": (
            ("very short-tailed", "short-tailed", "long-tailed", "very long-tailed"),
            ("very low", "low", "medium", "high"),
            ("less-separated", "medium-separated", "well-separated", "far-separated"),
        ),
        "real": (
            ("short-tailed", "medium-tailed", "long-tailed"),
            ("low", "medium", "high"),
            ("less-separated", "medium-separated", "well-separated"),
        ),
    }[label_kind]
    sizes = tuple(f"bag_size_{percentile_name(permille)}" for permille in TAIL_PERMILLES)
    return [
        Clustering("tail", sizes, f"bag_size_{tail}", tails),
        Clustering("label_variation", ("std_label_proportion",), "std_label_proportion", variation),
        Clustering("separation", ("inter_intra_ratio",), "inter_intra_ratio", separation),
    ]


def assign(clustering: Clustering, datasets: Sequence[Mapping[str, float]]) -> list[str | None]:
    """The name of each dataset's cluster; None with an undefined measure, all None for fewer datasets than clusters."""
    values = np.array([[row[name] for name in clustering.measures] for row in datasets], dtype=np.float64)
    values = values.reshape(len(datasets), len(clustering.measures))
    defined = np.flatnonzero(np.isfinite(values).all(axis=1))
    names: list[str | None] = [None] * len(datasets)
    n_clusters = len(clustering.names)
    if len(np.unique(values[defined], axis=0)) < n_clusters:
        return names
    kmeans = KMeans(n_clusters, n_init=10, random_state=KMEANS_SEED)
    cluster = kmeans.fit_predict(StandardScaler().fit_transform(values[defined]))
    by = np.array([datasets[i][clustering.named_by] for i in defined.tolist()])
    rank = np.argsort(np.argsort([by[cluster == c].mean() for c in range(n_clusters)]))  # 0 for the smallest mean
    for i, c in zip(defined.tolist(), cluster, strict=True):
        names[i] = clustering.names[rank[c]]
    return names
