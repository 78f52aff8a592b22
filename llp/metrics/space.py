"""The space in which bag separations are measured: one block per column of a table."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from llp.data.table import InstanceTable
from llp.errors import InputError
from llp.metrics.counting import CodeColumn
from llp.metrics.separation import Block, Embedded, OneHot, Scaled

if TYPE_CHECKING:
    from torch import Tensor, nn


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
    tables = embedding.detach().cpu().split([column.vocab_size for column in columns])
    return [Embedded(column.codes, part.numpy()) for column, part in zip(columns, tables, strict=True)]


def _numeric_columns(table: InstanceTable) -> list[NDArray[np.floating | np.integer]]:
    return [np.ascontiguousarray(table.numeric[:, j]) for j in range(table.n_numeric)]
