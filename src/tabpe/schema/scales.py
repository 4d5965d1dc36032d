"""Scales of numbers: what a column of numbers may declare about how its values are spread.

A scale says where values are near to each other: two amounts that differ by 10 are alike at 100,000
and are not at 20. It is public, as all that is declared.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

from tabpe.schema.whole import EXACT_INTEGERS

if TYPE_CHECKING:
    from tabpe.schema.columns import Float, Integer

LINEAR, LOG, QUANTILE = SCALES = "linear", "log", "quantile"
FEWEST_QUANTILES = 4
MOST_QUANTILES = 257
# On a bent scale neighbours on the grid must stay apart in a float, and come back exactly.
MOST_BENT_STEPS = 2**40

_LEAST = 1e-300

Fault = tuple[str, Any, str]


def scale_fault(column: Integer | Float, *, bought: bool) -> Fault | None:
    """Return which field does not fit, what it is and what is expected; None if all is well.

    Args:
        column: A number, with a list of quantiles that are numbers, or none.
        bought: Whether the quantiles were bought: where most rows have one value, they are few.

    Example:
        >>> from tabpe.schema import Integer
        >>> Integer("pay", 0, 9000, scale="logarithm")
        Traceback (most recent call last):
        tabpe.errors.SchemaError: column 'pay': scale='logarithm': expected linear, log or quantile.
    """
    allowed = _allowed_scale(column)
    if allowed is not None:
        return "scale", column.scale, allowed
    if column.scale != QUANTILE:
        return None if column.quantiles is None else _without_use(column.quantiles)
    if column.quantiles is None:
        then = "values from min to max that cut rows into equal parts, or buy them"
        return "quantiles", None, f"{then} (docs/how-to/private-schema.md)"
    return _quantiles_fault(column, column.quantiles, bought=bought)


def kept_quantiles(given: Any, *, whole: bool) -> tuple[float, ...] | None:
    """Return quantiles as a column keeps them; None if they are no list of such numbers.

    Example:
        >>> kept_quantiles([0, 10.5, 90], whole=False)
        (0.0, 10.5, 90.0)
        >>> kept_quantiles([0, 10.5, 90], whole=True) is None
        True
    """
    if not isinstance(given, (list, tuple)):
        return None
    values = [value.item() if hasattr(value, "item") else value for value in given]
    for value in values:
        fits = isinstance(value, int if whole else (int, float))
        if isinstance(value, bool) or not fits or not math.isfinite(value):
            return None
    return tuple(values) if whole else tuple(float(value) for value in values)


def with_scale(scale: str, plain: dict[str, Any]) -> dict[str, Any]:
    """Return the plain values of a number with its scale, if it is not the usual one.

    Example:
        >>> with_scale("log", {"name": "pay", "source": "public"})
        {'name': 'pay', 'scale': 'log', 'source': 'public'}
    """
    if scale == LINEAR:
        return plain
    after = ("quantiles", "source", "bought")
    early = {key: value for key, value in plain.items() if key not in after}
    return {**early, "scale": scale, **{key: plain[key] for key in after if key in plain}}


def _allowed_scale(column: Integer | Float) -> str | None:
    """Return which scale is expected; None if that of the column will do."""
    if column.scale not in SCALES:
        return "linear, log or quantile"
    if column.scale == LINEAR:
        return None
    if column.steps > MOST_BENT_STEPS:
        return "linear for more than 2**40 steps; or narrower bounds"
    if _is_large(column):
        return "linear for whole numbers beyond 2**53"
    if column.scale == LOG and not _has_logs(float(column.min), float(column.max)):
        return "linear for bounds whose ratio is beyond 1e300"
    return None


def _has_logs(low: float, high: float) -> bool:
    """Whether a float holds the ratio of the bounds, or that of the larger to the unit."""
    near, far = sorted((abs(low), abs(high)))
    if low <= 0 <= high:
        return far == 0 or far > _LEAST
    return near > far * _LEAST


def _is_large(column: Integer | Float) -> bool:
    return isinstance(column.min, int) and max(-column.min, column.max) > EXACT_INTEGERS


def _without_use(quantiles: tuple[float, ...]) -> Fault:
    return "quantiles", list(quantiles), "none, or scale: quantile"


def _quantiles_fault(
    column: Integer | Float, quantiles: tuple[float, ...], *, bought: bool
) -> Fault | None:
    given, digits = list(quantiles), column.decimals
    rising = all(low < high for low, high in itertools.pairwise(quantiles))
    if not rising or not quantiles or (quantiles[0], quantiles[-1]) != (column.min, column.max):
        return "quantiles", given, f"rising numbers from min={column.min!r} to max={column.max!r}"
    if len(quantiles) > MOST_QUANTILES:
        return "quantiles", given, f"at most {MOST_QUANTILES} of them"
    if len(quantiles) < FEWEST_QUANTILES and not bought:
        return "quantiles", given, "at least two between min and max; or scale: linear"
    if digits is not None and any(round(value, digits) != value for value in quantiles):
        return "quantiles", given, f"at most {digits} decimals, as declared"
    return None
