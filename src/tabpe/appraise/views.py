"""Each column as a report shows it: synthetic shares beside noisy real ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from tabpe.appraise.estimate import Floats, Total, band_of, shares_of
from tabpe.appraise.plan import Synthetic
from tabpe.encode import Marginal
from tabpe.encode.axes import Axis, ListAxis, NumberAxis
from tabpe.encode.forms import numbers_of, origin_of
from tabpe.metrics.columns import ColumnView, Shape, told_of
from tabpe.schema import Boolean, Categorical, Column, Float, Integer, Temporal


def view_of(
    synthetic: Synthetic,
    table: pa.Table,
    marginal: Marginal,
    counts: Floats,
    *,
    difference: float,
    total: Total,
    sigma: float,
) -> ColumnView:
    """Return one column.

    Args:
        synthetic: The synthetic rows, encoded.
        table: The same rows as they are.
        marginal: The cells of the column.
        counts: The noisy number of real rows in them.
        difference: How far the two are apart.
        total: The number of real rows.
        sigma: Scale of the noise.
    """
    (axis,) = marginal.axes
    column = synthetic.encoder.schema[axis.name]
    told = told_of(column, axis.edges) if isinstance(axis, NumberAxis) else {}
    return ColumnView(
        name=axis.name,
        kind="number" if isinstance(axis, NumberAxis) else "category",
        edges=axis.edges if isinstance(axis, NumberAxis) else (),
        bars=_bars(column, axis) if isinstance(axis, ListAxis) else (),
        real=Shape(*_split(axis, shares_of(counts))),
        synthetic=_shape(column, axis, table, synthetic.shares(marginal)),
        difference=difference,
        band=band_of(total, sigma),
        **told,
    )


def _split(axis: Axis, shares: Floats) -> tuple[tuple[float, ...], float]:
    """Return the shares of bins among all that are not null, and that of nulls."""
    if not isinstance(axis, NumberAxis) or not axis.nullable:
        return tuple(shares.tolist()), 0.0
    *known, nulls = shares.tolist()
    whole = sum(known)
    return tuple(share / whole if whole > 0 else 0.0 for share in known), nulls


def _shape(column: Column, axis: Axis, table: pa.Table, shares: Floats) -> Shape:
    known, nulls = _split(axis, shares)
    values = np.empty(0)
    if isinstance(column, (Integer, Float, Temporal)):
        values = numbers_of(column, table[column.name]) + origin_of(column)
        values = values[~np.isnan(values)]
    if not len(values):
        return Shape(known, nulls)
    return Shape(
        known,
        nulls,
        mean=float(values.mean()),
        deviation=float(values.std()),
        least=float(values.min()),
        most=float(values.max()),
    )


def _bars(column: Column, axis: ListAxis) -> tuple[str, ...]:
    """Return what each cell is called: as its value, or how many share it."""
    values: tuple[Any, ...] = ()
    if isinstance(column, (Categorical, Boolean)):
        values = (*column.values, "null") if column.nullable else column.values
    held: dict[int, list[Any]] = {cell: [] for cell in range(axis.size)}
    for value, cell in zip(values, axis.groups, strict=True):
        held[cell].append(value)
    return tuple(
        str(one[0]) if len(one) == 1 else f"{len(one)} other values" for one in held.values()
    )
