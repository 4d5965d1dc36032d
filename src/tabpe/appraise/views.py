"""Each column as a report shows it: synthetic shares beside noisy real ones."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from tabpe.appraise.estimate import Floats, Total, band_of, shares_of
from tabpe.appraise.plan import Synthetic
from tabpe.encode import Marginal
from tabpe.encode.axes import ListAxis, NumberAxis
from tabpe.encode.forms import numbers_of
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
        real=Shape(tuple(shares_of(counts).tolist()), nulls=0.0),
        synthetic=_shape(column, table, tuple(synthetic.shares(marginal).tolist())),
        difference=difference,
        band=band_of(total, sigma),
        **told,
    )


def _shape(column: Column, table: pa.Table, shares: tuple[float, ...]) -> Shape:
    if not isinstance(column, (Integer, Float, Temporal)):
        return Shape(shares, nulls=0.0)
    values = numbers_of(column, table[column.name])
    return Shape(
        shares,
        nulls=0.0,
        mean=float(values.mean()),
        deviation=float(values.std()),
        least=float(values.min()),
        most=float(values.max()),
    )


def _bars(column: Column, axis: ListAxis) -> tuple[str, ...]:
    """Return what each cell is called: as its value, or how many share it."""
    values = column.values if isinstance(column, (Categorical, Boolean)) else ()
    held: dict[int, list[Any]] = {cell: [] for cell in range(axis.size)}
    for value, cell in zip(values, axis.groups, strict=True):
        held[cell].append(value)
    return tuple(
        str(one[0]) if len(one) == 1 else f"{len(one)} other values" for one in held.values()
    )
