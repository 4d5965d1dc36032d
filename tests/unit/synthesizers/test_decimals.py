"""Decimals of a database: their digits count, and how they are stored does not."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from facade import ESTIMATED, buying_fit, fake_fit, fitted, rows_of
from output_types import expected_types, library_of, types_of
from tabpe import Boolean, Categorical, Float, Integer, Schema, TabPE, draft_schema
from tabpe.accounting import FakeNoise
from tabpe.encoding import Encoder
from tabpe.errors import NotPrivateWarning
from tabpe.evaluation.metrics.columns import compare_columns
from tabpe.evaluation.table_arrays import build_table_arrays

ROWS = 400
MONEY = pa.decimal128(10, 2)
SCHEMA = Schema(
    (
        Float("price", 0, 1000, 2),
        Integer("pieces", 0, 99),
        Categorical("rate", (0.07, 0.19, 0.29)),
        Boolean("paid"),
    ),
    label="paid",
)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    cents = rng.integers(0, 100_000, ROWS)
    return pa.table(
        {
            "price": pa.array([Decimal(int(cent)) / 100 for cent in cents]).cast(MONEY),
            "pieces": pa.array([Decimal(int(n)) for n in rng.integers(0, 99, ROWS)]).cast(
                pa.decimal128(4, 0)
            ),
            "rate": pa.array(rng.choice([Decimal("0.07"), Decimal("0.19")], ROWS)).cast(MONEY),
            "paid": rng.random(ROWS) < 0.5,
        }
    )


@pytest.fixture(scope="module")
def model(table):
    return fitted(table, SCHEMA, n_samples=60)


def test_values_keep_their_digits(model):
    made = model.sample()
    assert types_of(made) == expected_types(SCHEMA, "pyarrow")
    assert set(made["rate"].to_pylist()) <= {0.07, 0.19, 0.29}
    prices = made["price"].to_pylist()
    assert all(0 <= price <= 1000 and price == round(price, 2) for price in prices)


STORED = {
    "decimals": lambda table: table,
    "more digits": lambda table: table.set_column(
        0, "price", table["price"].cast(pa.decimal128(20, 7))
    ),
    "floats": lambda table: table.set_column(0, "price", table["price"].cast(pa.float64())),
    "text": lambda table: table.set_column(0, "price", table["price"].cast(pa.string())),
    "polars": pl.from_arrow,
    "objects of pandas": lambda table: table.to_pandas(),
    "Arrow types of pandas": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
}


@pytest.mark.parametrize("stored", STORED)
def test_it_does_not_matter_how_decimals_are_stored(table, stored):
    expected = fake_fit(table, SCHEMA, n_samples=20).sample()
    made = fake_fit(STORED[stored](table), SCHEMA, n_samples=20).sample()
    assert types_of(made) == expected_types(SCHEMA, library_of(made))
    assert rows_of(made) == rows_of(expected)


def test_files_and_saved_models_give_the_same_types(table, model, tmp_path):
    pq.write_table(table, tmp_path / "rows.parquet")
    from_file = fitted(tmp_path / "rows.parquet", SCHEMA, n_samples=60)
    model.save(tmp_path / "run.tabpe")
    for one in (from_file, TabPE.load(tmp_path / "run.tabpe")):
        assert types_of(one.sample()) == expected_types(SCHEMA, "pyarrow")


def test_every_decimal_is_read_as_the_float_that_is_written_the_same():
    cells = pa.array([Decimal(cent) / 100 for cent in range(100_000)]).cast(pa.decimal128(12, 2))
    column = Float("price", 0, 1000)
    numbers, _ = Encoder(Schema((column,))).encode(pa.table({"price": cells}))
    expected = (np.arange(100_000) / 100 / 1000).astype(np.float32)
    np.testing.assert_array_equal(numbers.numbers[:, 0], expected)
    listed = Categorical("price", tuple(cent / 100 for cent in range(1000)))
    rows, _ = Encoder(Schema((listed,))).encode(pa.table({"price": cells[:1000]}))
    assert rows.codes[:, 0].tolist() == list(range(1000))


def test_a_draft_takes_the_digits_of_the_cells(table):
    price = draft_schema(table, label="paid")["price"]
    assert (type(price), price.decimals) == (Float, 2)
    cells = table["price"].to_pylist()
    assert (price.min, price.max) == (float(min(cells)), float(max(cells)))
    fine = pa.table({"x": pa.array([Decimal("1.5")]).cast(pa.decimal128(30, 20))})
    assert draft_schema(fine)["x"].decimals == 1


def test_the_digits_are_estimated_whatever_the_type_says(table):
    more = pa.concat_tables([table] * 10)
    finer = more.set_column(0, "price", more["price"].cast(pa.decimal128(20, 7)))
    for one in (more, finer):
        with pytest.warns(NotPrivateWarning):
            model = buying_fit(one, **(ESTIMATED | {"label": "paid"}), noise=FakeNoise(1))
        assert model.schema_["price"].decimals == 2
        assert {"price.type", "price.decimals"} <= set(model.schema_.fields_estimated)
        assert types_of(model.sample()) == expected_types(model.schema_, "pyarrow")


def test_metrics_read_them(table, model):
    first = compare_columns(*build_table_arrays(SCHEMA, [table, model.sample()]))[0]
    assert first.real.most == float(max(table["price"].to_pylist()))


@pytest.mark.parametrize("kind", ["int64", "uint64"])
def test_large_whole_numbers_keep_their_digits(kind):
    low = 2**60
    cells = pa.array([low + place % 1000 for place in range(ROWS)], kind)
    model = fitted(pa.table({"no": cells}), Schema((Integer("no", low, low + 999),)), n_samples=50)
    made = model.sample()["no"]
    assert made.type == pa.int64()
    assert all(low <= value < low + 1000 for value in made.to_pylist())
    first = made.to_pylist()[0]
    same = model.sample(1, conditions={"no": first})["no"].to_pylist()
    assert same == [first]
