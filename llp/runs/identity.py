"""What a run is before it starts: the hash of what decides its numbers, and its folder."""

import hashlib
import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from llp.config.grouping_keys import key_of
from llp.config.rerun import CHOSEN, IDENTITY, identity_of
from llp.data.given_bags import most_bags_of_a_row, n_sums_outside
from llp.data.prior import scores_digest
from llp.data.table import InstanceTable
from llp.files import folder_name, is_whole
from llp.runs.build import resolved
from llp.runs.record import NewerRecordError, RecordError, RunRecord

log = logging.getLogger(__name__)

NEAREST = ("SubsetMatching", "OTLLP", "EROTLLP", "ROT", "MixBag")
"""Methods that did not always take the nearest possible sum in the place of an impossible one."""


@dataclass(frozen=True)
class Run:
    """A run's place: everything about it that is known before it starts.

    Attributes
    ----------
    folder : Path
        Its folder.
    hash : str
        Eight hexadecimal digits of the resolved config's identity, the table's fingerprint and what else is read.
    config : dict
        The resolved identity.
    """

    folder: Path
    hash: str
    config: dict[str, Any]

    @classmethod
    def of(cls, config: DictConfig, table: InstanceTable) -> "Run":
        """The run of a composed config on a table."""
        names = (*IDENTITY, *(name for name in CHOSEN if name in config), "outputs_dir")
        return cls.of_content(resolved(config, names), table)

    @classmethod
    def of_content(cls, content: dict[str, Any], table: InstanceTable) -> "Run":
        """The run of a config's plain content on a table."""
        identity = identity_of(content)
        scores = content["grouping_key"].get("scores")
        read = {"table": table.fingerprint} | ({"scores": scores_digest(scores)} if scores else {})
        read |= _of_sums(content, table)
        text = json.dumps({**identity, **read}, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        names = (content["dataset"]["name"], key_of(content["grouping_key"]).name, content["method"]["name"])
        point = [*(folder_name(str(name)) for name in names), f"fold={content['fold']}", f"seed={content['seed']}"]
        return cls(Path(content["outputs_dir"]).joinpath(*point, digest), digest, identity)

    @property
    def result_path(self) -> Path:
        """The finished-mark."""
        return self.folder / "result.json"

    @property
    def weights_path(self) -> Path:
        """The best weights, where they are kept: the model's state_dict."""
        return self.folder / "checkpoints" / "best.pt"

    def finished(self, need_weights: bool = False, *, warn: bool = True) -> RunRecord | None:
        """The result record, or None while there is none (or none of the weights that are needed).

        Raises
        ------
        NewerRecordError
            A later version of the program has finished the run.
        """
        if not self.result_path.is_file() or (need_weights and not is_whole(self.weights_path)):
            return None
        try:
            return RunRecord.read(self.result_path)
        except NewerRecordError as error:
            raise NewerRecordError(f"{error}; write force=true to train the run again") from None
        except RecordError as error:
            if warn:
                log.warning("%s: the run is done again", error)
            return None


def _of_sums(content: dict[str, Any], table: InstanceTable) -> dict[str, Any]:
    """What of the bags' sums makes other numbers than in earlier versions, so that the hash is another one too.

    Rows in several bags: noise is scaled to how many, and bags that share one are held out from each other's training.
    Sums that labels of 0 and 1 cannot have: `NEAREST` take the nearest one that they can.
    """
    found: dict[str, Any] = {}
    given = content["grouping_key"]["kind"] == "given"
    if given and (most := most_bags_of_a_row(table.folder)) > 1:
        found["bags_of_a_row"] = most
    method, binary = json.dumps(content["method"]), content["dataset"]["label_kind"] == "binary"
    noisy = "noise" in content or (given and n_sums_outside(table.folder) > 0)
    if binary and noisy and any(f".{name}" in method for name in NEAREST):
        found["sums_outside"] = "nearest"
    return found


def keeps_weights(config: DictConfig | dict[str, Any]) -> bool:
    """Whether a run keeps its best weights, because it is asked to or because others start from them."""
    return bool(config["save_model"] or config["method"].get("keep_model"))


def describe(run: Run) -> str:
    """The point in words: dataset, key, method, fold and seed."""
    return " ".join(run.folder.parts[-6:-1])
