"""Tables as metrics see them, with a label that follows a known rule."""

import numpy as np
import pyarrow as pa

from tabpe import Boolean, Categorical, Float, Schema
from tabpe.evaluation.table_arrays import build_table_arrays


def view_of(schema, *tables):
    """Return the tables as views by one schema; a single one by itself."""
    made = build_table_arrays(schema, [pa.table(table) for table in tables])
    return made if len(made) > 1 else made[0]


def ruled(rule, rows, *, seed=0, columns=3, noise=0.0, classes=("no", "yes")):
    """Return numbers from -1 to 1 and a label by a rule of them, some of it at random."""
    rng = np.random.default_rng(seed)
    values = rng.uniform(-1, 1, (rows, columns))
    codes = np.asarray(rule(values)).astype(int)
    codes = np.where(rng.random(rows) < noise, rng.integers(0, len(classes), rows), codes)
    names = [f"x{place}" for place in range(columns)]
    schema = Schema(
        (*(Float(name, -1, 1) for name in names), Categorical("y", tuple(classes))), label="y"
    )
    table = dict(zip(names, values.T, strict=True)) | {"y": np.asarray(classes)[codes]}
    return view_of(schema, table)


def parity(values):
    """Return whether an odd number of values is positive: no part of them says anything."""
    return (values > 0).sum(axis=1) % 2


def total(values):
    """Return whether the sum is positive: each value says something by itself."""
    return values.sum(axis=1) > 0


def bits(rows, columns, *, seed=0):
    """Return random bits by name, as a table with a schema."""
    drawn = np.random.default_rng(seed).random((rows, columns)) < 0.5
    names = [f"b{place}" for place in range(columns)]
    return Schema(tuple(map(Boolean, names))), dict(zip(names, drawn.T, strict=True))
