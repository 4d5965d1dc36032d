"""What is in a row as a number: of its own cells and the key, and of nothing else."""

import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabpe.io.contents import row_hashes

DAY = datetime.date(2020, 1, 1)
COLUMNS = {
    "whole": pa.array([1, 2, None, 1]),
    "narrow": pa.array([1, 2, None, 1], pa.int8()),
    "unsigned": pa.array([2**64 - 1, 2, None, 2**64 - 1], pa.uint64()),
    "half": pa.array(np.array([1, 2, 3, 1], dtype=np.float16), mask=np.array([0, 0, 1, 0], bool)),
    "float": pa.array([1.5, 2.5, None, 1.5]),
    "text": pa.array(["a", "b", None, "a"]),
    "large text": pa.array(["a", "b", None, "a"], pa.large_string()),
    "categories": pa.array(["a", "b", None, "a"]).dictionary_encode(),
    "truth": pa.array([True, False, None, True]),
    "date": pa.array([DAY, DAY + datetime.timedelta(1), None, DAY]),
    "date64": pa.array([DAY, DAY + datetime.timedelta(1), None, DAY], pa.date64()),
    "moment": pa.array([1, 2, None, 1], pa.timestamp("us", tz="UTC")),
    "time": pa.array([1, 2, None, 1], pa.time32("s")),
    "decimal": pa.array([Decimal("1.5"), Decimal("2.5"), None, Decimal("1.5")]),
    "bytes": pa.array([b"a", b"b", None, b"a"]),
    "list": pa.array([[1], [2], None, [1]]),
    "struct": pa.array([{"a": 1}, {"a": 2}, None, {"a": 1}]),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_equal_cells_are_equal_and_others_are_not(kind):
    one, two, three, four = row_hashes(pa.table({"c": COLUMNS[kind]}), b"key")
    assert one == four
    assert len({one, two, three}) == 3


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_row_alone_has_the_number_that_it_has_among_others(kind):
    table = pa.table({"c": COLUMNS[kind], "d": [1, 2, 3, 4]})
    alone = [row_hashes(table.slice(place, 1), b"key")[0] for place in range(4)]
    assert alone == row_hashes(table, b"key").tolist()
    assert not len(row_hashes(table.slice(4), b"key"))


@pytest.mark.parametrize(
    "pair", [("whole", "narrow"), ("text", "categories"), ("text", "large text")]
)
def test_the_width_of_a_type_does_not_matter(pair):
    one, other = (row_hashes(pa.table({"c": COLUMNS[kind]}), b"key") for kind in pair)
    assert one.tolist() == other.tolist()


def test_zeros_of_both_signs_are_one_and_so_is_whatever_is_no_number():
    odd = np.frombuffer(np.uint64(0xFFF8000000000001).tobytes(), dtype=np.float64)[0]
    found = row_hashes(pa.table({"c": pa.array([0.0, -0.0, np.nan, odd])}), b"key")
    assert found[0] == found[1]
    assert found[2] == found[3]


def test_keys_and_places_of_columns_make_a_difference():
    table = pa.table({"a": [1, 2], "b": [2, 1]})
    assert row_hashes(table, b"one").tolist() != row_hashes(table, b"two").tolist()
    one, other = row_hashes(table, b"one")
    assert one != other


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from("ab")), min_size=1, max_size=20))
def test_rows_are_equal_if_their_cells_are(rows):
    numbers, words = zip(*rows, strict=True)
    found = row_hashes(pa.table({"a": numbers, "b": words}), b"key").tolist()
    assert len(set(found)) == len(set(rows))
    assert dict(zip(rows, found, strict=True)) == dict(zip(rows[::-1], found[::-1], strict=True))
