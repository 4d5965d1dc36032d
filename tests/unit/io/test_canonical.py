"""Canonical cells: one value for each cell, whatever stores it."""

import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabpe.errors import DataError
from tabpe.io import canonical
from tabpe.io.canonical import (
    canonicalize_table,
    concatenate_tables,
    find_missing,
    find_values,
    flatten_column,
    format_cell,
    hash_cells,
    hash_rows,
    read_booleans,
    read_instants,
    read_integers,
    read_numbers,
    read_texts,
    read_times,
)

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
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_equal_cells_are_equal_and_others_are_not(kind):
    one, two, three, four = hash_rows(pa.table({"c": COLUMNS[kind]}), b"key")
    assert one == four
    assert len({one, two, three}) == 3


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_row_alone_has_the_number_that_it_has_among_others(kind):
    table = pa.table({"c": COLUMNS[kind], "d": [1, 2, 3, 4]})
    alone = [hash_rows(table.slice(place, 1), b"key")[0] for place in range(4)]
    assert alone == hash_rows(table, b"key").tolist()
    assert not len(hash_rows(table.slice(4), b"key"))


@pytest.mark.parametrize(
    "pair", [("whole", "narrow"), ("text", "categories"), ("text", "large text")]
)
def test_the_width_of_a_type_does_not_matter(pair):
    one, other = (hash_rows(pa.table({"c": COLUMNS[kind]}), b"key") for kind in pair)
    assert one.tolist() == other.tolist()


def test_zeros_of_both_signs_are_one_and_so_is_whatever_is_no_number():
    odd = np.frombuffer(np.uint64(0xFFF8000000000001).tobytes(), dtype=np.float64)[0]
    found = hash_rows(pa.table({"c": pa.array([0.0, -0.0, np.nan, odd])}), b"key")
    assert found[0] == found[1]
    assert found[2] == found[3]


def test_keys_and_places_of_columns_make_a_difference():
    table = pa.table({"a": [1, 2], "b": [2, 1]})
    assert hash_rows(table, b"one").tolist() != hash_rows(table, b"two").tolist()
    one, other = hash_rows(table, b"one")
    assert one != other


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from("ab")), min_size=1, max_size=20))
def test_rows_are_equal_if_their_cells_are(rows):
    numbers, words = zip(*rows, strict=True)
    found = hash_rows(pa.table({"a": numbers, "b": words}), b"key").tolist()
    assert len(set(found)) == len(set(rows))
    assert dict(zip(rows, found, strict=True)) == dict(zip(rows[::-1], found[::-1], strict=True))


MOMENT = datetime.datetime(2024, 3, 31, 18, 30)
UTC = MOMENT.replace(tzinfo=datetime.UTC)
# Each list holds the same cells, stored in every way.
SAME = {
    "whole numbers": [
        pa.array([1, 2, None]),
        pa.array([1, 2, None], pa.int8()),
        pa.array([1, 2, None], pa.uint64()),
        pa.array([1.0, 2.0, None]),
        pa.array([1.0, 2.0, np.nan], pa.float32()),
        pa.array([Decimal(1), Decimal("2.00"), None]),
        pa.array(["1", "2", ""]),
        pa.array(["1.0", "2.00", None], pa.large_string()),
        pa.array(["1", "2", None], pa.string_view()),
        pa.array(["1", "2", None]).dictionary_encode(),
        pa.array([b"1", b"2", None]),
    ],
    "fractions": [
        pa.array([0.1, -2.5, 1e-7]),
        pa.array(["0.1", "-2.5", "1e-07"]),
        pa.array([Decimal("0.10"), Decimal("-2.5"), Decimal("0.0000001")]),
        pa.array([Decimal("0.1000"), Decimal("-2.5"), Decimal("1E-7")]),
    ],
    "beyond 2**53": [
        pa.array([2**60 + 1]),
        pa.array([str(2**60 + 1)]),
        pa.array([Decimal(2**60 + 1)]),
        pa.array([f"{2**60 + 1}.00"]),
    ],
    "a double beyond 2**53": [pa.array([2.0**60]), pa.array([2**60]), pa.array([str(2**60)])],
    "booleans": [
        pa.array([True, False, None]),
        pa.array(["true", "false", ""]),
        pa.array(["TRUE", "False", None]),
    ],
    "dates": [
        pa.array([datetime.date(2024, 3, 31)]),
        pa.array([datetime.date(2024, 3, 31)], pa.date64()),
        *(pa.array([datetime.datetime(2024, 3, 31)], pa.timestamp(u)) for u in ("s", "ms", "ns")),
        pa.array(["2024-03-31"]),
        pa.array(["2024-03-31 00:00:00.000000000"]),
    ],
    "instants": [
        *(pa.array([MOMENT], pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")),
        pa.array(["2024-03-31T18:30"]),
        pa.array(["2024-03-31 18:30:00.000"]),
    ],
    "instants with a zone": [
        pa.array([UTC], pa.timestamp("s", "UTC")),
        pa.array([UTC], pa.timestamp("ns", "Europe/Berlin")),
        pa.array(["2024-03-31T18:30Z"]),
        pa.array(["2024-03-31 20:30:00+02:00"]),
    ],
    "times": [
        pa.array([MOMENT.time()]),
        pa.array([MOMENT.time()], pa.time32("s")),
        pa.array(["18:30", "18:30:00.000"][:1]),
        pa.array(["18:30:00.000"]),
    ],
    "letters": [
        pa.array(["\N{LATIN SMALL LETTER E WITH ACUTE}"]),
        pa.array(["e\N{COMBINING ACUTE ACCENT}"]),
    ],
    "nothing": [
        pa.nulls(2),
        pa.array([None, ""]),
        pa.array([np.nan, None]),
        pa.array(["  ", "\t"]),
    ],
}


def told(array):
    cells = flatten_column(array)
    return {
        "hash": hash_cells(cells, b"key").tolist(),
        "texts": read_texts(cells).to_pylist(),
        "numbers": np.nan_to_num(read_numbers(cells), nan=-1.5).tolist(),
        "integers": read_integers(cells).to_pylist(),
        "booleans": read_booleans(cells).tolist(),
        "instants": read_instants(cells, zoned=False).to_pylist(),
        "zoned": read_instants(cells, zoned=True).to_pylist(),
        "times": read_times(cells).to_pylist(),
        "missing": find_missing(cells).tolist(),
        "listed": find_values(
            cells, ["1", "x", "2024-03-31", "\N{LATIN SMALL LETTER E WITH ACUTE}"]
        ).tolist(),
    }


@pytest.mark.parametrize("kind", SAME)
def test_the_same_cells_are_the_same_whatever_stores_them(kind):
    first, *others = map(told, SAME[kind])
    for other in others:
        assert other == first


@pytest.mark.parametrize("kind", [kind for kind in SAME if kind != "nothing"])
def test_a_word_among_cells_changes_none_of_them(kind):
    for array in SAME[kind]:
        alone, cells = told(array), flatten_column(array)
        texts = pa.concat_arrays([read_texts(cells), pa.array(["secret", "", "1e400", "[1]"])])
        among = told(texts)
        assert {name: found[: len(array)] for name, found in among.items()} == alone


def test_what_is_no_number_is_text():
    codes = ["007", "12E4", "1e5", "+5", "0x1", "1,5", "1_000", "nan", "2024-02-30", "25:00"]
    assert read_texts(pa.array(codes)).to_pylist() == codes
    assert len({*hash_cells(pa.array(codes), b"").tolist()}) == len(codes)


def test_numbers_are_read_in_more_notations_than_cells_are_equal_by():
    found = read_numbers(pa.array(["+5", "1e3", ".5", "5.", "inf", "1e400", "nan", "x", "0x1"]))
    np.testing.assert_array_equal(found, [5, 1000, 0.5, 5, np.inf, np.inf, np.nan, np.nan, np.nan])


def test_values_that_mean_the_same_are_told_apart_by_their_text():
    assert find_values(pa.array(["1.10", "1.1", "1.100"]), ["1.1", "1.10"]).tolist() == [1, 0, 0]
    assert find_values(pa.array([1.1]), ["1.10", "1.1"]).tolist() == [1]
    assert find_values(pa.array(["", " ", None]), ["", "x"]).tolist() == [0, -1, -1]


def test_booleans_and_one_and_zero_find_the_values_that_stand_for_them():
    for array in (pa.array([True, False]), pa.array([1, 0]), pa.array(["True", "FALSE"])):
        assert find_values(array, ["false", "true"]).tolist() == [1, 0]
        assert find_values(array, ["0", "1"]).tolist() == [1, 0]
        assert find_values(array, [0, 1]).tolist() == [1, 0]


def test_instants_that_no_int64_of_microseconds_holds_are_cut():
    far = pa.array([2**62, -(2**62)], pa.timestamp("s"))
    found = read_instants(flatten_column(far), zoned=False).to_pylist()
    assert found[0] > 10**17
    assert found[1] < -(10**17)


def test_nanoseconds_are_rounded_down_on_both_sides_of_1970():
    ticks = flatten_column(pa.array([1, -1, 1999], pa.timestamp("ns")))
    assert read_instants(ticks, zoned=False).to_pylist() == [0, -1, 1]


@pytest.mark.parametrize("cells", [[[1]], [{"a": 1}]])
def test_lists_are_no_cells(cells):
    with pytest.raises(DataError, match=r"'x'.*expected plain values"):
        canonicalize_table(pa.table({"x": cells}))


@pytest.mark.parametrize("thing", [[1], {"a": 1}, {1}, np.ones(2), object])
def test_the_text_of_what_is_no_plain_value_reads_as_nothing_and_holds_none_of_it(thing):
    text = format_cell(thing)
    assert np.isnan(read_numbers(pa.array([text]))).all()
    assert not find_missing(pa.array([text])).any()
    assert "1" not in text


def test_tables_of_different_types_are_joined_as_the_cells_that_they_hold():
    whole = concatenate_tables(
        [pa.table({"n": [1]}), pa.table({"n": [2.5]}), pa.table({"n": ["3.0"]})]
    )
    assert read_numbers(flatten_column(whole["n"])).tolist() == [1, 2.5, 3]


@pytest.mark.parametrize("arrow_composes", [True, False])
def test_text_is_composed_whether_pyarrow_can_or_not(monkeypatch, arrow_composes):
    if arrow_composes and not canonical._can_arrow_compose():
        pytest.skip("this pyarrow decomposes instead")
    monkeypatch.setattr(canonical, "_can_arrow_compose", lambda: arrow_composes)
    cells = ["Ko\u0308ln", "K\u00f6ln", None, "abc", "\u212b", "", "\ufb01", "K\u00f6ln"]
    for kind in (pa.string(), pa.large_string()):
        made = canonical._normalize_text(pa.array(cells, kind))
        assert made.type == kind
        assert made.to_pylist() == ["K\u00f6ln"] * 2 + [
            None,
            "abc",
            "\u00c5",
            "",
            "\ufb01",
            "K\u00f6ln",
        ]


def test_an_instant_with_a_zone_is_not_the_local_time_of_the_same_digits():
    """They are encoded apart where a column has a time zone, so rows with them are not equal."""
    zoned = ["2024-01-01T00:00:00Z", "2024-01-01 05:30:00+05:30"]
    local = ["2024-01-01", "2024-01-01T00:00:00.000000"]
    hashes = hash_cells(pa.array([*zoned, *local]), b"")
    assert hashes[0] == hashes[1] != hashes[2] == hashes[3]
    moment = datetime.datetime(2024, 1, 1)
    for kind, expected in ((None, hashes[2]), ("UTC", hashes[0]), ("Asia/Tokyo", hashes[0])):
        stored = pa.array([moment], pa.timestamp("us", kind))
        assert hash_cells(stored, b"")[0] == expected
