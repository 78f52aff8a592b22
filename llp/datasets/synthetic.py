"""Made tables in the shape of Criteo's two, from a scoring model that is known, as is the best reachable value."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt
from scipy.special import expit

from llp.data.table import Column, LabelKind
from llp.data.table_writer import TableWriter
from llp.data.vocabulary import encoding
from llp.datasets.ordered_map import ordered_map
from llp.datasets.published import published_sizes
from llp.datasets.scoring_model import CHUNK_ROWS, Model, bias_for, make_features, make_model, scaled

SCORE_BINS = 2**16


Labeller = Callable[[NDArray[np.float32], np.random.Generator], NDArray[np.float32]]


def prepare_ctr(
    *,
    folder: Path,
    made_by: Mapping[str, Any],
    rows: PositiveInt,
    seed: NonNegativeInt,
    vocab_fraction: Annotated[float, Field(gt=0, le=1)],
    signal: float,
    rate: Annotated[float, Field(gt=0, lt=1)],
) -> None:
    """Write a table shaped like Criteo CTR: 39 categories at `vocab_fraction` of the published sizes, 0 / 1."""
    sizes = published_sizes("ctr")
    model = make_model(scaled(sizes, vocab_fraction), n_numeric=0, seed=seed)
    bias = bias_for(model, seed, signal=signal, rate=rate)
    best = ExpectedAUC()

    def label(score: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
        chance: NDArray[np.float32] = expit(signal * score + bias)
        best.add(score, chance)
        return (rng.random(len(score), dtype=np.float32) < chance).astype(np.float32)

    _write(folder, made_by, rows, seed, sizes, model, "binary", label, lambda: {"best_auc": best.value()})


def prepare_sscl(
    *,
    folder: Path,
    made_by: Mapping[str, Any],
    rows: PositiveInt,
    seed: NonNegativeInt,
    vocab_fraction: Annotated[float, Field(gt=0, le=1)],
    mean: float,
    signal: float,
    noise: NonNegativeFloat,
) -> None:
    """Write a table shaped like Criteo SSCL: 17 categories, 3 numbers; label mean + signal score + noise normal."""
    sizes = published_sizes("sscl")
    model = make_model(scaled(sizes, vocab_fraction), n_numeric=3, seed=seed)

    def label(score: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
        drawn = rng.standard_normal(len(score), dtype=np.float32)
        return np.float32(mean) + np.float32(signal) * score + np.float32(noise) * drawn

    _write(folder, made_by, rows, seed, sizes, model, "real", label, lambda: {"best_mse": noise**2})


class ExpectedAUC:
    """Expected AUC of the true scores in bins: Σ c_i (1 - c_j) [s_i > s_j] / (Σ c Σ (1 - c)), c chances of ones."""

    def __init__(self) -> None:
        self._ones = np.zeros(SCORE_BINS)
        self._zeros = np.zeros(SCORE_BINS)

    def add(self, score: NDArray[np.float32], chance: NDArray[np.float32]) -> None:
        """Take in standardised scores (m,) and their chances."""
        place = np.clip((score + 8) * (SCORE_BINS / 16), 0, SCORE_BINS - 1).astype(np.int64)
        self._ones += np.bincount(place, chance, SCORE_BINS)
        self._zeros += np.bincount(place, 1 - chance, SCORE_BINS)

    def value(self) -> float:
        """The AUC over all scores so far."""
        zeros_below = np.cumsum(self._zeros) - self._zeros / 2
        return float(self._ones @ zeros_below / (self._ones.sum() * self._zeros.sum()))


def _write(
    folder: Path, made_by: Mapping[str, Any], rows: int, seed: int, sizes: Sequence[tuple[str, int]], model: Model,
    label_kind: LabelKind, label: Labeller, best: Callable[[], dict[str, float]],
) -> None:  # fmt: skip
    """Make and write all chunks; `label` sees their scores in order, `best` then says what is best reached."""
    columns = [Column(f"N{i}", "numeric", None, "made") for i in range(1, model.n_numeric + 1)]
    columns += [Column(name, "categorical", size, "made") for (name, _), size in zip(sizes, model.sizes, strict=True)]
    total, starts = 0.0, range(0, rows, CHUNK_ROWS)
    made = ordered_map(partial(make_features, model, seed), range(len(starts)))
    with TableWriter(folder, columns, label_kind=label_kind, rows=rows) as writer:
        for chunk, (categorical, numeric, score) in enumerate(made):
            start, m = starts[chunk], min(CHUNK_ROWS, rows - starts[chunk])
            labels = label(score[:m], np.random.default_rng((seed, 2, chunk)))
            writer.write(start, categorical[:m], numeric[:m], labels)
            total += float(labels.sum(dtype=np.float64))
        for column in columns:  # the raw value of a code is its number; numbers are as they were made
            if column.vocab_size is None:
                writer.set_encoding(column.name, encoding("number", missing=None, fill=None, transform="none"))
            else:
                writer.set_vocabulary(column.name, pl.int_range(1, column.vocab_size, eager=True))
        writer.finish(made_by=made_by, source={"made": True}, facts={"label_mean": total / rows} | best())
