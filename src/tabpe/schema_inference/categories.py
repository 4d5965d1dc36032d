"""Which values of a column are released, and where all others go."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tabpe.errors import SchemaError
from tabpe.schema import Categorical, PartialColumn
from tabpe.schema_inference.bounds import compute_noise_threshold

OTHER = "other"


@dataclass(frozen=True)
class NoisyRowCount:
    """A noisy number of rows.

    Args:
        estimate: The number.
        variance: Of its noise.
    """

    estimate: float
    variance: float

    def has_unlisted_rows(self, released: Mapping[Any, float], sigma: float) -> bool:
        """Whether there are more rows than those of the values that were released.

        It errs once in 40 times by noise: then a value stands for others that there are none of.

        Example:
            >>> NoisyRowCount(1000.0, 25.0).has_unlisted_rows({"f": 490.0, "m": 505.0}, sigma=5.0)
            False
        """
        noise = math.sqrt(self.variance + len(released) * sigma**2)
        return self.estimate - sum(released.values()) > 2 * noise


def select_most_common(
    released: Mapping[Any, float], top: int | None, other: Any = None
) -> dict[Any, float]:
    """Return at most `top` of some values, those with the largest noisy counts.

    Args:
        released: Noisy counts of values, in an order that decides between equal ones.
        top: How many; None for all.
        other: The value that stands for all others: it is no part of them.

    Example:
        >>> select_most_common({"a": 7.0, "b": 9.0, "else": 50.0, "c": 8.0}, 2, "else")
        {'b': 9.0, 'c': 8.0}
    """
    if top is None:
        return dict(released)
    falling = sorted(
        (value for value in released if value != other), key=lambda value: -released[value]
    )
    kept = set(falling[:top])
    return {value: count for value, count in released.items() if value in kept}


def select_declared_values(
    sketch: PartialColumn, counts: Sequence[float], sigma: float
) -> Categorical:
    """Return a column with the most common of its declared values, and one for all others.

    A value stays if its noisy count is more than noise, and at least one does.

    Args:
        sketch: What is declared, with `values` and `top`.
        counts: The noisy count of each of the values.
        sigma: Scale of the noise.

    Example:
        >>> wards = PartialColumn("ward", Categorical, {"values": ("eye", "heart", "lung")}, top=1)
        >>> select_declared_values(wards, [30.0, 900.0, 20.0], sigma=5.0).values
        ('heart', 'other')
    """
    counted = dict(zip(sketch.fields["values"], counts, strict=True))
    other, least = sketch.fields.get("other"), compute_noise_threshold(sigma, len(counted))
    ranked = select_most_common(counted, sketch.top, other)
    kept = {value: count for value, count in ranked.items() if count > least}
    if not kept:
        kept = select_most_common(counted, 1, other)
    return _build_column(sketch, tuple(kept), _name_other(tuple(kept)) if other is None else other)


def _name_other(values: tuple[Any, ...]) -> str:
    other = OTHER
    while other in values:
        other = f"({other})"
    return other


def _build_column(
    sketch: PartialColumn, values: tuple[Any, ...], other: Any, *, nullable: bool = False
) -> Categorical:
    """Return the column with these values and this one for all others, as estimated."""
    listed = values if other in values else (*values, other)
    estimated: dict[str, Any] = {"values": listed}
    if "other" not in sketch.fields:
        estimated["other"] = other
    if nullable:
        estimated["nullable"] = True
    column = sketch.fill_gaps(Categorical, **estimated)
    if not isinstance(column, Categorical):
        raise TypeError(sketch.name)
    return column


def build_categorical(
    sketch: PartialColumn,
    released: Mapping[Any, float],
    *,
    separate_other: bool,
    nullable: bool = False,
) -> Categorical:
    """Return the column with its public and released values, and a place for all others.

    Args:
        sketch: What is declared.
        released: The released values, with noisy counts.
        separate_other: Whether all others are a value of their own. Numbers have no such value:
            there, and if not, they count as the most common one.
        nullable: Whether empty cells were found; blank text is no value then.

    Example:
        >>> build_categorical(
        ...     PartialColumn("ward"), {"surgery": 310.0, "heart": 940.0}, separate_other=True
        ... ).values
        ('heart', 'surgery', 'other')
    """
    public = tuple(sketch.fields.get("values", ()))
    released = select_most_common(released, sketch.top, sketch.fields.get("other"))
    blanks = {value for value in released if nullable and not str(value).strip()}
    values = (*public, *sorted(value for value in released if value not in {*public, *blanks}))
    if not values:
        raise SchemaError(
            f"column {sketch.name!r}: no value is frequent enough to be released. Names, ids and "
            f"free text can not be estimated: drop the column, declare its values, or, if it holds "
            f"dates or times, declare its type."
        )
    other = sketch.fields.get("other")
    if other is None and separate_other and isinstance(values[0], str):
        other = _name_other(values)
    if other is None:
        other = max(values, key=lambda value: released.get(value, -math.inf))
    return _build_column(sketch, values, other, nullable=nullable)
