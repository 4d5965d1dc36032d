"""Null cells: how they are read, encoded, compared and written."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from tabpe.encoding import Encoder, RankTransform, Records, VotingSpace
from tabpe.encoding.marginals import Marginal, build_axis
from tabpe.errors import DataError, SchemaError
from tabpe.schema import Boolean, Categorical, Date, Datetime, Float, Id, Integer, Schema, Time

COLUMNS = {
    "integer": (Integer("x", 0, 10, nullable=True), 5),
    "float": (Float("x", 0.0, 10.0, nullable=True), 2.5),
    "large": (Integer("x", 2**60, 2**60 + 100, nullable=True), 2**60 + 1),
    "log": (Integer("x", 0, 10**6, scale="log", nullable=True), 777),
    "quantile": (
        Float("x", 0.0, 9.0, 1, scale="quantile", quantiles=(0.0, 1.0, 2.0, 9.0), nullable=True),
        1.5,
    ),
    "constant": (Integer("x", 7, 7, nullable=True), 7),
    "date": (Date("x", "2024-01-01", "2024-12-31", nullable=True), dt.date(2024, 3, 1)),
    "datetime": (
        Datetime("x", "2024-01-01", "2024-12-31", nullable=True),
        dt.datetime(2024, 3, 1, 12),
    ),
    "time": (Time("x", "08:00", "20:00", nullable=True), dt.time(9, 30)),
    "ordered": (Categorical("x", ("lo", "mid", "hi"), ordered=True, nullable=True), "mid"),
    "text": (Categorical("x", ("a", "b"), nullable=True), "b"),
    "with other": (Categorical("x", ("a", "b"), other="b", nullable=True), "a"),
    "numbers": (Categorical("x", (1, 2), nullable=True), 2),
    "boolean": (Boolean("x", nullable=True), True),
}
every_column = pytest.mark.parametrize("kind", list(COLUMNS))


@every_column
def test_a_null_comes_back_as_one(kind):
    column, value = COLUMNS[kind]
    encoder = Encoder(Schema((column,)))
    rows, classes = encoder.encode(pa.table({"x": pa.array([value, None, value])}))
    assert encoder.decode(rows, classes)["x"].to_pylist() == [value, None, value]


@every_column
def test_a_column_of_nothing_but_nulls_is_read(kind):
    column, _ = COLUMNS[kind]
    encoder = Encoder(Schema((column,)))
    found = pa.array([None, None], pa.string())
    rows, classes = encoder.encode(pa.table({"x": found}))
    assert encoder.decode(rows, classes)["x"].null_count == 2


@every_column
@pytest.mark.parametrize("blank", ["", "  "])
def test_blank_text_is_a_null(kind, blank):
    column, value = COLUMNS[kind]
    text = "09:30" if kind == "time" else str(value)
    encoder = Encoder(Schema((column,)))
    rows, classes = encoder.encode(pa.table({"x": [text, blank]}))
    assert encoder.decode(rows, classes)["x"].to_pylist() == [value, None]


def test_blank_text_that_is_listed_is_a_value():
    encoder = Encoder(Schema((Categorical("x", ("a", ""), nullable=True),)))
    rows, _ = encoder.encode(pa.table({"x": ["", None, "a"]}))
    assert rows.codes.ravel().tolist() == [1, 2, 0]


def without_nulls(kind):
    """Return the schema of a column that is not nullable."""
    plain = {key: value for key, value in COLUMNS[kind][0].to_dict().items() if key != "nullable"}
    return Schema.from_dict({"columns": [plain]})


FIRST = {
    "integer": 0,
    "float": 0.0,
    "large": 2**60,
    "log": COLUMNS["log"][0].min,
    "quantile": 0.0,
    "constant": 7,
    "date": dt.date(2024, 1, 1),
    "datetime": dt.datetime(2024, 1, 1),
    "time": dt.time(8, 0),
    "ordered": "lo",
    "text": "a",
    "with other": "b",
    "numbers": 1,
    "boolean": False,
}


@every_column
@pytest.mark.parametrize("cell", [None, "", "Secret-Cell"])
def test_a_cell_without_a_value_counts_as_the_default_where_there_is_no_null(kind, cell):
    value = COLUMNS[kind][1]
    encoder = Encoder(without_nulls(kind))
    cells = pa.array(["09:30" if kind == "time" else str(value), cell])
    made = encoder.decode(*encoder.encode(pa.table({"x": cells})))["x"].to_pylist()
    assert made == [value, FIRST[kind]]


@pytest.mark.parametrize("kind", [kind for kind in COLUMNS if kind != "with other"])
def test_a_strict_encoder_names_a_null_in_a_column_that_is_not_nullable(kind):
    value = COLUMNS[kind][1]
    with pytest.raises(DataError, match=r"column 'x' has no value in row 2.*nullable: true"):
        Encoder(without_nulls(kind), strict=True).encode(pa.table({"x": pa.array([value, None])}))


@pytest.mark.parametrize("kind", [kind for kind in COLUMNS if kind != "with other"])
def test_what_is_neither_null_nor_a_value_is_null(kind):
    column, value = COLUMNS[kind]
    cells = pa.array(["09:30" if kind == "time" else str(value), None, "Secret-Cell"])
    encoder = Encoder(Schema((column,)))
    made = encoder.decode(*encoder.encode(pa.table({"x": cells})))["x"].to_pylist()
    assert made == [value, None, None]


@pytest.mark.parametrize("kind", [kind for kind in COLUMNS if kind != "with other"])
def test_a_strict_encoder_refuses_what_is_neither_null_nor_a_value(kind):
    column, value = COLUMNS[kind]
    cells = pa.array(["09:30" if kind == "time" else str(value), None, "Secret-Cell"])
    with pytest.raises(DataError, match="row 3") as caught:
        Encoder(Schema((column,)), strict=True).encode(pa.table({"x": cells}))
    assert "Secret" not in str(caught.value)


def test_unlisted_values_and_nulls_are_not_the_same():
    column, _ = COLUMNS["with other"]
    rows, _ = Encoder(Schema((column,))).encode(pa.table({"x": ["a", "else", None]}))
    assert rows.codes.ravel().tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("column", "cuts", "cells", "classes"),
    [
        (Categorical("x", ("a", "b"), nullable=True), None, ["b", None, "a"], [1, 2, 0]),
        (Boolean("x", nullable=True), None, [None, True], [2, 1]),
        (Integer("x", 0, 9, nullable=True), (5,), [0, 5, None], [0, 1, 2]),
        (Float("x", 0.0, 1.0, nullable=True), (0.5,), [0.1, None, 0.9], [0, 2, 1]),
    ],
    ids=["text", "truth", "integer", "float"],
)
def test_a_label_that_is_null_is_a_class(column, cuts, cells, classes):
    encoder = Encoder(Schema((column,), label="x", label_cuts=cuts))
    table = pa.table({"x": cells})
    rows, found = encoder.encode(table)
    assert found.tolist() == classes
    assert encoder.class_count == max(classes) + 1
    assert encoder.decode(rows, found)["x"].to_pylist() == pytest.approx(cells)


def test_the_class_of_null_has_a_name_of_its_own():
    columns = (Categorical("x", ("null", "(null)"), nullable=True),)
    assert Schema(columns, label="x").class_names == ("null", "(null)", "((null))")


def test_an_id_is_never_null():
    with pytest.raises(SchemaError, match=r"column 'no': nullable=True"):
        Id("no", nullable=True)


@pytest.mark.parametrize("given", [1, "yes", None])
def test_whether_a_column_is_nullable_is_a_truth(given):
    with pytest.raises(SchemaError, match=r"column 'x': nullable=.*true or false"):
        Integer("x", 0, 1, nullable=given)


@every_column
def test_schema_files_say_what_is_nullable(kind):
    schema = Schema((COLUMNS[kind][0],))
    assert Schema.from_dict(schema.to_dict()) == schema
    assert schema.to_dict()["columns"][0]["nullable"] is True


def test_nulls_are_counted_in_a_cell_of_their_own():
    encoder = Encoder(Schema((Integer("age", 0, 99, nullable=True), Boolean("b", nullable=True))))
    rows = encoder.encode(pa.table({"age": [10, 99, None], "b": [None, True, False]}))
    age, truth = (build_axis(encoder, name, max_bins=4) for name in ("age", "b"))
    assert (age.size, age.bins, truth.size) == (5, 4, 3)
    assert Marginal((age,)).find_cells(*rows).tolist() == [0, 3, 4]
    assert Marginal((truth,)).find_cells(*rows).tolist() == [2, 1, 0]


def test_a_mark_tells_of_every_number_that_is_missing():
    rows = Records(
        np.array([[0.1, np.nan, 0.3], [0.1, 0.2, np.nan]], np.float32), np.zeros((2, 1), np.uint8)
    )
    seen = VotingSpace(np.array([False, True, True])).transform_rows(rows)
    assert seen.codes.tolist() == [[0, 1, 0], [0, 0, 1]]
    assert seen.numbers.dtype == np.float32


def test_rows_are_seen_as_they_are_where_nothing_can_be_missing():
    rows = Records(np.array([[0.1]]), np.zeros((1, 0), np.uint8))
    assert VotingSpace(np.array([False])).transform_rows(rows) is rows


def test_all_missing_numbers_are_seen_as_the_same_bits():
    """Rows are merged and candidates told apart bit by bit."""
    odd = np.array([0x7FC00001, 0xFFC00000, 0x7FC00000], np.uint32).view(np.float32)[:, None]
    seen = VotingSpace(np.array([True])).transform_rows(Records(odd, np.zeros((3, 0), np.uint8)))
    assert len(set(seen.numbers.view(np.uint32).ravel().tolist())) == 1


def test_a_missing_number_has_no_place_on_another_scale_either():
    transform = RankTransform((np.array([0.0, 0.1, 1.0]),), (np.array([0.0, 0.5, 1.0]),))
    rows = Records(np.array([[np.nan], [0.1]]), np.zeros((2, 0), np.uint8))
    seen = VotingSpace(np.array([True]), transform).transform_rows(rows)
    assert np.isnan(seen.numbers[0, 0])
    assert seen.numbers[1, 0] == 0.5
    assert np.isnan(transform.inverse_transform(np.array([[np.nan]]))).all()
