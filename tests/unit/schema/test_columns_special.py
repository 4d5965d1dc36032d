"""Special values of columns: which are allowed, and how files hold them."""

import datetime as dt

import pytest

from tabpe.errors import SchemaError
from tabpe.schema import Categorical, Date, Float, Integer, PartialSchema, Schema


def test_they_are_sorted_and_come_back_from_plain_values():
    columns = (
        Float("gain", 0, 9e5, 2, scale="log", special=(100, 0)),
        Integer("claims", 0, 400, special=[0]),
        Date("died", "1900-01-01", "2024-12-31", special=("1900-01-01",)),
    )
    assert columns[0].special == (0.0, 100.0)
    assert columns[2].special == (dt.date(1900, 1, 1),)
    schema = Schema(columns)
    plain = schema.to_dict()
    assert plain["columns"][2]["special"] == ["1900-01-01"]
    assert Schema.from_dict(plain) == schema


def test_a_column_without_any_is_written_as_before():
    assert "special" not in Integer("age", 0, 9).to_dict()


@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_a_file_keeps_them(tmp_path, suffix):
    schema = Schema((Float("gain", 0.0, 9.0, special=(0.0,)), Integer("n", 0, 9, special=(9,))))
    schema.save(tmp_path / f"schema.{suffix}")
    assert Schema.load(tmp_path / f"schema.{suffix}") == schema


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Integer("n", 0, 9, special=(10,)), "special=[10]: expected values from min to"),
        (lambda: Integer("n", 0, 9, special=(0.5,)), "expected a list of whole numbers"),
        (lambda: Integer("n", 0, 9, special=()), "special=[]: expected 1 to 16 values"),
        (lambda: Integer("n", 0, 9, special=(1, 1)), "expected each value once"),
        (lambda: Integer("n", 0, 99, special=tuple(range(17))), "expected 1 to 16 values"),
        (lambda: Integer("n", 0, 9, special=3), "special=3: expected a list of whole numbers"),
        (lambda: Float("x", 0, 9, 1, special=(0.25,)), "at most 1 decimals, as declared"),
        (lambda: Float("x", 0, 9, special=(float("nan"),)), "expected a list of numbers"),
        (lambda: Date("d", "2024-01-01", "2024-12-31", special=("2025-01-01",)), "from min to"),
        (lambda: Date("d", "2024-01-01", "2024-12-31", special="2024-02-01"), "a list of values"),
    ],
)
def test_a_wrong_one_is_refused_and_told_what_is_allowed(make, message):
    with pytest.raises(SchemaError) as raised:
        make()
    assert message in str(raised.value)
    assert "column '" in str(raised.value)


def test_a_numeric_label_has_none():
    columns = (Integer("pay", 0, 9, special=(0,)), Categorical("ward", ("a", "b")))
    with pytest.raises(SchemaError, match="a numeric label has none"):
        Schema(columns, label="pay", label_cuts=(5,))


def test_they_need_declared_bounds():
    entry = {"name": "pay", "type": "integer", "special": [0]}
    with pytest.raises(SchemaError, match="declare min and max as well"):
        PartialSchema.from_dict({"columns": [entry]})
