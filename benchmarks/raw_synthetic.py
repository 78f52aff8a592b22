"""Made raw files in the two formats of Criteo: the whole path from text to table is tested and timed with them."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import expit

from llp.datasets import scoring_model
from llp.datasets.ordered_map import ordered_map
from llp.datasets.published import published_sizes
from llp.datasets.scoring_model import CHUNK_ROWS

LARGE = 10_000  # columns with more values than this have a tail of values that are seen once or twice
EMPTY = ("C19", "C20", "C22", "C25", "C26")  # CTR columns whose most frequent value is the empty one
OFTEN_MISSING = ("C9", "C10", "C11", "C12")  # SSCL columns that are rarely known
HEX4 = pl.Series([f"{i:04x}" for i in range(2**16)])


def write_ctr(path: Path, *, rows: int, seed: int, vocab_fraction: float, tail_share: float, tail_values: int) -> None:
    """Write a plain-text file in the format of Criteo CTR's `train.txt`.

    `tail_share` of the instances have, in a large column, one of the `tail_values` of its tail; `rows`, `seed` and
    `vocab_fraction` are as in `synthetic.prepare_ctr`.
    """
    columns = published_sizes("ctr")
    model = scoring_model.make_model(scoring_model.scaled(columns, vocab_fraction), n_numeric=0, seed=seed)
    bias = scoring_model.bias_for(model, seed, signal=1.5, rate=0.25)

    def frame(chunk: int) -> pl.DataFrame:
        codes, _, score = scoring_model.make_features(model, seed, chunk)
        rng = np.random.default_rng((seed, 3, chunk))
        label = rng.random(len(score)) < expit(1.5 * score + bias)
        made = [pl.Series("label", label.astype(np.int8))]
        for i, (name, size) in enumerate(columns):
            code = codes[:, i].astype(np.int64)
            if name.startswith("N"):
                made.append(_number(name, code))
                continue
            if size > LARGE:
                from_tail = rng.random(len(code)) < tail_share
                code[from_tail] = size + rng.integers(0, tail_values, from_tail.sum())
            text = _hashes(code, i)
            made.append((text.set(pl.Series(code == 1), None) if name in EMPTY else text).alias(name))
        return pl.DataFrame(made)

    _write(path, frame, rows)


def write_sscl(path: Path, *, rows: int, seed: int, vocab_fraction: float, sale_share: float) -> None:
    """Write a plain-text file in the format of `CriteoSearchData`; `sale_share` of its lines are sales.

    The other parameters are as in `write_ctr`.
    """
    columns = published_sizes("sscl")
    model = scoring_model.make_model(scoring_model.scaled(columns, vocab_fraction), n_numeric=3, seed=seed)

    def frame(chunk: int) -> pl.DataFrame:
        codes, numeric, score = scoring_model.make_features(model, seed, chunk)
        rng = np.random.default_rng((seed, 3, chunk))
        m = len(score)
        sale = rng.random(m) < sale_share
        log_amount = np.sqrt(np.maximum(40 + 9 * score + 12 * rng.standard_normal(m), 0.1))
        made = {
            "sale": sale.astype(np.int8),
            "amount": np.where(sale, np.round(2**log_amount, 2), -1),
            "delay": np.where(sale & (rng.random(m) < 0.95), (86400 * numeric[:, 0]).astype(np.int64), -1),
            "time": 1_596_439_471 + (chunk * m + np.arange(m)) // 2,
            "clicks": np.where(rng.random(m) < 0.6, (10 * numeric[:, 1]).astype(np.int64), -1),
            "price": np.where(sale, np.round(50 * numeric[:, 2], 2), 0),
        }
        series = [pl.Series(name, values) for name, values in made.items()]
        for i, (name, _) in enumerate(columns):
            missing = (codes[:, i] == 0) | (rng.random(m) < (0.7 if name in OFTEN_MISSING else 0))
            text = _hashes(codes[:, i].astype(np.int64), i).str.to_uppercase()
            series.append(_title(text, missing, rng) if name == "C15" else _or_missing(text, missing).alias(name))
        return pl.DataFrame(series)

    _write(path, frame, rows)


def _number(name: str, code: NDArray[np.int64]) -> pl.Series:
    """The smallest integers x whose `int(ln(x)²)` is `code` (2 and less stay as they are); a missing one is 0."""
    value = np.where(code > 2, np.ceil(np.exp(np.sqrt(code))), code).astype(np.int64)
    return pl.Series(name, value).set(pl.Series(code == 0), None)


def _hashes(code: NDArray[np.int64], column: int) -> pl.Series:
    """Eight hexadecimal digits, another for every code and, with few exceptions, every column."""
    mixed = (code * 2_654_435_761 + (column + 1) * 40_503_521) % 2**32
    pieces = pl.select(high=HEX4.gather(mixed >> 16), low=HEX4.gather(mixed & 0xFFFF))
    return pieces.select(pl.concat_str("high", "low"))["high"]


def _or_missing(text: pl.Series, missing: NDArray[np.bool_]) -> pl.Series:
    return pl.Series("0000000000000000" + text + "00000000").set(pl.Series(missing), "-1")


def _title(text: pl.Series, missing: NDArray[np.bool_], rng: np.random.Generator) -> pl.Series:
    """A title of one to three words; a missing one is empty."""
    word = _or_missing(text, np.zeros(len(text), np.bool_))
    words = rng.integers(1, 4, len(text))
    title = word.set(pl.Series(words == 2), None)
    title = title.fill_null(word + " " + word)
    title = title.set(pl.Series(words == 3), None).fill_null(word + " " + word + " " + word)
    return title.set(pl.Series(missing), None).alias("C15")


def _write(path: Path, frame: Callable[[int], pl.DataFrame], rows: int) -> None:
    starts = range(0, rows, CHUNK_ROWS)

    def text(chunk: int) -> bytes:
        buffer = BytesIO()
        kept = frame(chunk).head(rows - starts[chunk])
        kept.write_csv(buffer, separator="\t", include_header=False, quote_style="never")
        return buffer.getvalue()

    with path.open("wb") as file:
        file.writelines(ordered_map(text, range(len(starts))))
