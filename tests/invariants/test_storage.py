"""How a table is stored decides nothing: the findings of a review, by name.

Each of these told one row, or one user, with certainty, under a certificate that said private. The
tester that looks for more of them is `tests/properties/test_neighbours.py`.
"""

import datetime as dt
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from facade import QUICK
from neighbours import csv_bytes
from tabpe import Boolean, Categorical, Integer, Schema, TabPE
from tabpe._utils.resources import Resources
from tabpe.accounting import FakeNoise
from tabpe.backends import EncodedReading, LocalBackend, PrivacyUnit
from tabpe.backends.queries import ClassCountQuery
from tabpe.encoding import Encoder
from tabpe.errors import TabpeError
from tabpe.io import open_source, open_table
from tabpe.io.example import hospital_schema, hospital_table

PEOPLE, ROWS, MOST = 100, 6, 2


def rows_kept(data, others=PEOPLE * ROWS):
    """Return which rows of the first users count."""
    unit = PrivacyUnit("person", MOST, 0, 2**14, ("person", "value"))
    return (
        LocalBackend(open_source(data), unit, Resources.from_options()).users.kept[:others].tolist()
    )


def of_people(values, **more):
    people = np.repeat(np.arange(PEOPLE), ROWS).tolist()
    return {
        "person": [*people, *more.get("person", [])],
        "value": [*values, *more.get("value", [])],
    }


# 1. The rows of a user that count were chosen by a hash of their storage form.

VALUES = list(range(PEOPLE * ROWS))


def with_a_null():
    one = {"person": [PEOPLE], "value": [None]}
    return pd.DataFrame(of_people(VALUES)), pd.DataFrame(of_people(VALUES, **one))


def with_a_longer_decimal():
    doses = [Decimal(value) / 10 for value in VALUES]
    one = {"person": [PEOPLE], "value": [Decimal("0.125")]}
    return pa.table(of_people(doses)), pa.table(of_people(doses, **one))


def with_a_finer_unit():
    days = [dt.datetime(2024, 1, 1) + dt.timedelta(days=value) for value in VALUES]
    seconds = pa.array(days, pa.timestamp("s"))
    whole = pa.table({"person": of_people(days)["person"], "value": seconds})
    one = pa.table({"person": [PEOPLE], "value": [dt.datetime(2024, 1, 1, 0, 0, 0, 5)]})
    finer = whole.set_column(1, "value", whole["value"].cast(pa.timestamp("us")))
    return whole, pa.concat_tables([finer, one])


def with_a_text():
    one = {"person": [PEOPLE], "value": ["unknown"]}
    return pd.DataFrame(of_people(VALUES)), pd.DataFrame(of_people(VALUES, **one))


@pytest.mark.parametrize(
    "tables", [with_a_null, with_a_longer_decimal, with_a_finer_unit, with_a_text]
)
def test_a_user_more_leaves_the_rows_of_others_that_count(tables):
    smaller, larger = tables()
    assert rows_kept(smaller) == rows_kept(larger)


def test_a_file_with_doubles_leaves_the_rows_of_others_that_count(tmp_path):
    for name, kind in (("whole", pa.int64()), ("mixed", pa.float64())):
        (tmp_path / name).mkdir()
        half = PEOPLE * ROWS // 2
        table = pa.table(of_people(VALUES))
        pq.write_table(table.slice(0, half), tmp_path / name / "1.parquet")
        rest = table.slice(half)
        stored = rest.set_column(1, "value", rest["value"].cast(kind))
        pq.write_table(stored, tmp_path / name / "2.parquet")
    assert rows_kept(tmp_path / "whole") == rows_kept(tmp_path / "mixed")


# 2. Categories were cast to text by the type of their column.

DOSES = ("0.5", "1.5", "2.5", "other")


@pytest.mark.parametrize(
    ("values", "cells", "one"),
    [
        (DOSES, [Decimal("0.5"), Decimal("1.5"), Decimal("2.5")], Decimal("1.25")),
        (("1", "2", "other"), [1, 2], Decimal("1.25")),
        (("1", "2", "other"), [1, 2], None),
        (("true", "false", "other"), [True, False], 2),
        (
            ("2024-01-01T08:00:00", "2024-01-02T09:30:00", "other"),
            [dt.datetime(2024, 1, 1, 8), dt.datetime(2024, 1, 2, 9, 30)],
            dt.datetime(2024, 1, 1, 8, 0, 0, 1),
        ),
    ],
    ids=["decimals", "integers and a decimal", "integers and a null", "booleans", "instants"],
)
def test_a_row_more_leaves_the_categories_of_others(values, cells, one):
    schema = Schema((Categorical("dose", values, other="other"),), label="dose")
    counts = []
    for column in (cells * 50, [*cells * 50, one]):
        data = pd.DataFrame({"dose": column})
        backend = LocalBackend(open_source(data), None, Resources.from_options())
        query = ClassCountQuery(EncodedReading(Encoder(schema)))
        counts.append(backend.answer(query).value)
    assert counts[0].tolist() == [*[50] * len(cells), 0]
    assert (counts[1] - counts[0]).tolist() == [*[0] * len(cells), 1]


def test_a_null_leaves_large_integers_apart():
    large = 2**53 + 1
    schema = Schema((Categorical("no", (str(large), str(large + 1), "other"), other="other"),))
    counts = []
    for column in ([large, large + 1], [large, large + 1, None]):
        rows, _ = Encoder(schema).encode(pa.table({"no": pa.array(column, pa.int64())}))
        counts.append(rows.codes.ravel().tolist())
    assert counts[1] == [*counts[0], 2]
    assert counts[0] == [0, 1]


def test_a_long_integer_of_polars_stops_nothing_and_leaves_the_others():
    """It makes 128 bits of all integers of its column, which Arrow does not have."""
    rows = []
    for column in ([3, 5], [3, 5, 2**64]):
        data = pl.from_dicts([{"no": cell} for cell in column])
        encoded, _ = Encoder(Schema((Integer("no", 0, 9),))).encode(open_table(data)[0])
        rows.append(encoded.numbers.ravel().tolist())
    assert rows[1] == [*rows[0], 1.0]


# 3. The release had the types of the private columns.

NULLABLE = Schema((Integer("age", 0, 99, nullable=True), Boolean("ill", nullable=True)))
AGES = {"age": [35, 66] * 30, "ill": [True, False] * 30}


def released(data, declared, **changes):
    settings = {"epsilon": 50.0, "delta": 1e-6, "n_samples": 10, "preset": QUICK, "verbose": 0}
    model = TabPE(**(settings | {"random_state": 0, "noise": FakeNoise(1)} | changes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(data, declared)


def test_a_null_changes_no_type_of_the_release():
    with_null = {name: [*cells, None] for name, cells in AGES.items()}
    frames = [released(pd.DataFrame(data), NULLABLE).sample() for data in (AGES, with_null)]
    assert [list(map(str, frame.dtypes)) for frame in frames] == [["Int64", "boolean"]] * 2


def test_a_null_changes_nothing_of_a_saved_model_but_its_rows(tmp_path):
    saved = []
    for data in (AGES, {name: [*cells, None] for name, cells in AGES.items()}):
        model = released(pd.DataFrame(data), NULLABLE)
        model.save(tmp_path / "model.tabpe")
        loaded = TabPE.load(tmp_path / "model.tabpe")
        saved.append(list(map(str, loaded.sample().dtypes)))
    assert saved == [["Int64", "boolean"]] * 2


# 4. One cell decided whether there is a release.

PLAIN = Schema((Integer("age", 0, 99), Categorical("ward", ("eye", "heart"))), label="ward")
WARDS = {"age": [35, 66] * 40, "ward": ["eye", "heart"] * 40}


@pytest.mark.parametrize("cell", ["lung", None, "", float("nan"), 5])
@pytest.mark.parametrize("name", ["age", "ward"])
def test_no_cell_stops_a_release(name, cell):
    one = {"age": 35, "ward": "eye"} | {name: cell}
    data = pd.DataFrame({key: [*cells, one[key]] for key, cells in WARDS.items()})
    assert len(released(data, PLAIN).sample()) == 10


@pytest.mark.parametrize("cell", ["lung", None, "", 5])
def test_no_cell_stops_a_release_of_an_estimated_schema(cell):
    data = pd.DataFrame({"age": [*WARDS["age"], cell], "ward": [*WARDS["ward"], "eye"]})
    changes = {"schema": "private", "schema_budget": 0.5, "label": "ward", "epsilon": 20.0}
    assert len(released(data, None, **changes).sample()) == 10


def test_no_number_of_values_stops_a_release():
    size = 2**16 + 2
    words = [*(f"w{number}" for number in range(size)), *["often"] * 1000]
    data = pa.table({"word": words, "ward": ["eye", "heart"] * (len(words) // 2)})
    changes = {"schema": "private", "schema_budget": 0.5, "label": "ward", "epsilon": 20.0}
    assert len(released(data, None, **changes).sample()) == 10


def test_a_strict_run_says_that_refusals_are_not_covered():
    data = pd.DataFrame(WARDS)
    strict, usual = (
        released(data, PLAIN, strict=strict, noise="exact").certificate for strict in (True, False)
    )
    assert strict.strict
    assert not usual.strict
    assert len(strict.guarantee.not_guaranteed) == len(usual.guarantee.not_guaranteed) + 1
    wrong = pd.DataFrame({key: [*cells, "lung"] for key, cells in WARDS.items()})
    with pytest.raises(TabpeError):
        TabPE(epsilon=1.0, delta=1e-6, strict=True, verbose=0).fit(wrong, PLAIN)


# All of it together: a release of the table of the demo, byte by byte.


def test_the_demo_is_released_byte_by_byte_the_same_from_every_library(tmp_path):
    private = hospital_table(600)
    frame = private.to_pandas()
    csv.write_csv(private, tmp_path / "private.csv")
    pq.write_table(private, tmp_path / "private.parquet")
    (tmp_path / "parts").mkdir()
    floats = private.set_column(0, "age", private["age"].cast(pa.float64()))
    pq.write_table(private.slice(0, 200), tmp_path / "parts" / "1.parquet")
    pq.write_table(floats.slice(200), tmp_path / "parts" / "2.parquet", use_dictionary=False)
    tables = {
        "pyarrow": private,
        "pandas": frame,
        "pandas nullable": frame.convert_dtypes(),
        "pandas objects": frame.astype(object),
        "pandas arrow": frame.convert_dtypes(dtype_backend="pyarrow"),
        "polars": pl.from_arrow(private),
        "csv": tmp_path / "private.csv",
        "parquet": tmp_path / "private.parquet",
        "parquet parts": tmp_path / "parts",
        "another order": frame.iloc[::-1],
    }
    made = {
        name: csv_bytes(released(data, hospital_schema(), n_samples=100))
        for name, data in tables.items()
    }
    assert {name for name, rows in made.items() if rows != made["pyarrow"]} == set()
    assert made["pyarrow"].count(b"\n") == 101
