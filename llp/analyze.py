"""Measure what bag datasets are made of: `python -m llp.analyze dataset=flights`.

Every grouping key of a dataset up to a size, with random and fixed-size bags beside them: one row of measures each,
in `<outputs_dir>/analysis/<dataset>/analysis.parquet` and `.csv`, with figures. The row of a key is stored as soon
as it is known, so an analysis that was cut off goes on where it was.
"""

import hashlib
import itertools
import json
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import hydra
import numpy as np
import polars as pl
from hydra.errors import CompactHydraException
from omegaconf import DictConfig, OmegaConf

from llp.config import CONF_DIR, grouping_key, register
from llp.data.bags import Bags, GroupingKey, build_all
from llp.data.table import InstanceTable
from llp.errors import InputError
from llp.files import write_atomically
from llp.metrics.clusters import assign, clusterings
from llp.metrics.counting import CodeColumn, GroupCounts, count_groups, read_column
from llp.metrics.hardness import Measures, hardness
from llp.metrics.separation import (
    Block,
    bag_sep_matrix,
    from_matrix,
    separation_measures,
    squared_euclidean,
    sum_of_moments,
)
from llp.metrics.space import make_space
from llp.prepare import prepare_table

register()

log = logging.getLogger(__name__)

Row = dict[str, Any]


@hydra.main(config_path=str(CONF_DIR), config_name="analyze", version_base="1.3")
def main(config: DictConfig) -> None:
    """Analyze one dataset."""
    try:
        analyze(config)
    except InputError as error:
        raise CompactHydraException(str(error)) from None  # Hydra prints its message without a traceback


def analyze(config: DictConfig) -> Path:
    """Measure all bag datasets of a dataset; returns the folder of the results.

    Parameters
    ----------
    config : DictConfig
        A composed `conf/analyze.yaml`.

    Raises
    ------
    InputError
        The config does not fit, or the dataset is not prepared.
    """
    from llp.results.analysis_figures import draw_figures
    from llp.results.analysis_table import show_rows

    check_config(config)
    table = InstanceTable.open(prepare_table(config.dataset, Path(config.data_dir)))
    folder = Path(config.outputs_dir) / "analysis" / config.dataset.name
    rows = measure_all(config, table, folder)
    add_clusters(rows, config, table)
    frame = pl.DataFrame(rows, infer_schema_length=None)
    write_atomically(folder / "analysis.parquet", frame.write_parquet)
    write_atomically(folder / "analysis.csv", frame.write_csv)
    draw_figures(frame, folder / "figures", config.dataset.name)
    show_rows(frame, config.dataset.name)
    log.info("written to %s", folder)
    return folder
