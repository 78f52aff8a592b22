"""A finished run as files that score without this package: a torch.export program, its preprocessing, a model card.

TorchScript is no longer developed, and ONNX needs two further packages; torch.export comes with torch.
"""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jinja2 import Environment, PackageLoader, StrictUndefined
from torch import Tensor, nn

from llp.data.noise import CAVEAT
from llp.data.table import InstanceTable
from llp.datasets.files.recipe import Recipe
from llp.errors import InputError
from llp.files import remove_killed, write_atomically
from llp.methods.base import LLPMethod
from llp.models.cell_weights import CellWeights
from llp.models.label_start import begun
from llp.runs.record import RunRecord
from llp.scoring.cell_weights import FILE as WEIGHTS
from llp.scoring.cell_weights import weights_table
from llp.scoring.trained import TrainedRuns

MODEL, PREPROCESSING, CARD = "model.pt2", "preprocessing.json", "README.md"
CHECKED_ROWS = 10_000
TOLERANCE = 1e-6


class Scorer(nn.Module):
    """Codes and numbers to log-odds (binary label) or predictions (real one) of a trained method."""

    def __init__(self, method: LLPMethod) -> None:
        super().__init__()
        self.model = method.model
        self._log_odds = method.log_odds

    def forward(self, categorical: Tensor, numeric: Tensor) -> Tensor:
        """Scores (n,) float32 of categorical (n, Fc) int32 and numeric (n, Fn) float32."""
        return self._log_odds(begun(self.model, self.model(categorical, numeric)))


def export(runs: TrainedRuns, out: Path) -> float:
    """Write a run's program and preprocessing into a folder, and score `CHECKED_ROWS` rows with what was written.

    Gives the greatest difference of a score to the run's own, and refuses one above `TOLERANCE`.
    """
    (method,) = runs.methods
    scorer, table = Scorer(method).eval(), runs.table
    rows = np.unique(np.linspace(0, table.n_rows - 1, CHECKED_ROWS).astype(np.int64))
    categorical, numeric = torch.from_numpy(table.categorical[rows]), torch.from_numpy(table.numeric[rows])
    n = torch.export.Dim("n")
    with torch.inference_mode(False), torch.no_grad():
        example = categorical[:2].clone(), numeric[:2].clone()
        program = torch.export.export(scorer, example, dynamic_shapes={"categorical": {0: n}, "numeric": {0: n}})
    packed = io.BytesIO()  # on a full disk torch's own writer ends the process
    torch.export.save(program, packed)
    for name in (MODEL, PREPROCESSING, WEIGHTS, CARD):
        remove_killed(out / name)
    write_atomically(out / MODEL, lambda path: path.write_bytes(packed.getbuffer()))
    if isinstance(method.model, CellWeights):
        weights = weights_table(method.model, table)
        write_atomically(out / WEIGHTS, weights.write_csv)
    text = json.dumps(preprocessing(table), indent=1)
    write_atomically(out / PREPROCESSING, lambda path: path.write_text(text))
    record = RunRecord.read(runs.folders[0] / "result.json")
    write_atomically(out / CARD, lambda path: path.write_text(card(record, table), encoding="utf-8"))
    with torch.no_grad():
        written = torch.export.load(out / MODEL).module()(categorical, numeric)
        difference = float((written - scorer(categorical, numeric)).abs().max())
    if not difference <= TOLERANCE:
        raise InputError(f"{out / MODEL} scores otherwise than the run, by up to {difference:g}: do not use it")
    return difference


def card(record: RunRecord, table: InstanceTable) -> str:
    """A model card in Markdown, made of a run's record: data, bags, protocol, measures, privacy, limits."""
    loader = PackageLoader("llp.scoring", ".")
    environment = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True)
    constants = [name for name in record.measures if name.startswith("constant_")]
    template = environment.get_template("card.md.j2")
    return template.render(record=record, table=table, constants=constants, caveat=CAVEAT)


def _encoding(table: InstanceTable, column: str) -> dict[str, Any]:
    record = table.schema.encodings.get(column)
    if record is None:
        return {}
    values = {"values": table.vocabulary(column)["value"].to_list()} if record["kind"] == "vocabulary" else {}
    return {"encoding": record} | values


def preprocessing(table: InstanceTable) -> dict[str, Any]:
    """A description of what turns raw rows into the program's inputs.

    `categorical` and `numeric` are the input's columns in order, each with the raw `column` and the `value` of it that
    is taken; `values` are those of codes 1, 2, ... (code 0: any other) as canonical texts (see
    `llp.datasets.files.values.canonical`), with `numbers` those of numbers, `edges` the upper ends of the bins 1, 2,
    ... (code 0: missing), `mean` and `std` what standardises a number (missing: the mean). Of a table that was not made
    from own files: each column's record of `llp.data.vocabulary`, as `encoding`, and those `values`.
    """
    kind = {"label_kind": table.label_kind}
    if not (table.folder / "recipe.json").is_file():
        return kind | {
            "categorical": [
                {"name": one.name, "codes": one.vocab_size} | _encoding(table, one.name)
                for one in table.schema.categorical
            ],
            "numeric": [{"name": one.name} | _encoding(table, one.name) for one in table.schema.numeric],
        }
    recipe = Recipe.load(table.folder)
    described: dict[str, list[dict[str, Any]]] = {"categorical": [], "numeric": []}
    for feature in recipe.features:
        one: dict[str, Any] = {"name": feature.name, "column": feature.column, "value": feature.value}
        if feature.value == "number":
            described["numeric"].append(one | {"mean": feature.mean, "std": feature.std})
        elif feature.value == "bins":
            described["categorical"].append(one | {"edges": list(feature.edges)})
        else:
            known = {"numbers": feature.numbers, "values": recipe.vocabularies[feature.name].to_list()}
            described["categorical"].append(one | known)
    options = recipe.options
    reading = {"missing": ["", *options.reading.missing], "date_format": options.coding.date_format}
    return kind | {"decimal": options.reading.decimal, "thousands": options.reading.thousands} | reading | described
