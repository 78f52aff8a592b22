"""The measures of bag datasets that an analysis has left, and scores set against them."""

from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import polars as pl
from scipy import stats

from llp.analysis.figures import shown_keys
from llp.files import folder_name

HARDNESS = {  # measure of hardness: its name in the literature
    "mean_bag_size": "MeanBagSize",
    "std_label_proportion": "LabelPropStdev",
    "inter_intra_ratio": "InterIntraRatio",
}
FAR = 2.5  # robust standard deviations from the trend: an outlier


def analysis_path(outputs_dir: Path, dataset: str) -> Path:
    """The file in which `llp.analyze` leaves a dataset's measures."""
    return outputs_dir / "analysis" / folder_name(dataset) / "analysis.parquet"


def read_analysis(path: Path) -> tuple[pl.DataFrame | None, str]:
    """The rows of an analysis, or None and why there are none."""
    command = f"python -m llp.analyze dataset={unquote(path.parent.name)}"
    if not path.is_file():
        return None, f"{path} is not there; write it: {command}"
    try:
        rows = pl.read_parquet(path, glob=False)
        shown_keys(rows).select("grouping_key", pl.col(*HARDNESS).is_finite())
    except (OSError, pl.exceptions.PolarsError) as error:
        problem = str(error).splitlines()[0]
        return None, f"{path} cannot be used ({problem}); write it again: {command}"
    return rows, ""


def against_hardness(cells: pl.DataFrame, analysis: pl.DataFrame) -> pl.DataFrame:
    """Defined means on analysed feature keys, in the benchmark's settings alone, with `HARDNESS` and the clusters."""
    clusters = [name for name in analysis.columns if name.startswith("cluster_")]
    measures = analysis.filter(pl.col("kind") == "feature").select("grouping_key", *HARDNESS, *clusters)
    chosen = cells.filter((pl.col("bag_kind") == "feature") & (pl.col("setting") == "") & pl.col("mean").is_not_null())
    return chosen.join(measures, on="grouping_key", maintain_order="left")


def trends(joined: pl.DataFrame) -> list[dict[str, Any]]:
    """Theil's and Sen's line of each method over ranks in each measure, and datasets `FAR` deviations off it."""
    rows = []
    for measure in HARDNESS:
        keys = joined.filter(pl.col(measure).is_finite()).select("grouping_key", measure).unique()
        place = {key: i for i, key in enumerate(keys.sort(measure, "grouping_key")["grouping_key"])}
        for method in joined["column"].unique(maintain_order=True):
            own = joined.filter((pl.col("column") == method) & pl.col("grouping_key").is_in(list(place)))
            if len(own) < 4:
                continue
            x, y = np.array([place[key] for key in own["grouping_key"]]), own["mean"].to_numpy()
            slope, intercept, *_ = stats.theilslopes(y, x)
            off = y - (intercept + slope * x)
            off = off - np.median(off)
            far = FAR * 1.4826 * np.median(np.abs(off))
            names = own["grouping_key"].to_numpy()
            rows.append(
                {
                    "measure": measure,
                    "column": method,
                    "spearman": float(stats.spearmanr(x, y).statistic) if np.ptp(y) else float("nan"),
                    "slope": float(slope),
                    "intercept": float(intercept),
                    "above": sorted(names[off > far]) if far else [],
                    "below": sorted(names[off < -far]) if far else [],
                }
            )
    return rows
