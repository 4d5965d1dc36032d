"""What a column is read as, from noisy counts of the kinds of its cells."""

import numpy as np
import pytest

from tabpe.accounting import ExactNoise
from tabpe.encoding.raw_cells import (
    BINARY,
    CLOCK,
    DAY,
    EMPTY,
    KINDS,
    MOMENT,
    MORE_DIGITS,
    OTHER,
    WHOLE,
    ZONED,
)
from tabpe.errors import SchemaError
from tabpe.schema import Boolean, Categorical, Date, Datetime, Float, Integer, Time
from tabpe.schema_inference.kinds import InferredType, infer_type


def counts(**cells):
    numbers = {
        "empty": EMPTY,
        "other": OTHER,
        "binary": BINARY,
        "whole": WHOLE,
        "more": MORE_DIGITS,
    }
    numbers |= {"day": DAY, "moment": MOMENT, "zoned": ZONED, "clock": CLOCK}
    found = np.zeros(KINDS)
    for name, count in cells.items():
        found[numbers.get(name, WHOLE + int(name[-1]) if name[-1].isdigit() else 0)] = count
    return found


READINGS = [
    ({"whole": 1000}, InferredType(Integer, 0)),
    ({"whole": 900, "digits_2": 100}, InferredType(Float, 2)),
    ({"digits_1": 500, "digits_3": 500}, InferredType(Float, 3)),
    ({"whole": 500, "more": 500}, InferredType(Float, None)),
    ({"binary": 1000}, InferredType(Boolean)),
    ({"other": 1000}, InferredType(Categorical)),
    ({"other": 500, "whole": 500}, InferredType(Categorical)),
    ({"other": 500, "empty": 500}, InferredType(Categorical, nullable=True)),
    ({"empty": 500, "whole": 500}, InferredType(Integer, 0, nullable=True)),
    ({"empty": 500, "digits_2": 500}, InferredType(Float, 2, nullable=True)),
    ({"empty": 500, "binary": 500}, InferredType(Boolean, nullable=True)),
    ({"binary": 500, "whole": 500}, InferredType(Integer, 0)),
    ({"binary": 500, "digits_2": 500}, InferredType(Float, 2)),
    ({"binary": 500, "other": 500}, InferredType(Categorical)),
    ({"day": 1000}, InferredType(Date, 0)),
    ({"day": 500, "moment": 500, "empty": 500}, InferredType(Datetime, 0, nullable=True)),
    ({"zoned": 1000}, InferredType(Datetime, 0, zoned=True)),
    ({"moment": 500, "zoned": 500}, InferredType(Datetime, 0, zoned=True)),
    ({"clock": 1000}, InferredType(Time, 0)),
    ({"clock": 500, "day": 500}, InferredType(Categorical)),
    ({"day": 500, "whole": 500}, InferredType(Categorical)),
    ({"day": 500, "binary": 500}, InferredType(Categorical)),
]


@pytest.mark.parametrize(("cells", "reading"), READINGS)
def test_a_column_is_read_as_all_of_its_cells_allow(cells, reading):
    assert infer_type("x", counts(**cells), sigma=10.0) == reading


@pytest.mark.parametrize(("cells", "reading"), READINGS)
def test_noise_changes_no_reading_of_many_rows(cells, reading):
    """Noise of half the scale that is allowed for, which never comes near the threshold."""
    exact = counts(**cells)
    for _ in range(50):
        noisy = exact + ExactNoise().draw(KINDS, 5.0)
        assert infer_type("x", noisy, sigma=10.0) == reading


def test_cells_of_another_kind_below_the_noise_do_not_count():
    assert infer_type("x", counts(whole=1000, other=50), sigma=10.0) == InferredType(Integer, 0)
    assert infer_type("x", counts(whole=1000, other=70), sigma=10.0) == InferredType(Categorical)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({}, "column 'x': too few rows.*declare its type"),
        ({"whole": 20}, "too few rows"),
        ({"empty": 1000}, "too few rows"),
    ],
)
def test_what_can_not_be_told_is_refused(cells, message):
    with pytest.raises(SchemaError, match=message):
        infer_type("x", counts(**cells), sigma=10.0)
