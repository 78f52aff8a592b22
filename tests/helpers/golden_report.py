"""A small report with fits that other solvers found."""

import json
from pathlib import Path

GOLDEN = json.loads((Path(__file__).parents[1] / "parity" / "golden" / "reports" / "golden.json").read_text())
