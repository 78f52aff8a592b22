"""Model selection: what picks the epoch, and whether the final model is trained again on all train bags.

Which bags are held out for it is drawn in `llp.data.overlap`; what is estimated from them is in `llp.metrics.held_out`.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llp.config.schema import ProtocolConfig, SelectBy
from llp.data.bags import GroupingKey
from llp.errors import invalid

if TYPE_CHECKING:  # torch and Lightning take seconds to import; a finished run is skipped without them
    from llp.data.datamodule import LLPDataModule
    from llp.methods.base import LLPMethod

ENOUGH_BAGS = 20
"""Held-out bags from which on an estimate of the instances' loss picks by itself; no comparison had fewer."""
CUT_BAGS = ("fixed", "prior")
"""Kinds of bags that are cut from sorted rows: neither do their instances share a key, nor are they drawn at random."""


def refits(protocol: ProtocolConfig, key: GroupingKey) -> bool:
    """Whether the final model is trained again on all train bags, once the epoch is chosen.

    `protocol.refit=auto`: where bags differ by what they are made of, so that each one says something of its own.
    """
    return key.kind in ("feature", "given") if protocol.refit == "auto" else bool(protocol.refit)


def selects_by(protocol: ProtocolConfig, data: "LLPDataModule") -> SelectBy:
    """What the epoch is selected by.

    `protocol.select_by=auto`: of labels 0 and 1, where `ENOUGH_BAGS` are held out that are not cut from sorted rows and
    do not overlap, the estimate whose picks lost least (docs/suite.md); else the bags' loss.
    """
    if protocol.select_by != "auto":
        return protocol.select_by
    apart = data.key.kind not in CUT_BAGS and not data.bags_overlap
    drawn = len(data.held_out_bags) >= ENOUGH_BAGS and apart
    return "upm" if data.table.label_kind == "binary" and drawn else "bag_loss"


def check_estimated(protocol: ProtocolConfig, method: "LLPMethod", data: "LLPDataModule") -> None:
    """Refuse to select by an estimate that the held-out bags do not define.

    Raises
    ------
    InputError
        They are too few.
    """
    from llp.metrics.held_out import LEAST_BAGS

    found = len(data.held_out_bags)
    estimated = protocol.select_by not in ("test", "auto", "bag_loss") and not method.sees_instance_labels
    if estimated and found < LEAST_BAGS:
        expected = f"bag_loss, as an estimate needs {LEAST_BAGS} held-out bags and there are {found}"
        raise invalid("protocol.select_by", protocol.select_by, expected, "bag_loss")


@dataclass(frozen=True)
class Monitor:
    """The value that picks the epoch: its logged name and whether larger ('max') or smaller ('min') is better."""

    name: str
    mode: str

    @property
    def held_out(self) -> bool:
        """Whether it is of what is held out of the train rows."""
        return self.name.startswith("held_out")

    def better(self, value: float, than: float) -> bool:
        """Whether `value` beats `than`; NaN never does, and anything beats NaN."""
        if math.isnan(than):
            return not math.isnan(value)
        return value > than if self.mode == "max" else value < than


def monitor_of(method: "LLPMethod", select_by: SelectBy) -> Monitor:
    """The test metric, or an estimate on what is held out; of methods that see instance labels their loss there."""
    from llp.metrics.evaluation import main_metric

    if select_by != "test":
        of_rows = select_by == "bag_loss" or method.sees_instance_labels
        return Monitor("held_out_loss" if of_rows else f"held_out_{select_by}", "min")
    name, mode = main_metric(method.label_kind)
    return Monitor(f"test_{name}", mode)
