"""What several unit tests start from."""

import pytest

from tests.helpers.every_method import make_tables


@pytest.fixture(scope="session")
def tables(tmp_path_factory):
    """A small table for each kind of label."""
    return make_tables(tmp_path_factory.mktemp("tables"))
