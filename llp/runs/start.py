"""What a run trains: a method before its first step, on its data; and whether it is trained anew in the end."""

from pathlib import Path
from typing import TYPE_CHECKING

from llp.config.commands import TrainConfig
from llp.config.schema import ProtocolConfig, SelectBy
from llp.data.bags import GroupingKey
from llp.data.table import InstanceTable
from llp.runs.build import build_data, build_method, build_model
from llp.runs.load import load_weights

if TYPE_CHECKING:
    from llp.data.datamodule import LLPDataModule
    from llp.methods.base import LLPMethod

FINAL, CHOSEN = "best.pt", "chosen.pt"
"""Kept weights: of the final model; where it was trained anew, also those of the chosen epoch, beside them."""

ENOUGH_BAGS = 20
"""Held-out bags from which on an estimate of the instances' loss picks by itself; no comparison had fewer."""
CUT_BAGS = ("fixed", "prior")
"""Kinds of bags that are cut from sorted rows: neither do their instances share a key, nor are they drawn at random."""


def refits(protocol: ProtocolConfig, key: GroupingKey) -> bool:
    """Whether the final model is trained anew on all train bags, once the epoch is chosen.

    `protocol.refit=auto`: where bags differ by what they are made of, so that each one says something of its own.
    """
    return key.kind in ("feature", "given") if protocol.refit == "auto" else bool(protocol.refit)


def selects_by(protocol: ProtocolConfig, data: "LLPDataModule") -> SelectBy:
    """What picks the epoch.

    `protocol.select_by=auto`: of labels 0 and 1, where `ENOUGH_BAGS` are held out that are not cut from sorted rows and
    do not overlap, the estimate whose picks lost least (docs/suite.md); else the bags' loss.
    """
    if protocol.select_by != "auto":
        return protocol.select_by
    apart = data.key.kind not in CUT_BAGS and not data.bags_overlap
    drawn = len(data.held_out_bags) >= ENOUGH_BAGS and apart
    return "upm" if data.table.label_kind == "binary" and drawn else "bag_loss"


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
    return method, data
