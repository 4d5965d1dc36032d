"""Exact integers about raw cells: of every kind of source, in one pass, by rows or users."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tabpe.backends.raw_columns import RawColumnCounter, find_kind_cells
from tabpe.backends.users import limit_contributions
from tabpe.encoding import Encoder
from tabpe.encoding.raw_cells import (
    BINARY,
    CLOCK,
    DAY,
    EMPTY,
    KINDS,
    LONGEST_VALUE,
    MAGNITUDES,
    MOMENT,
    MORE_DIGITS,
    OTHER,
    WHOLE,
    ZONED,
    EqualWidthBins,
    find_magnitude_cells,
)
from tabpe.io import batches, open_source
from tabpe.schema import Categorical, Schema


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch):
    monkeypatch.setattr(batches, "ROWS_A_BATCH", 3)


def of(**columns):
    return RawColumnCounter(open_source(pa.table(columns)))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        *(("7", WHOLE), ("-7", WHOLE), ("+7", WHOLE), ("-1", WHOLE), (" 7 ", WHOLE)),
        *(("1.5", WHOLE + 1), ("1.50", WHOLE + 1), ("2.0", WHOLE), ("5.", WHOLE), ("1e5", WHOLE)),
        *((".25", WHOLE + 2), ("-0.125", WHOLE + 3), ("1.123456", WHOLE + 6)),
        *(("1.1234567", MORE_DIGITS), ("1e-7", MORE_DIGITS), ("2.5E-3", WHOLE + 4)),
        *(("true", BINARY), ("False", BINARY), ("TRUE ", BINARY), ("yes", OTHER)),
        *(("0", BINARY), ("1", BINARY), ("1.00", BINARY), ("-0", BINARY)),
        *(("2024-03-31", DAY), ("2024-03-31 00:00:00", DAY), ("2024-02-30", OTHER)),
        *(("2024-03-31T18:30", MOMENT), ("2024-03-31T18:30Z", ZONED), ("18:30", CLOCK)),
        *(("x", OTHER), ("007", OTHER), ("nan", OTHER), ("inf", OTHER), ("1,5", OTHER)),
        *(("0x1", OTHER), ("٣", OTHER), ("1e", OTHER), ("-", OTHER), (".", OTHER)),
        *(("", EMPTY), ("  ", EMPTY), (None, EMPTY)),
    ],
)
def test_the_kind_of_text(text, kind):
    assert find_kind_cells(pa.array([text], pa.string())).tolist() == [kind]
    assert find_kind_cells(pa.array(["x", text, "1"], pa.large_string()))[1] == kind


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        *((7.0, WHOLE), (-1.5, WHOLE + 1), (0.125, WHOLE + 3), (0.1, WHOLE + 1), (1.0, BINARY)),
        *((1 / 3, MORE_DIGITS), (float("inf"), OTHER), (float("nan"), EMPTY), (None, EMPTY)),
    ],
)
def test_the_kind_of_numbers(number, kind):
    assert find_kind_cells(pa.array([number], pa.float64())).tolist() == [kind]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (pa.array([True, False]), BINARY),
        (pa.array([1, 0]), BINARY),
        (pa.array([dt.date(2024, 3, 31)]), DAY),
        (pa.array([dt.datetime(2024, 3, 31)], pa.timestamp("ns")), DAY),
        (pa.array([dt.datetime(2024, 3, 31, 18)], pa.timestamp("s")), MOMENT),
        (pa.array([dt.datetime(2024, 3, 31, tzinfo=dt.UTC)]), ZONED),
        (pa.array([dt.time(18, 30)]), CLOCK),
        (pa.array([Decimal("2.50")]), WHOLE + 1),
        (pa.array([Decimal("2.00")]), WHOLE),
    ],
)
def test_the_kind_of_cells_of_every_type(cells, kind):
    assert set(find_kind_cells(cells).tolist()) == {kind}


def test_kinds_are_counted_for_all_columns_over_all_batches():
    found = of(a=["1", "2", "x", "", "5"], b=["1.5"] * 5).count_kinds(["a", "b"])
    counted = {EMPTY: 1, OTHER: 1, BINARY: 1, WHOLE: 2}
    assert found["a"].tolist() == [counted.get(kind, 0) for kind in range(KINDS)]
    assert found["b"][WHOLE + 1] == found["b"].sum() == 5


@pytest.mark.parametrize(
    "cells",
    [
        pa.array(["3", " -0.5", "1e3", "0", "x", "", None]),
        pa.array([3, -0.5, 1e3, 0, float("nan"), None, None]),
        pa.array(["3", "-0.5", "1e3", "0", "x", "", None]).dictionary_encode(),
    ],
)
def test_numbers_count_by_power_of_two_and_nothing_else_does(cells):
    found = of(a=cells).count_magnitudes(["a"])["a"]
    expected = find_magnitude_cells(np.array([3, -0.5, 1e3, 0.0]))
    assert found.tolist() == np.bincount(expected, minlength=MAGNITUDES).tolist()


@pytest.mark.parametrize("huge", ["1e999", "-1e999", "9" * 400])
def test_numbers_beyond_floats_count_at_the_ends(huge):
    found = of(a=[huge, "1"]).count_magnitudes(["a"])["a"]
    assert found.sum() == 2
    assert found[0 if huge.startswith("-") else -1] == 1


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint64(), pa.float32(), pa.decimal128(25, 1), pa.bool_()]
)
def test_numbers_of_all_types_are_read(kind):
    cells = pa.array([1, 0, 1]).cast(kind)
    assert of(a=cells).count_bins({"a": EqualWidthBins(-0.5, 1.0, 2)})["a"].tolist() == [1, 2]


def test_each_column_has_its_own_bins():
    counter = of(a=[1, 5, 9, 50], b=["1.5", "2.5", "x", "-1"])
    found = counter.count_bins({"a": EqualWidthBins(0.0, 5.0, 2), "b": EqualWidthBins(1.0, 0.5, 4)})
    assert found["a"].tolist() == [1, 2]
    assert found["b"].tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("cells", "kind", "expected"),
    [
        (["b", "a", "b", " b", "", None], str, {"b": 2, "a": 1, " b": 1}),
        (["1", "2", "x", "1", "1.0"], int, {1: 3, 2: 1}),
        ([1, 2, 1, None], int, {1: 2, 2: 1}),
        ([1.0, 2.5, float("nan"), 1.0], float, {1.0: 2, 2.5: 1}),
        ([1.0, 2.5, 1.0], str, {"1": 2, "2.5": 1}),
        ([True, False, True], str, {"true": 2, "false": 1}),
    ],
)
def test_values_are_counted_as_the_encoder_compares_them(cells, kind, expected):
    assert of(a=cells).count_values({"a": kind}) == {"a": expected}
    other = {str: "?", int: -1, float: -1.0}[kind]
    encoder = Encoder(Schema((Categorical("a", (*expected, other), other=other),)))
    present = pa.array(cells).filter(pc.invert(pc.is_null(pa.array(cells), nan_is_null=True)))
    codes = encoder.encode(pa.table({"a": present}))[0].codes.ravel()
    assert np.bincount(codes, minlength=len(expected))[: len(expected)].tolist() == [
        *expected.values()
    ]


def test_values_too_long_for_a_category_count_nowhere():
    assert of(a=["x" * LONGEST_VALUE, "x" * (LONGEST_VALUE + 1)]).count_values({"a": str})["a"] == {
        "x" * LONGEST_VALUE: 1
    }


def test_no_number_of_values_is_too_many():
    cells = [f"v{number:05}" for number in range(70_000)]
    found = RawColumnCounter(open_source(pa.table({"name": cells}))).count_values({"name": str})[
        "name"
    ]
    assert len(found) == 70_000
    assert set(found.values()) == {1}


def test_files_and_frames_count_alike(tmp_path):
    rows = {"a": ["1", "2", "2", "3", "1", "2", "7"], "b": list("xyxyzzz")}
    pq.write_table(pa.table(rows), tmp_path / "rows.parquet")
    (tmp_path / "rows.csv").write_text(
        "a,b\n" + "".join(f"{a},{b}\n" for a, b in zip(*rows.values(), strict=True))
    )
    sources = [pa.table(rows), tmp_path / "rows.parquet", tmp_path / "rows.csv"]
    for source in sources:
        found = RawColumnCounter(open_source(source))
        assert found.count_values({"b": str, "a": int})["a"] == {1: 2, 2: 3, 3: 1, 7: 1}
        assert found.count_kinds(["a"])["a"][[BINARY, WHOLE]].tolist() == [2, 5]


def test_one_pass_answers_for_all_columns(monkeypatch):
    source = open_source(pa.table({"a": [1, 2], "b": [3, 4]}))
    passes = []
    monkeypatch.setattr(
        type(source), "batches", lambda self, names: passes.append(names) or iter(())
    )
    RawColumnCounter(source).count_magnitudes(["a", "b"])
    assert passes == [["a", "b"]]


LENGTH = 1000


def of_users(ids, most=3, **columns):
    users = limit_contributions(
        [pa.table({"id": ids})], column="id", max_rows=most, seed=0, scale=LENGTH
    )
    return RawColumnCounter(open_source(pa.table(columns)), users)


def test_a_user_counts_as_one_vector_over_all_batches():
    found = of_users(["u", "v", "u", "u", "v"], a=["7", "x", "7", "7", "x"]).count_kinds(["a"])["a"]
    assert found[WHOLE] == found[OTHER] == LENGTH
    assert found.sum() == 2 * LENGTH


def test_values_of_a_user_share_the_length():
    found = of_users(["u", "u", "v"], a=["x", "y", "y"]).count_values({"a": str})["a"]
    assert found == {"x": 707, "y": 1707}


def test_rows_of_a_user_beyond_the_most_do_not_count():
    found = of_users(["u"] * 50, most=1, a=[str(number) for number in range(50)])
    assert list(found.count_values({"a": str})["a"].values()) == [LENGTH]


def test_cells_that_count_nowhere_take_no_part_of_a_user():
    found = of_users(["u", "u"], a=["x", "2"]).count_magnitudes(["a"])["a"]
    assert found.sum() == LENGTH


def test_a_table_whose_cells_all_count_nowhere_gives_zeros():
    assert of_users(["u"], a=["x"]).count_magnitudes(["a"])["a"].tolist() == [0] * MAGNITUDES
    assert of(a=["x"]).count_magnitudes(["a"])["a"].tolist() == [0] * MAGNITUDES
    assert of(a=["x"]).count_values({"a": int}) == {"a": {}}
