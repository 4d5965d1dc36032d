"""Tables that every method of `tabpe.baselines` must survive, and a way to run one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from adultlike import two_way_error
from tabpe.baselines import Baseline, Independent, SynthesisMethod
from tabpe.schema import Boolean, Categorical, Float, Integer, Schema
from tabpe.verification import verify_plain

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
    method: SynthesisMethod,
    table: pa.Table,
    schema: Schema,
    *,
    epsilon: float = 1.0,
    **options: object,
) -> Baseline:
    """Return a method that was run on a table, with bins that cost nothing."""
    settings = {"delta": 1e-6, "bins": "uniform", "most_bins": 12, "random_state": 0} | options
    return Baseline(method, epsilon=epsilon, **settings).fit(table, schema=schema)  # type: ignore[arg-type]


def survives(method: SynthesisMethod, name: str) -> None:
    """Check that a method makes rows of a corner, and a certificate that holds."""
    table, schema = CORNERS[name]
    model = fitted(method, table, schema, n_samples=50)
    assert model.sample().num_rows == 50
    assert model.sample().schema.names == table.schema.names
    keeps_its_guarantee(model, 1.0)


def keeps_its_guarantee(model: Baseline, epsilon: float) -> None:
    """Check a certificate, with the accountant that verifies."""
    assert model.certificate.private
    assert model.certificate.epsilon <= epsilon
    assert verify_plain(model.certificate.to_dict()).holds


def against_independent(model: Baseline, table: pa.Table, *, epsilon: float) -> float:
    """Return the error of pairs of columns, as a part of what independent columns have."""
    alone = fitted(Independent(), table, model.schema_, epsilon=epsilon)
    return two_way_error(table, model.sample()) / two_way_error(table, alone.sample())
