"""The weights of the rows, checked before anything is coded."""

import polars as pl

from llp.datasets.files.values import number
from llp.datasets.reading.options import Reading
from llp.errors import InputError


def check_weights(lazy: pl.LazyFrame, column: str, option: str, reading: Reading) -> None:
    """Refuse weights of `files` or `test_files`, as `option` says: a missing one, no number, one below 0, or all 0."""
    x = number(column, lazy.collect_schema()[column], reading)
    wrong = (x < 0).fill_null(True)
    example = pl.col(column).filter(wrong).first().cast(pl.String)
    found = (
        lazy.select(wrong=wrong.sum(), example=example, total=x.sum()).collect(engine="streaming").row(0, named=True)
    )
    if found["wrong"]:
        such = "a missing one" if found["example"] is None else repr(found["example"])
        raise InputError(
            f"Invalid weight_column={column}: {found['wrong']} of its values in {option} are no numbers from 0, such "
            f"as {such}"
        )
    if found["total"] == 0:
        raise InputError(f"Invalid weight_column={column}: all of its values in {option} are 0, expected one above it")
