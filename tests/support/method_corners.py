"""Tables that every method of `tabpe.baselines` must survive, and a way to run one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tabpe.baselines import Baseline, Method
from tabpe.schema import Boolean, Categorical, Float, Integer, Schema

AGE, SIZE, ILL = Integer("age", 0, 100), Float("size", 0.0, 2.0), Boolean("ill")
WARD = Categorical("ward", ("heart", "eye", "skin"))
HERE, SAME = Categorical("here", ("yes",)), Integer("same", 7, 7)


def _table(rows: int, *columns: Integer | Float | Boolean | Categorical) -> pa.Table:
    rng = np.random.default_rng(0)
    age = rng.integers(0, 101, rows)
    cells = {
        "age": age,
        "size": age / 50.0,
        "ill": rng.random(rows) < age / 100,
        "ward": np.array(WARD.values)[np.minimum(age // 34, 2)],
        "here": ["yes"] * rows,
        "same": [7] * rows,
    }
    return pa.table({column.name: cells[column.name] for column in columns})


def _corner(
    *columns: Integer | Float | Boolean | Categorical, rows: int = 400, **label: object
) -> tuple[pa.Table, Schema]:
    return _table(rows, *columns), Schema(columns, **label)  # type: ignore[arg-type]


CORNERS = {
    "constant columns": _corner(HERE, AGE, SAME, ILL, label="ill"),
    "nothing but constants": _corner(HERE, SAME),
    "one attribute": _corner(WARD),
    "one attribute, the label": _corner(WARD, label="ward"),
    "two attributes": _corner(AGE, ILL, label="ill"),
    "no label": _corner(AGE, SIZE, ILL, WARD),
    "only numbers": _corner(AGE, SIZE),
    "only categories": _corner(WARD, ILL, label="ill"),
    "a numeric label": _corner(WARD, ILL, AGE, label="age", label_cuts=(30, 60)),
    "three rows": _corner(AGE, SIZE, WARD, ILL, label="ill", rows=3),
    "one row": _corner(AGE, WARD, ILL, label="ill", rows=1),
}


def fitted(
    method: Method, table: pa.Table, schema: Schema, *, epsilon: float = 1.0, **options: object
) -> Baseline:
    """Return a method that was run on a table, with bins that cost nothing."""
    settings = {"delta": 1e-6, "bins": "uniform", "most_bins": 12, "random_state": 0} | options
    return Baseline(method, epsilon=epsilon, **settings).fit(table, schema=schema)  # type: ignore[arg-type]
