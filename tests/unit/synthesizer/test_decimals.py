"""Decimals of a database: in as they are, and out in the same type."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from facade import BOUGHT, buying_fit, fitted
from tabpe import Boolean, Categorical, Float, Integer, Schema, TabPE, draft_schema
from tabpe.encode import Encoder
from tabpe.errors import NotPrivateWarning
from tabpe.io.frames import frame_table
from tabpe.metrics.columns import column_views
from tabpe.metrics.view import views
from tabpe.privacy import FakeNoise

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


def test_arrow_decimals_keep_digits_and_scale(table, model):
    made = model.sample()
    assert made.schema.types == table.schema.types
    assert set(made["rate"].to_pylist()) <= {Decimal("0.07"), Decimal("0.19"), Decimal("0.29")}
    assert all(0 <= price <= 1000 for price in made["price"].to_pylist())


def test_files_and_saved_models_keep_them(table, model, tmp_path):
    pq.write_table(table, tmp_path / "rows.parquet")
    from_file = fitted(tmp_path / "rows.parquet", SCHEMA, n_samples=60)
    assert from_file.sample().schema.types == table.schema.types
    model.save(tmp_path / "run.tabpe")
    assert TabPE.load(tmp_path / "run.tabpe").sample().schema.types == table.schema.types


def test_polars_decimals_stay_decimals(table):
    frame = pl.from_arrow(table)
    assert fitted(frame, SCHEMA, n_samples=20).sample().schema == frame.schema


def test_pandas_objects_stay_decimals_and_their_digits_are_not_told(table):
    frame = table.to_pandas()
    assert isinstance(frame["price"][0], Decimal)
    made = fitted(frame, SCHEMA, n_samples=20).sample()
    for name in ("price", "pieces", "rate"):
        assert all(isinstance(cell, Decimal) for cell in made[name])
    # What Arrow guesses from the cells would say how many digits the largest of them has.
    assert frame_table(frame)[1].arrow_types["price"] == "decimal"


def test_every_decimal_is_read_as_the_float_that_is_written_the_same():
    cells = pa.array([Decimal(cent) / 100 for cent in range(100_000)]).cast(pa.decimal128(12, 2))
    column = Float("price", 0, 1000)
    numbers, _ = Encoder(Schema((column,))).encode(pa.table({"price": cells}))
    expected = (np.arange(100_000) / 100 / 1000).astype(np.float32)
    np.testing.assert_array_equal(numbers.numbers[:, 0], expected)
    listed = Categorical("price", tuple(cent / 100 for cent in range(1000)))
    rows, _ = Encoder(Schema((listed,))).encode(pa.table({"price": cells[:1000]}))
    assert rows.codes[:, 0].tolist() == list(range(1000))


def test_what_has_too_many_digits_for_the_type_is_a_number():
    few = pa.table({"x": pa.array([Decimal("1.5")] * 50).cast(pa.decimal128(3, 1))})
    made = fitted(few, Schema((Float("x", 0, 10**6, 1),)), n_samples=30).sample()
    assert made["x"].type in (pa.float64(), pa.decimal128(3, 1))
    assert len(made) == 30


def test_a_draft_takes_the_digits_of_the_type(table):
    price = draft_schema(table, label="paid")["price"]
    assert (type(price), price.decimals) == (Float, 2)
    cells = table["price"].to_pylist()
    assert (price.min, price.max) == (float(min(cells)), float(max(cells)))
    fine = pa.table({"x": pa.array([Decimal("1.5")]).cast(pa.decimal128(30, 20))})
    assert draft_schema(fine)["x"].decimals is None


def test_a_type_that_says_how_many_digits_there_are_is_not_bought(table):
    # Under noise the bounds reach, once in a thousand times, to a power of two that is empty, and
    # then numbers may have too many digits for the type.
    with pytest.warns(NotPrivateWarning):
        model = buying_fit(table, **(BOUGHT | {"label": "paid", "noise": FakeNoise(strength=0)}))
    assert model.schema_["price"].decimals == 2
    assert "price.decimals" not in model.schema_.fields_bought
    assert "price.type" not in model.schema_.fields_bought
    assert model.sample().schema.types == table.schema.types


def test_metrics_read_them(table, model):
    first = column_views(*views(SCHEMA, [table, model.sample()]))[0]
    assert first.real.most == float(max(table["price"].to_pylist()))


def test_pandas_columns_of_arrow_decimals_stay_decimals(table):
    frame = pd.DataFrame({"x": table["price"].to_pandas(types_mapper=pd.ArrowDtype)})
    made = fitted(frame, Schema((Float("x", 0, 1000, 2),)), n_samples=20).sample()
    assert made["x"].dtype == frame["x"].dtype == pd.ArrowDtype(MONEY)


@pytest.mark.parametrize("kind", ["int64", "uint64"])
def test_large_whole_numbers_come_out_in_their_type(kind):
    low = 2**60
    cells = pa.array([low + place % 1000 for place in range(ROWS)], kind)
    model = fitted(pa.table({"no": cells}), Schema((Integer("no", low, low + 999),)), n_samples=50)
    made = model.sample()["no"]
    assert made.type == cells.type
    assert all(low <= value < low + 1000 for value in made.to_pylist())
    first = made.to_pylist()[0]
    same = model.sample(1, conditions={"no": first})["no"].to_pylist()
    assert same == [first]
