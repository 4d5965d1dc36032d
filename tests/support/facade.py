"""A small table, its schema and quick fits, for the tests of `TabPE`."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest

from tabpe import Boolean, Categorical, Evolution, Float, Integer, Posterior, Schema, TabPE
from tabpe.accounting import FakeNoise
from tabpe.errors import NotPrivateWarning

SCHEMA = Schema(
    (
        Integer("age", 0, 100),
        Float("bmi", 10.0, 60.0, decimals=1),
        Categorical("ward", ("heart", "lung", "skin")),
        Boolean("ill"),
    ),
    label="ill",
)
QUICK = Evolution(rounds=3, sampling_rounds=1)
QUICK_BEST = Posterior(rounds=3, votes=2, candidates=40, pool=400, sweeps=5, last_sweeps=10)
# Most columns have listed values, so that the default estimates 2-way marginals.
FLOORS = {"heart": "ground", "lung": "first", "skin": "second", "eye": "third"}
LISTED = Schema(
    (
        Categorical("ward", tuple(FLOORS)),
        Categorical("floor", tuple(FLOORS.values())),
        Categorical("day", ("monday", "tuesday", "friday")),
        Boolean("insured"),
        Integer("age", 0, 100),
        Boolean("ill"),
    ),
    label="ill",
)
QUICK_PAIRS = Posterior(rounds=2, votes=2, candidates=40, pool=400, sweeps=5, last_sweeps=10)
# For what must hold whatever the strategy is.
BOTH = pytest.mark.parametrize("preset", [QUICK, QUICK_BEST], ids=["evolution", "posterior"])
# A large epsilon and few rounds are calibrated in milliseconds; the noise does not matter here.
FAST = {
    "epsilon": 50.0,
    "delta": 1e-6,
    "n_samples": 30,
    "preset": QUICK,
    "random_state": 0,
    "verbose": 0,
}
# What it takes for delta to follow a noisy number of rows: a fair amount of noise.
NOISY_DELTA = {"epsilon": 4.0, "delta": None, "preset": Evolution(rounds=6)}

# A schema that is estimated, with a part of the budget that is enough for small tables; and users,
# whose guarantee leaves no room for a huge epsilon.
ESTIMATED = {
    "schema": "private",
    "estimate_columns": "all",
    "schema_budget": 0.2,
    "label": "ill",
    "epsilon": 8.0,
}
USERS = {"unit": "person", "max_rows_per_user": 4, "epsilon": 8.0}


def columns(size=400, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "age": rng.integers(0, 101, size),
        "bmi": np.round(rng.uniform(10, 60, size), 1),
        "ward": rng.choice(["heart", "lung", "skin"], size).astype(object),
        "ill": rng.random(size) < 0.3,
    }


def listed(size=1500, seed=0):
    """The ward tells the floor; all else is independent. A person has three rows."""
    rng = np.random.default_rng(seed)
    wards = rng.choice(list(FLOORS), size).tolist()
    return pa.table(
        {
            "ward": wards,
            "floor": [FLOORS[ward] for ward in wards],
            "day": rng.choice(["monday", "tuesday", "friday"], size).tolist(),
            "insured": rng.random(size) < 0.8,
            "age": rng.integers(0, 101, size),
            "ill": rng.random(size) < 0.3,
            "person": [f"p{number % (size // 3)}" for number in range(size)],
        }
    )


def fitted(table, schema=SCHEMA, **changes):
    return TabPE(**(FAST | changes)).fit(table, schema)


def fake_fit(table, schema=SCHEMA, **changes):
    with pytest.warns(NotPrivateWarning):
        return fitted(table, schema, **({"noise": FakeNoise(1)} | changes))


def buying_fit(table, declared=None, **changes):
    return TabPE(**(FAST | ESTIMATED | changes)).fit(table, declared)


def of_people(size=1500, seed=0):
    """The same with a column of ids: a few people have many rows, and most have a few."""
    people = (np.random.default_rng(seed + 1).random(size) ** 2 * size / 3).astype(int)
    return pa.table(columns(size, seed) | {"person": [f"p{number}" for number in people]})


def spends(model):
    return [item.name for item in model.certificate.spends]


def rows_of(frame):
    """The rows of any frame, as plain Python values."""
    if isinstance(frame, pd.DataFrame):
        return frame.to_dict("records")
    return frame.to_pylist() if isinstance(frame, pa.Table) else frame.to_dicts()


def frames(data):
    arrow = pa.table(data)
    pandas = pd.DataFrame(data)
    return {
        "pyarrow": arrow,
        "pandas": pandas,
        "polars": pl.DataFrame({name: list(cells) for name, cells in data.items()}),
        "polars lazy": pl.LazyFrame({name: list(cells) for name, cells in data.items()}),
        "small types": pandas.astype({"age": "int16", "ward": "category"}),
        "float ages": pandas.astype({"age": "float64"}),
        "text": pandas.astype(str),
        "pandas arrow types": pandas.convert_dtypes(dtype_backend="pyarrow"),
        "dictionary": arrow.set_column(2, "ward", arrow["ward"].dictionary_encode()),
        "chunks": pa.concat_tables([arrow.slice(0, 100), arrow.slice(100)]),
        "another order": arrow.select(["ill", "ward", "bmi", "age"]),
        "more columns": arrow.append_column("id", pa.array(range(len(arrow)))),
    }
