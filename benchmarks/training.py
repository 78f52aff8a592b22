"""Rates of training and evaluation through the real run, for the timings of both kinds of devices."""

from pathlib import Path

import polars as pl

from benchmarks.measuring import compose_config
from llp.runs.build import open_table
from llp.runs.identity import Run
from llp.runs.run import run_one

BAG_SIZE = 256
PAPER = (
    "dllp_bce", "dllp_mse", "dllp_mae", "genbags", "easy_llp", "ot_llp", "soft_erot_llp", "hard_erot_llp", "sim_llp",
)  # fmt: skip


def full_vocabulary(rows: int, outputs_dir: Path, *overrides: str) -> list[str]:
    """Overrides of a run on made rows with the full published vocabulary, in bags of 256, 8 a minibatch."""
    return [
        "dataset=synthetic",
        f"dataset.rows={rows}",
        f"grouping_key=random_{BAG_SIZE}",
        f"outputs_dir={outputs_dir}",
        *overrides,
    ]


def curve_of(*overrides: str) -> pl.DataFrame:
    """Run a point again and read its epochs' curve."""
    config = compose_config(*overrides, "force=true")
    run = Run.of(config.identity, open_table(config.dataset, config.data_dir), config.outputs_dir)
    run_one(config)
    return pl.read_csv(run.folder / "metrics.csv")


def instances_per_second(*overrides: str) -> float:
    """Training rate of a point: the best of its epochs after the first, in which caches and kernels are made."""
    best = curve_of(*overrides)["instances_per_second"][1:].max()
    assert isinstance(best, float), "a run of two epochs or more"
    return best
