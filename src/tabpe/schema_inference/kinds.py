"""What the cells of a column read as: numbers, booleans, dates, times or text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabpe.encoding.raw_cells import (
    BINARY,
    CLOCK,
    DAY,
    EMPTY,
    KINDS,
    MOMENT,
    MOST_DIGITS,
    OTHER,
    WHOLE,
    ZONED,
)
from tabpe.errors import SchemaError
from tabpe.schema import Boolean, Categorical, Column, Date, Datetime, Float, Integer, Time
from tabpe.schema_inference.bounds import TYPE_ERROR_PROBABILITY, compute_noise_threshold


@dataclass(frozen=True)
class InferredType:
    """How the cells of a column are to be read.

    Args:
        kind: The type of the column.
        decimals: Of numbers: the digits after the point; None for more than are distinguished.
        nullable: Whether some cells are empty.
        zoned: Of instants: whether they have a time zone.
    """

    kind: type[Column]
    decimals: int | None = None
    nullable: bool = False
    zoned: bool = False


def compute_detection_threshold(sigma: float) -> float:
    """Return the noisy count from which on cells of a kind are taken to be there."""
    return compute_noise_threshold(sigma, KINDS, TYPE_ERROR_PROBABILITY)


def infer_type(name: str, counts: NDArray[np.float64], sigma: float) -> InferredType:
    """Return how to read a column, by the noisy number of its cells of each kind.

    A kind counts if it is more than noise (`compute_detection_threshold`). So where fewer cells
    than twice that are of another kind, they may go unnoticed, and will not fit the schema.

    Args:
        name: Name of the column, for messages.
        counts: The noisy counts.
        sigma: Scale of their noise.

    Example:
        >>> counts = np.zeros(KINDS)
        >>> counts[[WHOLE, WHOLE + 2]] = 700, 300
        >>> inferred = infer_type("price", counts, sigma=5.0)
        >>> inferred.kind, inferred.decimals, inferred.nullable
        (<class 'tabpe.schema.columns.Float'>, 2, False)
    """
    seen = {int(cell) for cell in np.flatnonzero(counts > compute_detection_threshold(sigma))}
    nullable = EMPTY in seen
    if not seen - {EMPTY}:
        raise SchemaError(
            f"column {name!r}: too few rows to tell numbers from text under the noise: declare its "
            f"type, or give the schema a larger part of the budget."
        )
    times = seen & {DAY, MOMENT, ZONED, CLOCK}
    numbers = seen - times - {EMPTY, OTHER, BINARY}
    if OTHER in seen or (times and seen - times - {EMPTY}) or (CLOCK in times and len(times) > 1):
        return InferredType(Categorical, nullable=nullable)
    if times:
        kind = Time if CLOCK in times else Date if times == {DAY} else Datetime
        return InferredType(kind, 0, nullable, zoned=ZONED in times)
    if not numbers:
        return InferredType(Boolean, nullable=nullable)
    digits = max(numbers) - WHOLE
    if not digits:
        return InferredType(Integer, 0, nullable)
    return InferredType(Float, digits if digits <= MOST_DIGITS else None, nullable)
