"""A stand-in for the files of the AdKDD 2021 challenge: `python -m benchmarks.adkdd FOLDER --rows 100000`.

Of a population of displays with 19 hashed columns, clicks and sales, there are the sums over the cells of every column
and every pair (pairs of 10 rows or fewer are dropped), each with Gaussian noise; some rows without labels; few with
them; and rows of another draw that measure. Values come from `llp.datasets.scoring_model`.
"""

import argparse
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import expit

from llp.datasets import scoring_model
from llp.datasets.scoring_model import CHUNK_ROWS
from llp.metrics.evaluation import all_measures

SIZES = (5, 8, 12, 20, 30, 40, 60, 80, 100, 150, 200, 300, 400, 600, 800, 1200, 2000, 4000, 8000)
NAMES = [f"hash_{i}" for i in range(len(SIZES))]
SIGMA, LEAST = 17.0, 10
SINGLES, PAIRS = "aggregated_noisy_data_singles.csv", "aggregated_noisy_data_pairs.csv"
SIGNAL, CLICKS, SALES = 1.5, 0.1, 0.05


def write(folder: Path, *, rows: int, population: int, labelled: int, test: int, seed: int) -> None:
    """Write `unlabelled.csv` and `train.csv` of the population, `test.csv` of further rows, and the aggregates.

    Says how well the chances that clicks were drawn with do on the test rows: no model does better but by luck.
    """
    folder.mkdir(parents=True, exist_ok=True)
    frame, scores = displays(population + test, seed)
    counted = frame.head(population)
    counted.head(rows).select(NAMES).write_csv(folder / "unlabelled.csv")
    counted.tail(labelled).write_csv(folder / "train.csv")
    frame.tail(test).write_csv(folder / "test.csv")
    of_test = all_measures(scores[-test:], frame["click"].tail(test).to_numpy(), "binary")
    print(f"chances of test.csv: AUC {of_test['auc']:.4f}, log loss {of_test['log_loss']:.4f}")
    rng = np.random.default_rng((seed, 5))
    for name, order, least in ((SINGLES, 1, 0), (PAIRS, 2, LEAST)):
        with (folder / name).open("wb") as file:
            for i, query in enumerate(combinations(range(len(NAMES)), order)):
                aggregate(counted, query, least, rng).write_csv(file, include_header=i == 0)


def displays(rows: int, seed: int) -> tuple[pl.DataFrame, NDArray[np.float64]]:
    """Rows (n, 21): hashes of the columns, click and sale, a sale being of a clicked row; and the clicks' log-odds."""
    model = scoring_model.make_model(SIZES, n_numeric=0, seed=seed)
    bias = scoring_model.bias_for(model, seed, signal=SIGNAL, rate=CLICKS)
    parts, scores = [], []
    for chunk in range(-(-rows // CHUNK_ROWS)):
        codes, _, score = scoring_model.make_features(model, seed, chunk)
        uniform = np.random.default_rng((seed, 3, chunk)).random((2, len(score)))
        scores.append(SIGNAL * score + bias)
        click = uniform[0] < expit(scores[-1])
        sale = click & (uniform[1] < SALES)
        hashed = {name: hash_of(codes[:, i], i) for i, name in enumerate(NAMES)}
        parts.append(pl.DataFrame(hashed | {"click": click.astype(np.int8), "sale": sale.astype(np.int8)}))
    return pl.concat(parts).head(rows), np.concatenate(scores)[:rows]


def hash_of(code: np.ndarray, column: int) -> np.ndarray:
    """A number of 32 bits with a sign, another for every code of a column."""
    return ((code.astype(np.int64) * 2_654_435_761 + (column + 1) * 40_503_521) % 2**32 - 2**31).astype(np.int32)


def aggregate(frame: pl.DataFrame, query: tuple[int, ...], least: int, rng: np.random.Generator) -> pl.DataFrame:
    """The cells of more than `least` rows of a query, in the challenge's form, with noise in each number."""
    names = [NAMES[i] for i in query]
    sums = {"nb_clicks": pl.col("click").sum(), "nb_sales": pl.col("sale").sum()}
    cells = frame.group_by(names).agg(pl.len().alias("count"), **sums).filter(pl.col("count") > least).sort(names)
    numbers = ("count", "nb_clicks", "nb_sales")
    return cells.select(
        *(pl.col(name).alias(f"feature_{i}_value") for i, name in enumerate(names, 1)),
        *(pl.lit(column).alias(f"feature_{i}_id") for i, column in enumerate(query, 1)),
        *((pl.col(name) + pl.Series(rng.normal(0, SIGMA, cells.height))).round(3) for name in numbers),
    )


def main() -> None:
    """Read the command line, and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.adkdd", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000, help="without labels")
    parser.add_argument("--population", type=int, help="that the aggregates count; 4 times as many")
    parser.add_argument("--labelled", type=int, default=100_000)
    parser.add_argument("--test", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    given = vars(parser.parse_args())
    write(**given | {"population": given["population"] or 4 * given["rows"]})


if __name__ == "__main__":
    main()
