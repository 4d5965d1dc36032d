"""The same rows in the same order each time, whichever columns are asked for."""

import datetime
import itertools

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabpe.errors import DataError
from tabpe.io.sql.source import RowChangeGuard

COLUMNS = {
    "id": pa.array([1, 2, None, 4]),
    "text": pa.array(["a", None, "", "bc"]),
    "float": pa.array([0.5, float("nan"), None, -0.0]),
    "truth": pa.array([True, None, False, True]),
    "day": pa.array([datetime.date(2024, 2, 29), None, datetime.date(1, 1, 1), None]),
    "moment": pa.array([0, None, -(2**62), 2**62], pa.timestamp("us", "UTC")),
    "decimal": pa.array(["1.10", None, "-2", "0"]).cast(pa.decimal128(9, 2)),
    "code": pa.array(["x", "y", None, "x"]).dictionary_encode(),
}
BATCH = pa.RecordBatch.from_pydict(COLUMNS)


def passed(watch, batches, names=BATCH.schema.names):
    return pa.Table.from_batches(list(watch.guard_batches(batches, names)))


def watching(batch=BATCH, names=BATCH.schema.names):
    watch = RowChangeGuard("visits")
    passed(watch, [batch], names)
    return watch


@given(st.lists(st.integers(0, 4), max_size=3).map(sorted))
def test_where_batches_end_does_not_matter(cuts):
    ends = [0, *cuts, 4]
    parts = [BATCH.slice(a, b - a) for a, b in itertools.pairwise(ends)]
    assert passed(watching(), parts).num_rows == 4


@pytest.mark.parametrize("name", COLUMNS)
def test_another_order_is_refused_in_any_kind_of_column(name):
    with pytest.raises(DataError, match="their order, while they were read"):
        passed(
            watching(),
            [
                BATCH.set_column(
                    BATCH.schema.names.index(name),
                    name,
                    BATCH.column(name).take(pa.array([3, 2, 1, 0])),
                )
            ],
        )


@pytest.mark.parametrize("rows", [[0, 1, 2], [0, 1, 2, 3, 3], [0, 1, 1, 3]])
def test_other_rows_are_refused(rows):
    with pytest.raises(DataError, match="the rows changed"):
        passed(watching(), [BATCH.take(pa.array(rows))])


def test_a_missing_text_is_not_an_empty_one():
    filled = BATCH.set_column(1, "text", pa.array(["a", "", None, "bc"]))
    with pytest.raises(DataError):
        passed(watching(), [filled])


def test_where_a_cell_ends_matters():
    one, other = (pa.RecordBatch.from_pydict({"a": cells}) for cells in (["ab", "c"], ["a", "bc"]))
    with pytest.raises(DataError):
        passed(watching(one, ["a"]), [other], ["a"])


def test_what_was_read_first_is_read_along_and_kept_back():
    watch = watching(names=["id"])
    assert watch.add_guarded_columns(["text"]) == ["text", "id"]
    assert passed(watch, [BATCH.select(["text", "id"])], ["text"]).column_names == ["text"]
    with pytest.raises(DataError):
        passed(watch, [BATCH.take(pa.array([1, 0, 2, 3]))], ["text"])


def test_an_answer_that_nobody_read_to_its_end_is_no_measure():
    watch = RowChangeGuard("visits")
    next(iter(watch.guard_batches([BATCH, BATCH], ["id"])))
    assert passed(watch, [BATCH], ["id"]).num_rows == 4
