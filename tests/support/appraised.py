"""A real and a synthetic table for tests of what is estimated about the real one."""

import numpy as np
import pyarrow as pa

from tabpe.accounting import FakeNoise
from tabpe.schema import Boolean, Categorical, Float, Integer, Schema

SCHEMA = Schema(
    (
        Integer("age", 0, 100),
        Float("bmi", 10.0, 60.0),
        Categorical("ward", ("heart", "lung", "else"), other="else"),
        Boolean("ill"),
    ),
    label="ill",
)


def rows(size, seed=0, **changes):
    """A table in which those above fifty are ill."""
    rng = np.random.default_rng(seed)
    ages = rng.integers(0, 101, size)
    columns = {
        "age": ages,
        "bmi": rng.uniform(10, 60, size),
        "ward": rng.choice(["heart", "heart", "lung", "skin"], size).tolist(),
        "ill": ages > 50,
    }
    return pa.table(columns | changes)


REAL, SYNTHETIC = rows(3_000), rows(400, seed=1, ward=["lung"] * 400)


def no_noise():
    """Noise of strength zero, so that what is estimated is exact. NOT PRIVATE."""
    return FakeNoise(strength=0)
