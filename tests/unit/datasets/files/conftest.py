"""A frame as own files, prepared."""

import pytest

from tests.helpers.own_files import prepare_files


@pytest.fixture
def prepared(tmp_path):
    """Writes a frame, or bytes, into a file and prepares it; its label is y where no other one is given."""

    def of(content, *options, file="mine.csv", **given):
        path = tmp_path / file
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            (content.write_parquet if path.suffix == ".parquet" else content.write_csv)(path)
        return prepare_files(tmp_path / "data", path, *options, **{"label": "y"} | given)

    return of
