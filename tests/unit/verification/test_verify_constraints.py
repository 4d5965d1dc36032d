"""Whether a table obeys the rules of its schema: what `tabpe verify` finds out."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tabpe import Boolean, Categorical, Date, Float, Id, Integer, Schema
from tabpe.errors import DataError
from tabpe.verification.verify import count_fitting_rows

SCHEMA = Schema(
    (
        Id("no"),
        Integer("low", 0, 9),
        Integer("high", 0, 9, nullable=True),
        Float("part", 0, 1),
        Date("seen", "2024-01-01", "2024-12-31"),
        Categorical("ward", ("eye", "heart"), nullable=True),
        Boolean("ill"),
    ),
    label="ill",
    rules=(
        "low <= high",
        "if ward is null then ill",
        "unique(low, seen)",
        "unique(no)",
        "seen > '2024-01-31'",
    ),
)
GOOD = {
    "no": [1, 2, 3],
    "low": [1, 2, 2],
    "high": [1, None, 9],
    "part": [0.1, 0.2, 0.3],
    "seen": ["2024-02-01", "2024-03-01", "2024-04-01"],
    "ward": ["eye", None, "heart"],
    "ill": [False, True, False],
}


def written(tmp_path, **changes):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table(GOOD | changes), path)
    return path


def test_rows_that_obey_are_counted(tmp_path):
    assert count_fitting_rows(SCHEMA, written(tmp_path)) == 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"high": [1, 1, 9]}, "'low <= high' is violated in row 2"),
        ({"ward": ["eye", "eye", None]}, "'if ward is null then ill' is violated in row 3"),
        ({"seen": ["2024-01-31", "2024-03-01", "2024-04-01"]}, "is violated in row 1"),
        ({"low": [1, 1, 1], "seen": ["2024-02-01"] * 3}, r"'unique\(low, seen\)' is violated"),
    ],
)
def test_a_row_that_does_not_is_named_with_the_rule(tmp_path, changes, message):
    with pytest.raises(DataError, match=message):
        count_fitting_rows(SCHEMA, written(tmp_path, **changes))
