"""What a user would write by hand in place of a command: `python benchmarks/by_hand.py prepare FILE OUT`, or `score`.

`prepare` makes the arrays of `llp.prepare` with its defaults of the rows of `benchmarks.predict`; `score` gives the
probabilities of `llp.predict` by a run's weights. Run by its path it imports nothing of this package.
"""

import json
import sys
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

BINS, RARE = 32, 10


def prepare(source: str, folder: str) -> None:
    """Code a file's texts, numbers and bins, and write the arrays."""
    frame, out = pl.read_csv(source) if source.endswith(".csv") else pl.read_parquet(source), Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    known: dict[str, list[str]] = {}
    codes, numbers = [], []
    for name in frame.columns:
        if name.startswith("C"):
            counts = frame[name].value_counts().filter(pl.col("count") > RARE)
            known[name] = counts.sort("count", name, descending=[True, False])[name].to_list()
            codes.append(coded(frame[name], pl.Series(known[name])))
        elif name.startswith("N"):
            x = frame[name].cast(pl.Float64).to_numpy()
            seen = x[~np.isnan(x)]
            numbers.append(np.nan_to_num((x - seen.mean()) / seen.std()).astype(np.float32))
            codes.append(binned(x, np.quantile(seen, np.arange(1, BINS) / BINS)))
    np.save(out / "categorical.npy", np.stack(codes, 1))
    np.save(out / "numeric.npy", np.stack(numbers, 1))
    np.save(out / "label.npy", frame["clicked"].to_numpy().astype(np.float32))
    frame.select("id").write_parquet(out / "ids.parquet")
    (out / "known.json").write_text(json.dumps(known))


def coded(values: pl.Series, known: pl.Series) -> NDArray[np.int32]:
    """Places of values among the known ones, from 1; 0 for others."""
    places = pl.Series(np.arange(1, len(known) + 1, dtype=np.int32))
    return values.replace_strict(known, places, default=0, return_dtype=pl.Int32).to_numpy()


def binned(x: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.int32]:
    """Bins of numbers from 1; 0 where one is missing."""
    return np.where(np.isnan(x), 0, 1 + np.searchsorted(edges, x)).astype(np.int32)


def score(source: str, run: str, table: str, out: str) -> None:
    """Score a file's rows by the weights of a run of the default model."""
    import torch

    weights = torch.load(Path(run) / "checkpoints" / "best.pt", weights_only=True)
    frame, codes, numbers, first = pl.read_parquet(source), [], [], 0
    for i, one in enumerate(json.loads((Path(table) / "recipe.json").read_text())["features"]):
        x = frame[one["column"]]
        if one["value"] == "text":
            known = pl.read_parquet(Path(table) / "vocabulary" / f"{i}.parquet")["value"]
            codes.append(coded(x, known) + first)
            first += len(known) + 1
        elif one["value"] == "bins":
            codes.append(binned(x.cast(pl.Float64).to_numpy(), np.array(one["edges"])) + first)
            first += len(one["edges"]) + 2
        else:
            numbers.append(np.nan_to_num((x.cast(pl.Float64).to_numpy() - one["mean"]) / one["std"]))
    with torch.inference_mode():
        rows, z = torch.from_numpy(np.stack(codes, 1)), torch.from_numpy(np.stack(numbers, 1)).float()
        h = torch.nn.functional.embedding_bag(rows, weights["first.weight"], mode="sum")
        h = torch.relu(h + weights["first.bias"] + z @ weights["first.numeric.weight"].T)
        h = torch.relu(h @ weights["body.1.weight"].T + weights["body.1.bias"]) @ weights["score.weight"].T
        h = weights["label_start.offset"] + weights["label_start.scale"] * (h + weights["score.bias"])
    probability = torch.sigmoid(h).squeeze(1).numpy()
    frame.select("id").with_columns(probability=pl.Series(probability)).write_parquet(out)


if __name__ == "__main__":
    if sys.argv[1] == "prepare":
        prepare(*sys.argv[2:])
    else:
        score(*sys.argv[2:])
