"""Which values of a column are told, and where all others go."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tabpe.errors import SchemaError
from tabpe.schema import Categorical, Sketch

LONGEST_VALUE = 200
OTHER = "other"


def told_above(sigma: float, chance: float, length: int = 1) -> int:
    """Return the noisy count above which a value is told.

    Privacy: a value that one row alone holds is told with at most the given chance. Its count is 1,
    and noise N of the discrete Gaussian is sub-Gaussian: E exp(sN) <= exp(s^2 sigma^2 / 2) for all
    s. So P(N >= t) <= exp(-st + s^2 sigma^2 / 2) for s > 0. With s = t / sigma^2 that is
    exp(-t^2 / (2 sigma^2)), which is the chance for t = sigma sqrt(2 ln(1 / chance)). Noise from a
    table is sub-Gaussian too. What follows for neighbours is claim 5 of docs/privacy.md.

    Args:
        sigma: Scale of the noise, in the parts of `length`.
        chance: The chance.
        length: The most that one row, or one user, adds to a count.

    Example:
        >>> told_above(10.0, 1e-6)
        54
    """
    return length + math.ceil(sigma * math.sqrt(2 * math.log(1 / chance)))


@dataclass(frozen=True)
class Rows:
    """A noisy number of rows.

    Args:
        estimate: The number.
        variance: Of its noise.
    """

    estimate: float
    variance: float

    def exceed(self, told: Mapping[Any, float], sigma: float) -> bool:
        """Whether there are more rows than those of the values that were told.

        It errs once in 40 times by noise: then a value stands for others that there are none of.

        Example:
            >>> Rows(1000.0, 25.0).exceed({"f": 490.0, "m": 505.0}, sigma=5.0)
            False
        """
        noise = math.sqrt(self.variance + len(told) * sigma**2)
        return self.estimate - sum(told.values()) > 2 * noise


def listed(sketch: Sketch, told: Mapping[Any, float], *, apart: bool) -> Categorical:
    """Return the column with its public values, those that were told, and a place for all others.

    Args:
        sketch: What is declared.
        told: The values that were told, with noisy counts.
        apart: Whether all others are a value of their own. Numbers have no such value: there, and
            if not, they count as the most common one.

    Example:
        >>> listed(Sketch("ward"), {"surgery": 310.0, "heart": 940.0}, apart=True).values
        ('heart', 'surgery', 'other')
    """
    public = tuple(sketch.fields.get("values", ()))
    values = (*public, *sorted(value for value in told if value not in public))
    if not values:
        raise SchemaError(
            f"column {sketch.name!r}: no value is frequent enough to be told. Names, ids and free "
            f"text can not be bought: drop the column, or declare its values."
        )
    other = sketch.fields.get("other")
    if other is None and apart and isinstance(values[0], str):
        other = OTHER
        while other in values:
            other = f"({other})"
        values = (*values, other)
    if other is None:
        other = max(values, key=lambda value: told.get(value, -math.inf))
    bought: dict[str, Any] = {"values": values}
    if "other" not in sketch.fields:
        bought["other"] = other
    column = sketch.filled(Categorical, **bought)
    if not isinstance(column, Categorical):
        raise TypeError(sketch.name)
    return column
