"""k-way Wasserstein distances: how far synthetic rows are from real ones, over k columns.

The mean, over sets of k columns with the label among them, of the Wasserstein-1 distance between
the rows of both tables in these columns, with Euclidean distance of rows. Each distance is exact
for the rows that are compared: at most `rows` of each table, drawn once for all sets. Two samples
of one table are not at distance 0 either, and less so the more columns there are, so compare the
result with that for two real tables.

Numbers are scaled by the bounds of the schema. `tabpe.metrics.axes` says what a difference of
categories costs. The paper's authors scale each column by the private rows and sort the categories
that occur; here both follow from the schema, whose order counts (a drafted schema is sorted).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from tabpe import _validate
from tabpe.metrics.axes import Axis, axes_of, distances
from tabpe.metrics.joint import joint
from tabpe.metrics.subsets import KWay, generator, orders_of, subsets_of
from tabpe.metrics.transport import along_a_line, surplus, transport
from tabpe.metrics.view import View
from tabpe.resources import usable_cores

__all__ = ["CATEGORIES", "ROWS", "SUBSETS", "KWay", "wasserstein"]

ROWS, SUBSETS = 1000, 24
CATEGORIES = ("codes", "mismatch")
_REAL, _SYNTHETIC = 0, 1


def wasserstein(
    real: View,
    synthetic: View,
    orders: Sequence[int] = (1, 2, 3, 4, 5, 6, 7),
    *,
    rows: int | None = ROWS,
    subsets: int | None = SUBSETS,
    categories: str = "codes",
    random_state: int | None = 0,
    jobs: int | None = None,
) -> tuple[KWay, ...]:
    """Return the k-way Wasserstein distance for each k of `orders` that there are columns for.

    Args:
        real: The real table.
        synthetic: The synthetic table.
        orders: The k.
        rows: Rows of each table that are compared, drawn without replacement, once for all sets;
            None for all. Time grows with about its third power, memory with the square.
        subsets: Sets of columns for each k, drawn without replacement; None for all.
        categories: `codes` for distance along the list of categories, as the paper's authors have
            it; rows with a null in one of the columns are left out. `mismatch` for 1 where they
            differ; nulls count.
        random_state: Seed of what is drawn. The sets for one k do not depend on other orders.
        jobs: Threads; None for one on each core that may be used. The result is the same.

    Raises:
        ParameterError: If a parameter is outside what it allows.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.metrics.view import views
        >>> from tabpe.schema import Boolean, Integer, Schema
        >>> schema = Schema((Integer("age", 0, 100), Boolean("ill")))
        >>> real = pa.table({"age": [20, 40], "ill": [True, False]})
        >>> made = pa.table({"age": [30, 40], "ill": [True, True]})
        >>> [round(found.distance, 4) for found in wasserstein(*views(schema, [real, made]))]
        [0.275, 0.55]
    """
    _validate.one_of("categories", categories, CATEGORIES)
    most_rows = _validate.optional(_validate.whole, "rows", rows, least=1)
    most = _validate.optional(_validate.whole, "subsets", subsets, least=1)
    threads = _validate.optional(_validate.whole, "jobs", jobs, least=1) or usable_cores()
    names = real.schema.names
    chosen = [
        subsets_of(len(names), order, most, random_state) for order in orders_of(orders, len(names))
    ]
    real = _sample(real, most_rows, random_state, _REAL)
    synthetic = _sample(synthetic, most_rows, random_state, _SYNTHETIC)
    axes = axes_of(real, synthetic, categories)

    def measure(subset: tuple[int, ...]) -> float:
        return _distance([axes[place] for place in subset], len(real))

    with ThreadPoolExecutor(threads) as pool:
        found = [list(pool.map(measure, same)) for same in chosen]
    compared = (len(real), len(synthetic))
    return tuple(
        KWay.of(names, same, far, compared) for same, far in zip(chosen, found, strict=True)
    )


def _sample(view: View, rows: int | None, random_state: int | None, which: int) -> View:
    # Sets of columns take the purposes from 1 on.
    return view if rows is None else view.sampled(rows, generator(random_state, 0, which))


def _distance(axes: Sequence[Axis], real: int) -> float:
    """Return the distance of the first `real` rows from the others, or NaN if there are none."""
    kept = np.flatnonzero(~_left_out(axes))
    of_real = int(np.searchsorted(kept, real))
    if of_real in {0, len(kept)}:
        return math.nan
    places = joint([axis.digits for axis in axes]).take(kept)
    first, units, total = surplus(places, of_real)
    if not units.any():
        return 0.0
    at, gives, lacks = kept[first], units > 0, units < 0
    if len(axes) == 1 and axes[0].straight:
        return along_a_line(axes[0].positions[at], units) / total
    if len(axes) == 1 and axes[0].nominal:
        return int(units[gives].sum()) / total
    costs = distances(axes, at[gives], at[lacks])
    return transport(costs, units[gives], -units[lacks]) / total


def _left_out(axes: Sequence[Axis]) -> NDArray[np.bool_]:
    """Where a null has no place on an axis that is a line."""
    where = np.zeros(len(axes[0].positions), np.bool_)
    for axis in axes:
        where |= axis.straight & np.isnan(axis.positions)
    return where
