"""What a run trains: a method before its first step, on its data."""

from pathlib import Path
from typing import TYPE_CHECKING

from llp.config.commands import TrainConfig
from llp.data.table import InstanceTable
from llp.runs.build import build_data, build_method, build_model
from llp.runs.load import load_weights
from llp.training.selection import check_estimated, refits

if TYPE_CHECKING:
    from llp.data.datamodule import LLPDataModule
    from llp.methods.base import LLPMethod

FINAL, CHOSEN = "best.pt", "chosen.pt"
"""Kept weights: of the final model; where it was trained anew, also those of the chosen epoch, beside them."""


def start(
    config: TrainConfig, table: InstanceTable, first: Path | None, *, refit: bool
) -> tuple["LLPMethod", "LLPDataModule"]:
    """The method before its first step, and its data.

    Parameters
    ----------
    config, table
        The config and its dataset's table.
    first : Path or None
        Folder of the finished first stage that the method starts from.
    refit : bool
        Whether nothing is held out, and the first stage's final weights count: those of its chosen epoch have not
        seen what is held out here too.
    """
    method = build_method(config, table)
    if first is not None:
        first_model = build_model(config, table)
        held_out = refits(config.protocol, config.grouping_key) and not refit
        load_weights(first_model, first, CHOSEN if held_out else FINAL)
        method.start_from(first_model)
    data = build_data(
        config,
        table,
        instance_labels=method.sees_instance_labels,
        labels_as_given=method.labels_as_given,
        all_bags=refit,
    )
    if not refit:
        check_estimated(config.protocol, method, data)
    return method, data
