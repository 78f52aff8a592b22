"""A run before it starts: the hash of all that decides its numbers, and its folder."""

import hashlib
import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llp.config.grouping_keys import key_of
from llp.data.given_bags import n_sums_outside
from llp.data.keys import GroupingKey
from llp.data.table import InstanceTable
from llp.runs.book import finished_record
from llp.runs.point import Point
from llp.runs.record import NewerRecordError, RecordError, RunRecord

log = logging.getLogger(__name__)

NEAREST = ("SubsetMatching", "OTLLP", "EROTLLP", "ROT", "MixBag")
"""Methods that did not always take the nearest possible sum in the place of an impossible one."""
MANY_SAMPLED = 100_000
"""Rows of a sample above which not every factor of the penalty is tried: two halves of `llp.reports.sample.MANY`."""


@dataclass(frozen=True)
class Run:
    """A run's place: everything about it that is known before it starts."""

    folder: Path
    hash: str  # eight hexadecimal digits of the identity, the table's fingerprint and what else is read
    config: dict[str, Any]  # the resolved identity
    point: Point

    @classmethod
    def of(cls, identity: dict[str, Any], table: InstanceTable, outputs_dir: Path) -> "Run":
        """The run of a config's identity (`TrainConfig.identity`) on a table."""
        key = key_of(identity["grouping_key"])
        read = {"table": table.fingerprint, **key.digests(), **_of_sums(identity, key, table)}
        text = json.dumps({**identity, **read}, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        dataset, method = identity["dataset"]["name"], identity["method"]["name"]
        point = Point(str(dataset), key.name, str(method), identity["fold"], identity["seed"])
        return cls(point.folder(outputs_dir) / digest, digest, identity, point)

    @property
    def result_path(self) -> Path:
        """The finished-mark."""
        return self.folder / "result.json"

    @property
    def weights_path(self) -> Path:
        """The best weights, where they are kept: the model's state_dict."""
        return self.folder / "checkpoints" / "best.pt"

    def finished(self, need_weights: bool = False, *, warn: bool = True) -> RunRecord | None:
        """The result record; None without it or the weights needed; NewerRecordError of a later version's."""
        try:
            return finished_record(self.folder, needs_weights=need_weights)
        except NewerRecordError as error:
            raise NewerRecordError(f"{error}; write force=true to train the run again") from None
        except RecordError as error:
            if warn:
                log.warning("%s: the run is done again", error)
            return None


def _of_sums(identity: dict[str, Any], key: GroupingKey, table: InstanceTable) -> dict[str, Any]:
    """Facts of the bags' sums that make other numbers than in earlier versions, and so another hash."""
    found: dict[str, Any] = {}
    if (most := key.most_bags_of_a_row(table)) > 1:
        found["bags_of_a_row"] = most
    method, binary = json.dumps(identity["method"]), identity["dataset"]["label_kind"] == "binary"
    noisy = "noise" in identity or (key.kind == "given" and n_sums_outside(table.folder) > 0)
    if binary and noisy and any(f".{name}" in method for name in NEAREST):
        found["sums_outside"] = "nearest"
    if identity["method"].get("recalibrate"):
        found["recalibrated"] = "offset"
    if "Distilled" in method and key.measured_by_bags(table):
        found["teacher"] = "of the bags that are not held out"
    if "CellGLM" in method and key.kind == "given" and table.schema.made_by.get("rows"):
        found["sampling"] = "in the noise, of a rough fit"
        if table.schema.rows > MANY_SAMPLED:
            found["factor"] = "near 10 first"
    if "CellGLM" in method and noisy and binary and '"penalty": "auto"' in method:
        found["grouping"] = "of possible loss"
    return found
