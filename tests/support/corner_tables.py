"""Pairs of tables, real and synthetic, that a measure must survive."""

import numpy as np
import pyarrow as pa

from tabpe.evaluation.table_arrays import build_table_arrays
from tabpe.schema import Boolean, Categorical, Float, Integer, Schema

AGE, SIZE, ILL = Integer("age", 0, 100), Float("size", 0.0, 2.0), Boolean("ill")
WARD = Categorical("ward", ("heart", "eye", "skin"))
MIXED = Schema((AGE, SIZE, ILL, WARD), label="ward")


def mixed_table(rows, seed=0, *, nulls=0.0):
    """Return rows of `MIXED` in which the columns have to do with each other."""
    rng = np.random.default_rng(seed)
    ward = rng.integers(0, 3, rows)
    age = np.clip(rng.normal(20 + 25 * ward, 8), 0, 100).round()
    cells = {
        "age": age,
        "size": np.clip(age / 60 + rng.normal(0, 0.1, rows), 0, 2),
        "ill": rng.random(rows) < age / 120,
        "ward": np.array(["heart", "eye", "skin"])[ward],
    }
    return pa.table({name: _some_null(column, nulls, rng) for name, column in cells.items()})


def mixed_views(*tables):
    """Return views of tables of `MIXED`."""
    return build_table_arrays(MIXED, tables)


def corner(name):
    """Return views of the two tables of a corner."""
    schema, *tables = CORNERS[name]
    return build_table_arrays(schema, tables)


def _some_null(column, share, rng):
    return pa.array(column.tolist(), mask=rng.random(len(column)) < share)


def _of(columns, real, synthetic, label=None):
    return (Schema(columns, label=label), pa.table(real), pa.table(synthetic))


def _wide(columns, rows):
    rng = np.random.default_rng(0)
    kinds = [Float, Categorical]
    made = [
        kind(f"c{place}", 0.0, 1.0) if kind is Float else kind(f"c{place}", tuple(range(50)))
        for place, kind in enumerate(kinds * (columns // 2))
    ]
    tables = [
        {
            c.name: rng.random(rows) if isinstance(c, Float) else rng.integers(0, 50, rows)
            for c in made
        }
        for _ in range(2)
    ]
    return _of(tuple(made), *tables)


_NO_AGE = pa.array([None, None, None], pa.int64())
CORNERS = {
    "nulls": (MIXED, mixed_table(60, 1, nulls=0.3), mixed_table(50, 2, nulls=0.3)),
    "nulls in synthetic alone": (MIXED, mixed_table(60, 1), mixed_table(50, 2, nulls=0.5)),
    "smaller than the sample": (MIXED, mixed_table(9, 1), mixed_table(4, 2)),
    "all null": _of(
        (AGE, WARD), {"age": _NO_AGE, "ward": ["eye", None, "eye"]}, {"age": [1], "ward": ["eye"]}
    ),
    "all of both null": _of((AGE,), {"age": _NO_AGE}, {"age": _NO_AGE}),
    "constant": _of(
        (Integer("one", 1, 1), AGE), {"one": [1] * 9, "age": [5] * 9}, {"one": [1], "age": [6]}
    ),
    "one number": _of((AGE,), {"age": range(50)}, {"age": range(0, 90, 2)}),
    "one category": _of((WARD,), {"ward": ["eye", "skin"] * 5}, {"ward": ["heart"] * 3}),
    "no number": _of(
        (ILL, WARD),
        {"ill": [True, False] * 9, "ward": ["eye", "skin", "heart"] * 6},
        {"ill": [True] * 4, "ward": ["eye"] * 4},
    ),
    "one row": _of((AGE, ILL), {"age": [3], "ill": [True]}, {"age": [4], "ill": [False]}),
    "unlisted": _of(
        (WARD, AGE),
        {"ward": ["ear", "eye"] * 4, "age": range(8)},
        {"ward": ["nose", "eye"] * 4, "age": range(8)},
    ),
    "one class in synthetic": _of(
        (AGE, WARD),
        {"age": range(30), "ward": ["eye", "skin", "heart"] * 10},
        {"age": range(20), "ward": ["eye"] * 20},
        label="ward",
    ),
    "label alone": _of((ILL,), {"ill": [True, False]}, {"ill": [True, True]}, label="ill"),
    "beyond the bounds": _of(
        (AGE, Float("wide", -1e300, 1e300)),
        {"age": [1e300, 5, 7, -1e300], "wide": [1e300, -1e300, 0.0, 1.0]},
        {"age": [6, 1e12], "wide": [0.0, -1e300]},
    ),
    "numeric label": (
        Schema((AGE, SIZE), label="size", label_cuts=(1.0,)),
        pa.table({"age": range(9), "size": [0.1] * 9}),
        pa.table({"age": [1], "size": [1.0]}),
    ),
    "hundreds of columns": _wide(200, 40),
}
