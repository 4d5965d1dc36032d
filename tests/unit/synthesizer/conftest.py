"""The table of these tests."""

import pyarrow as pa
import pytest

from facade import columns


@pytest.fixture
def table():
    return pa.table(columns())
