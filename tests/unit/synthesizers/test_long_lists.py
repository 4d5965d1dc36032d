"""Lists of thousands of values: encoded in two bytes, synthesised, estimated and written down."""

import numpy as np
import pyarrow as pa
import pytest

from facade import QUICK, QUICK_BEST, fitted
from tabpe import Boolean, Categorical, Integer, Schema
from tabpe.encoding import Encoder

VALUES = tuple(f"town {number}" for number in range(5000))
SCHEMA = Schema((Categorical("town", VALUES), Integer("age", 0, 99), Boolean("ill")), label="ill")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    places = np.minimum(rng.zipf(1.3, 2000) - 1, len(VALUES) - 1)
    return pa.table(
        {
            "town": np.array(VALUES)[places],
            "age": rng.integers(0, 99, 2000),
            "ill": rng.random(2000) < 0.4,
        }
    )


def test_codes_of_thousands_of_values_take_two_bytes():
    encoder = Encoder(SCHEMA)
    table = pa.table({"town": VALUES, "age": [5] * 5000, "ill": [True] * 5000})
    rows, classes = encoder.encode(table)
    assert rows.codes.dtype == np.uint16
    assert encoder.decode(rows, classes)["town"].to_pylist() == list(VALUES)


@pytest.mark.parametrize("preset", [QUICK, QUICK_BEST], ids=["evolution", "posterior"])
def test_a_long_list_is_synthesised(table, preset):
    made = fitted(table, SCHEMA, preset=preset, n_samples=100).sample()
    assert set(made["town"].to_pylist()) <= set(VALUES)


def test_common_values_stay_common(table):
    made = fitted(table, SCHEMA, preset="best", epsilon=5.0, n_samples=500).sample()
    shares = [np.mean(np.array(t["town"].to_pylist()) == VALUES[0]) for t in (table, made)]
    assert shares[1] == pytest.approx(shares[0], abs=0.1)


@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_a_long_list_survives_a_file(tmp_path, ending):
    SCHEMA.save(tmp_path / f"schema.{ending}")
    assert Schema.load(tmp_path / f"schema.{ending}") == SCHEMA
