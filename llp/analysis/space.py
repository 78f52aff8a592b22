"""The space in which bag separations are measured: one block per column of a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from llp.analysis.counting import CodeColumn, read_column
from llp.analysis.vector_blocks import Embedded, Scaled, VectorBlock
from llp.data.table import InstanceTable
from llp.errors import InputError

if TYPE_CHECKING:  # torch takes seconds to import, and the multi-hot space does without
    from torch import nn


@dataclass(frozen=True)
class Space:
    """Where separations are measured."""

    name: str  # tells this space from any other one of the same table
    blocks: Sequence[VectorBlock]  # parts of the instance vectors, side by side

    def vectors(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Vectors (m, dims) of the given rows (m)."""
        return np.concatenate([block.vectors(rows) for block in self.blocks], axis=1)


def multi_hot_space(table: InstanceTable) -> Space:
    """Space of the multi-hot features: a unit vector per code, numeric columns as they are; all read into memory."""
    numbers = [Scaled(values, length=1.0) for values in _numeric_columns(table)]
    codes = [Embedded.one_hot(column.codes, column.vocab_size) for column in _categorical_columns(table)]
    return Space("multi_hot", [*numbers, *codes])


def learned_space(name: str, table: InstanceTable, model: "nn.Module") -> Space:
    """Space of what a trained model's `embed` puts side by side; refuses a model that embeds nothing."""
    from llp.models.autoint import AutoInt
    from llp.models.embedding_mlp import EmbeddingMLP

    numbers, columns = _numeric_columns(table), _categorical_columns(table)
    if isinstance(model, AutoInt):
        binned, columns = columns[: model.number_columns], columns[model.number_columns :]
        lengths = model.number_vector.detach().double().norm(dim=1).tolist()
        values = [*numbers, *(column.codes for column in binned)]
    elif isinstance(model, EmbeddingMLP):
        lengths, values = [1.0] * len(numbers), numbers
    else:
        raise InputError(
            f"Invalid space: the run's model {type(model).__name__} has no embedding; expected a run with "
            "model=autoint or model=embedding_mlp, or space=multi_hot"
        )
    blocks: list[VectorBlock] = [Scaled(value, length) for value, length in zip(values, lengths, strict=True)]
    ends = np.cumsum([column.vocab_size for column in columns])
    tables = np.split(model.embedding.detach().cpu().numpy(), ends[:-1])
    return Space(name, [*blocks, *(Embedded(one.codes, part) for one, part in zip(columns, tables, strict=True))])


def _numeric_columns(table: InstanceTable) -> list[NDArray[np.floating | np.integer]]:
    return [np.ascontiguousarray(table.numeric[:, j]) for j in range(table.n_numeric)]


def _categorical_columns(table: InstanceTable) -> list[CodeColumn]:
    return [read_column(table, column) for column in table.categorical_names]
