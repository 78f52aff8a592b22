"""A file of impressions and a report of the clicks of each campaign, by the commands: no impression has a label."""

# %% Two files: impressions that name their campaign, and the sum of clicks of each campaign
import subprocess
import sys

import numpy as np
import polars as pl

rng = np.random.default_rng(0)
n = 10_000
price, shop = rng.normal(size=n).round(3), rng.integers(0, 8, n)
clicked = rng.random(n) < 1 / (1 + np.exp(1 - price - shop / 4))
campaign = np.argsort(np.argsort(price + rng.normal(size=n))) // 50
impressions = pl.DataFrame(
    {"id": np.arange(n), "campaign": campaign, "shop": [f"shop {one}" for one in shop], "price": price}
)
impressions.write_csv("impressions.csv", separator=";")
report = impressions.with_columns(clicked=clicked).group_by("campaign")
report.agg(label_sum=pl.col("clicked").sum(), size=pl.len()).sort("campaign").write_csv("clicks.csv")


def llp(module: str, *options: str) -> None:
    """Run a command as on the command line."""
    subprocess.run([sys.executable, "-m", f"llp.{module}", *options], check=True)


# %% Prepare once: kinds of columns are inferred and shown
llp(
    "prepare",
    "dataset=files",
    "name=ads",
    "files=impressions.csv",
    "bag_column=campaign",
    "bags=clicks.csv",
    "id_column=id",
)

# %% Train three methods; bags that are held out choose the epoch and measure each
llp(
    "train", "-m", "dataset=ads", "grouping_key.n_folds=1", "protocol=holdout", "fold=0", "save_model=true",
    "method=dllp_bce,upm,genbags", "trainer.max_epochs=5",
)  # fmt: skip
llp("report", "dataset=ads")

# %% Score rows by the mean of the three runs; what nobody with aggregates alone could see is how well
llp("predict", "run=outputs/ads/given/*/fold=0/seed=0/*", "files=impressions.csv", "out=scores.parquet")
scores = pl.read_parquet("scores.parquet")
print(scores.head())
print(
    "mean score of those who clicked, and of the others:",
    scores.group_by(pl.Series(clicked)).agg(pl.mean("probability")),
)
