"""The space in which bag separations are measured: one block per column of a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from llp.analysis.counting import CodeColumn, read_column
from llp.analysis.separation import Block, Embedded, OneHot, Scaled
from llp.data.table import InstanceTable
from llp.errors import InputError

if TYPE_CHECKING:  # torch takes seconds to import, and the multi-hot space does without
    from torch import Tensor, nn


@dataclass(frozen=True)
class Space:
    """Where separations are measured.

    Attributes
    ----------
    name : str
        Tells this space from any other one of the same table.
    blocks : sequence of Block
        Parts of the instance vectors, side by side.
    """

    name: str
    blocks: Sequence[Block]

    def vectors(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Vectors (m, dims) of the given rows (m)."""
        return np.concatenate([block.vectors(rows) for block in self.blocks], axis=1)


def make_space(name: str, table: InstanceTable) -> Space | None:
    """Make the space that an analysis asks for; None where it asks for none.

    Parameters
    ----------
    name : str
        'multi_hot', 'none', or the folder of a finished run whose model has an embedding.
    table : InstanceTable
        The table; its columns are read into memory.

    Raises
    ------
    InputError
        The folder holds no trained model with an embedding, or one of another table.
    """
    if name == "none":
        return None
    columns = [read_column(table, column) for column in table.categorical_names]
    if name == "multi_hot":
        return Space(name, multi_hot_space(table, columns))
    from llp.runs.build import load_model

    folder = Path(name)
    if not folder.is_dir():
        raise InputError(f"space={name} is no folder; write space=multi_hot, or space=FOLDER of a finished run")
    try:
        model = load_model(folder, table)
    except RuntimeError:  # torch's, on weights of other shapes
        raise InputError(f"space={name}: that run was trained on another table than {table.folder}") from None
    changed = (folder / "checkpoints" / "best.pt").stat().st_mtime_ns
    return Space(f"{folder.resolve()} {changed}", learned_space(table, columns, model))


def multi_hot_space(table: InstanceTable, columns: list[CodeColumn]) -> list[Block]:
    """Space of the multi-hot features: a unit vector per code, numeric columns as they are.

    Parameters
    ----------
    table : InstanceTable
        Gives the numeric columns.
    columns : list of CodeColumn
        All its categorical columns, in order.
    """
    numbers: list[Block] = [Scaled(values, length=1.0) for values in _numeric_columns(table)]
    return numbers + [OneHot(column.codes, column.vocab_size) for column in columns]


def learned_space(table: InstanceTable, columns: list[CodeColumn], model: "nn.Module") -> list[Block]:
    """Space of a trained model's embedding: what its `embed` puts side by side.

    `autoint`: value × vector for numbers, also binned ones, a row of the table for the other categorical columns.
    `embedding_mlp`: numbers as they are, a row of the table for categorical columns.

    Raises
    ------
    InputError
        The model embeds nothing.
    """
    from llp.models.autoint import AutoInt
    from llp.models.embedding_mlp import EmbeddingMLP

    numbers = _numeric_columns(table)
    if isinstance(model, AutoInt):
        binned, columns = columns[: model.number_columns], columns[model.number_columns :]
        lengths = model.number_vector.detach().double().norm(dim=1).tolist()
        values = [*numbers, *(column.codes for column in binned)]
    elif isinstance(model, EmbeddingMLP):
        lengths, values = [1.0] * len(numbers), numbers
    else:
        raise InputError(
            f"space: a run's model {type(model).__name__} has no embedding; give the folder of a run with "
            "model=autoint or model=embedding_mlp, or write space=multi_hot"
        )
    blocks: list[Block] = [Scaled(value, length) for value, length in zip(values, lengths, strict=True)]
    return blocks + _embedded(columns, model.embedding)


def _embedded(columns: list[CodeColumn], embedding: "Tensor") -> list[Block]:
    ends = np.cumsum([column.vocab_size for column in columns])
    tables = np.split(embedding.detach().cpu().numpy(), ends[:-1])
    return [Embedded(column.codes, part) for column, part in zip(columns, tables, strict=True)]


def _numeric_columns(table: InstanceTable) -> list[NDArray[np.floating | np.integer]]:
    return [np.ascontiguousarray(table.numeric[:, j]) for j in range(table.n_numeric)]
