"""What is wanted of a column with gaps, once its type is known, and the column that comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe.buying import moments
from tabpe.domain import bounds
from tabpe.domain.kinds import Reading
from tabpe.errors import SchemaError
from tabpe.schema import Categorical, Column, Float, Integer, Sketch, Temporal, Time


@dataclass(frozen=True)
class Wanted:
    """A column whose type is known.

    Args:
        sketch: What is declared of it.
        kind: Its type.
        decimals: Of numbers: the digits after the point.
        values: Of a list of values: what they are.
        nullable: Whether some cells were found to be empty.
        zoned: Of instants: whether they were found to have a time zone.
    """

    sketch: Sketch
    kind: type[Column]
    decimals: int | None = None
    values: type = str
    nullable: bool = False
    zoned: bool = False

    @property
    def typed(self) -> Sketch:
        """What is declared, with the type that was found where none is."""
        if self.sketch.kind is not None:
            return self.sketch
        fields = {**self.sketch.fields, **self._zone}
        return Sketch(self.sketch.name, self.kind, fields, open=self.kind is Time)

    @property
    def _zone(self) -> dict[str, str]:
        return {"timezone": "UTC"} if self.zoned else {}

    @property
    def lacks_bounds(self) -> bool:
        """Whether it is a number, a date or a time of which a bound is to be bought."""
        number = issubclass(self.kind, (Integer, Float, Temporal))
        return number and not {"quantiles"} >= set(self.sketch.missing)

    @property
    def lacks_quantiles(self) -> bool:
        """Whether its quantiles are to be bought."""
        return "quantiles" in self.sketch.missing

    @property
    def is_top(self) -> bool:
        """Whether the most common ones of its declared values are to be bought."""
        return self.sketch.top is not None and "values" in self.sketch.fields

    def even(self, bounds: Mapping[str, Any]) -> Integer | Float:
        """Return the column of numbers on an even scale, with bounds where it lacks them."""
        declared = {key: value for key, value in self.sketch.fields.items() if key != "scale"}
        column = self.kind(self.sketch.name, **{**declared, **bounds})
        if not isinstance(column, (Integer, Float)):
            raise TypeError(self.sketch.name)
        return column

    def filled(self, **bought: Any) -> Column:
        """Return the column, with what was bought where nothing is declared."""
        more = {"nullable": True} if self.nullable else {}
        return self.sketch.filled(self.kind, **bought, **self._zone, **more)


def declared(sketch: Sketch) -> Wanted:
    """Return what is wanted of a column whose type is declared."""
    if sketch.kind is None:
        raise AssertionError("a type is bought first")
    decimals = 0 if sketch.kind is not Float else sketch.fields.get("decimals")
    other = sketch.fields.get("other")
    declared = sketch.fields.get("values", () if other is None else (other,))
    return Wanted(sketch, sketch.kind, decimals, type(declared[0]) if declared else str)


def read_as(sketch: Sketch, reading: Reading, *, is_label: bool) -> Wanted:
    """Return what is wanted of a column whose type was bought."""
    if is_label and reading.kind is Float:
        raise SchemaError(
            f"label={sketch.name!r} holds decimals: declare label_classes (how many classes there "
            f"should be), or its type, min, max and label_cuts, or declare it categorical."
        )
    if is_label and issubclass(reading.kind, Temporal):
        raise SchemaError(
            f"label={sketch.name!r} holds dates or times: take another column, or one made of it, "
            f"such as the year."
        )
    if is_label and reading.kind is Integer:
        return Wanted(sketch, Categorical, values=int, nullable=reading.nullable)
    return Wanted(
        sketch, reading.kind, reading.decimals, nullable=reading.nullable, zoned=reading.zoned
    )


def span_of(one: Wanted, counts: NDArray[np.float64], sigma: float) -> bounds.Span:
    """Return the range of a column of numbers by powers of two, with declared bounds kept."""
    name, fields = one.sketch.name, one.sketch.fields
    low, high = fields.get("min"), fields.get("max")
    if issubclass(one.kind, Temporal):
        low, high = moments.declared_ticks(one.typed)
    span = bounds.span_of(counts, sigma, one.decimals, low=low, high=high)
    if span is None:
        raise SchemaError(
            f"column {name!r}: too few rows to tell its bounds under the noise: declare min and "
            f"max, drop it, or give the schema a larger part of the budget."
        )
    if span.low > span.high:
        side, beyond = ("min", "below") if high is None else ("max", "above")
        raise SchemaError(
            f"column {name!r}: its numbers seem to lie {beyond} the declared {side}: correct it."
        )
    return span


def bounds_bought(one: Wanted, low: float, high: float) -> dict[str, Any]:
    """Return the fields of numbers, dates or times that are bought with these bounds."""
    if issubclass(one.kind, Temporal):
        return moments.bounds_bought(one.typed, round(low), round(high))
    whole = one.kind is Integer
    found: dict[str, Any] = {"min": int(low) if whole else low, "max": int(high) if whole else high}
    bought = {name: found[name] for name in found if name not in one.sketch.fields}
    if one.sketch.kind is None and one.kind is Float and one.decimals is not None:
        bought["decimals"] = one.decimals
    return bought
