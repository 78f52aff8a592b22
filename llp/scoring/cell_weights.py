"""The weights of `cell_glm` as a table to be read: a row for the intercept, and one for every cell."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from llp.data.cells import Cells
from llp.data.given_bags import read_report
from llp.data.keys import GivenKey
from llp.data.table import InstanceTable
from llp.models.cell_weights import CellWeights

FILE = "weights.csv"


def weights_table(model: CellWeights, table: InstanceTable) -> pl.DataFrame:
    """`query`, `values`, `weight`, and where the table came with a report its `sum` and `noise_sd`."""
    radix, base, code = model.radix.numpy(), model.base.numpy(), model.code.numpy()
    queries = tuple(tuple(np.flatnonzero(one).tolist()) for one in radix)
    cells = Cells(queries, radix, base, code, np.searchsorted(base, code, "right") - 1)
    texts = [_texts(table, name, size) for name, size in zip(table.categorical_names, table.vocab_sizes, strict=True)]
    parts = [pl.DataFrame({"query": [""], "values": ["intercept"]})]
    for q, query in enumerate(queries):
        codes = cells.values(q)
        of_column = [pl.Series(str(column), texts[column][codes[:, i]]) for i, column in enumerate(query)]
        values = pl.concat_str(of_column, separator=" ") if query else pl.lit("total").repeat_by(len(codes)).explode()
        name = "_".join(table.categorical_names[column] for column in query) or "total"
        parts.append(pl.select(query=pl.lit(name).repeat_by(len(codes)).explode(), values=values))
    weights = pl.concat(parts).with_columns(weight=pl.Series(model.weight.detach().double().numpy()))
    listed = pl.Series("code", [None], pl.Int64).append(pl.Series(code)).to_frame()  # of the intercept none
    sums = listed.join(_sums(table, base), on="code", how="left", maintain_order="left").drop("code")
    return pl.concat([weights, sums], how="horizontal")


def _sums(table: InstanceTable, base: NDArray[np.int64]) -> pl.DataFrame:
    """By `code` the `sum` and `noise_sd` of a table's own report; none where the cells are of other queries."""
    if table.schema.given_bags and read_report(table.folder) is not None:
        bags = GivenKey(n_folds=1).all_bags(table)
        if bags.cells is not None and bags.noise_variance is not None and np.array_equal(bags.cells.base, base):
            deviation = np.sqrt(bags.noise_variance)
            return pl.DataFrame({"code": bags.cells.code, "sum": bags.label_sum, "noise_sd": deviation})
    return pl.DataFrame(schema={"code": pl.Int64, "sum": pl.Float64, "noise_sd": pl.Float64})


def _texts(table: InstanceTable, column: str, size: int) -> NDArray[np.object_]:
    """The text of each code of a column: its value, or of bins and values that are not known the code."""
    texts = np.array([f"{column}=(code {code})" for code in range(size)], dtype=object)
    if table.schema.encodings.get(column, {}).get("kind") == "vocabulary":
        texts[0] = f"{column}=(other)"
        for value, code in table.vocabulary(column).iter_rows():
            texts[code] = f"{column}={'(missing)' if value is None else value}"
    return texts
