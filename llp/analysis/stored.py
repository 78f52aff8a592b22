"""Measures of one grouping key in a file: checked when they are read back, so that a damaged file is no result."""

import hashlib
import json
import logging
import math
from pathlib import Path

from llp.analysis.hardness import Measures
from llp.files import write_atomically
from llp.read_back import read_small

log = logging.getLogger(__name__)


def write_measures(path: Path, measures: Measures) -> None:
    """Write measures with their checksum, as strict JSON: what is not finite becomes null."""
    plain = {name: value if math.isfinite(value) else None for name, value in measures.items()}
    content = json.dumps({"measures": plain, "sha256": _checksum(plain)}, allow_nan=False)
    write_atomically(path, lambda temporary: temporary.write_text(content))


def read_measures(path: Path) -> Measures | None:
    """Read measures back; None where there are none, or none that can be used, which is said."""
    try:
        content = json.loads(read_small(path))
        plain = content["measures"]
        if content["sha256"] != _checksum(plain):
            raise ValueError("the checksum is another")
        return {name: math.nan if value is None else value for name, value in plain.items()}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        log.warning("%s is damaged (%s): the key is measured again", path, error)
        return None


def _checksum(plain: dict[str, float | None]) -> str:
    return hashlib.sha256(json.dumps(plain).encode()).hexdigest()
