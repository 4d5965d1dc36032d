"""Distribution of each column by itself, real and synthetic side by side."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from tabpe.encoding.cells import format_axis_labels
from tabpe.encoding.scales import build_scale, compute_bins
from tabpe.evaluation.table_arrays import (
    Booleans,
    CategoricalCells,
    Cells,
    Floats,
    Integers,
    NumericCells,
    TableArrays,
    choose_edges,
    find_bins,
)
from tabpe.schema import Categorical, Column, Float, Integer, Temporal
from tabpe.schema.columns import LINEAR
from tabpe.schema.temporal import RESOLUTIONS

BINS = 24
MOST_BARS = 20
_LARGE, _HUGE = 1e3, 1e12


@dataclass(frozen=True)
class ColumnShape:
    """Distribution of the cells of a column in one table.

    Args:
        shares: Share of the cells that are not null in each bin or bar; sums to 1, or all 0.
        nulls: Share of the cells that are null.
        mean: Mean of a number; None for a category, or without a cell.
        deviation: Standard deviation of a number.
        least: Smallest number.
        most: Largest number.
        mean_date: The mean of a date or time, as one; empty for a number.
        values: Number of distinct numbers among as many cells of each of two tables; None for a
            category, or without a table to compare with.
    """

    shares: tuple[float, ...]
    nulls: float
    mean: float | None = None
    deviation: float | None = None
    least: float | None = None
    most: float | None = None
    mean_date: str = field(default="", kw_only=True)
    values: int | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class ColumnComparison:
    """One column, real and synthetic.

    Args:
        name: Its name.
        kind: `number` or `category`.
        edges: For a number: the edges of the bins, one more than there are bins.
        bars: For a category: the label of each bar; the rarest together are the `MOST_BARS`-th,
            which says how many they are.
        real: The real cells; None in a public report.
        synthetic: The synthetic cells.
        difference: Total variation between the two over bins or bars and nulls; None without rows.
        band: Half the width of a 95% interval around a real share that was estimated privately.
        open_ends: Whether the first and the last bin also hold numbers below and above the edges.
        unit: For a date or time: what its numbers count.
        marks: The labels of the first edge, the middle of the axis and the last edge, unless they
            are plain numbers.
        positions: Where the edges lie on the axis, from 0 to 1; empty if it is linear.
        axis: The scale of the axis: `linear`, `log` or `quantile`.
    """

    name: str
    kind: Literal["number", "category"]
    edges: tuple[float, ...]
    bars: tuple[str, ...]
    real: ColumnShape | None
    synthetic: ColumnShape
    difference: float | None
    band: float = 0.0
    open_ends: tuple[bool, bool] = (False, False)
    unit: str = ""
    marks: tuple[str, ...] = ()
    positions: tuple[float, ...] = ()
    axis: str = LINEAR


def compare_columns(
    real: TableArrays | None, synthetic: TableArrays
) -> tuple[ColumnComparison, ...]:
    """Return the distribution of each column, in the order of the schema.

    Numbers are put into at most `BINS` bins, see `tabpe.evaluation.table_arrays`. Categories are in
    the order of their frequency in the real table, or in the synthetic one if there is no real one.

    NOT PRIVATE if `real` is given. Without it everything follows from the schema and the synthetic
    rows, the edges of bins and the order of bars too.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.evaluation.table_arrays import build_table_arrays
        >>> from tabpe.schema import Boolean, Integer, Schema
        >>> schema = Schema((Integer("children", 0, 2), Boolean("ill")))
        >>> tables = [pa.table({"children": [0, 1, 1, 2], "ill": ill})
        ...           for ill in ([True, True, False, None], [True, True, True, True])]
        >>> children, ill = compare_columns(*build_table_arrays(schema, tables))
        >>> children.edges, children.real.shares, children.difference
        ((-0.5, 0.5, 1.5, 2.5), (0.25, 0.5, 0.25), 0.0)
        >>> ill.bars, ill.synthetic.shares, ill.real.nulls, ill.difference
        (('True', 'False'), (1.0, 0.0), 0.25, 0.5)
    """
    return tuple(
        _compare_column(None if real is None else real[cells.name], cells) for cells in synthetic
    )


def _compare_column(real: Cells | None, synthetic: Cells) -> ColumnComparison:
    tables = [cells for cells in (real, synthetic) if cells is not None]
    numbers = [cells for cells in tables if isinstance(cells, NumericCells)]
    categories = [cells for cells in tables if isinstance(cells, CategoricalCells)]
    return _compare_numbers(numbers) if numbers else _compare_categories(categories)


def _compare_numbers(tables: Sequence[NumericCells]) -> ColumnComparison:
    """Compare one table, or the real and the synthetic one."""
    column, cells = tables[0].column, [table.present for table in tables]
    declared = tables[0].moments or column
    scale = build_scale(column)
    if scale is None:
        edges = choose_edges(column, cells, BINS)
    else:
        _, edges = compute_bins(column, scale, BINS)
    shapes = [
        describe_mean(
            declared,
            _build_shape(
                find_bins(present, edges), len(edges) - 1, table.missing, *_compute_moments(present)
            ),
        )
        for table, present in zip(tables, cells, strict=True)
    ]
    if len(shapes) == 2:  # noqa: PLR2004
        shapes = [
            dataclasses.replace(shape, values=count)
            for shape, count in zip(shapes, _count_values(cells), strict=True)
        ]
    beyond = [(present < edges[0], present > edges[-1]) for present in cells]
    low, high = (any(bool(side.any()) for side in sides) for sides in zip(*beyond, strict=True))
    return ColumnComparison(
        column.name,
        "number",
        tuple(edges.tolist()),
        (),
        *_pair_shapes(shapes),
        open_ends=(low, high),
        **describe_bins(declared, edges),
    )


def describe_bins(column: Column, edges: Sequence[float] | Floats) -> dict[str, Any]:
    """Return the axis labels of bins over dates, times or ordered values; empty for numbers.

    Example:
        >>> from tabpe.schema import Date
        >>> describe_bins(Date("seen", "2024-01-01", "2024-01-31"), [0.0, 15.0, 30.0])
        {'unit': 'days after 2024-01-01', 'marks': ('2024-01-01', '2024-01-16', '2024-01-31')}
    """
    positions = np.array([edges[0], (edges[0] + edges[-1]) / 2, edges[-1]])
    if isinstance(column, Categorical):
        ranks = np.clip(np.rint(positions), 0, column.size - 1).astype(np.int64)
        return {
            "unit": "ranks in the declared order",
            "marks": tuple(str(column.values[r]) for r in ranks),
        }
    if isinstance(column, (Integer, Float)):
        return _describe_scale(column, np.asarray(edges, dtype=np.float64))
    if not isinstance(column, Temporal):
        return {}
    steps = np.append(0, np.clip(np.rint(positions), 0, column.steps)).astype(np.int64)
    first, *marks = format_axis_labels(column, pa.array(steps))
    unit = next(name for name, tick in RESOLUTIONS.items() if tick == column.tick)
    return {"unit": f"{unit}s after {first}", "marks": tuple(marks)}


def _describe_scale(column: Integer | Float, edges: Floats) -> dict[str, Any]:
    """Return positions and labels of the edges on the scale of a column; empty if it is linear."""
    scale = build_scale(column)
    if scale is None:
        return {}
    positions = scale.transform_values(np.clip(edges, column.min, column.max))
    middle = float(scale.inverse_transform(np.array([0.5]))[0])
    ends = float(column.min), middle, float(column.max)
    return {
        "marks": tuple(map(_format_mark, ends)),
        "positions": tuple(positions.tolist()),
        "axis": column.scale,
    }


def _format_mark(value: float) -> str:
    return f"{value:,.0f}" if _LARGE <= abs(value) < _HUGE else f"{value:.4g}"


def describe_mean(column: Column, shape: ColumnShape) -> ColumnShape:
    """Return the shape of a date or time with its mean as one; others as they are.

    Example:
        >>> from tabpe.schema import Date
        >>> seen = Date("seen", "2024-01-01", "2024-01-31")
        >>> describe_mean(seen, ColumnShape((1.0,), 0.0, mean=14.6)).mean_date
        '2024-01-16'
    """
    if not isinstance(column, Temporal) or shape.mean is None:
        return shape
    step = np.clip(np.rint([shape.mean]), 0, column.steps).astype(np.int64)
    (mean,) = format_axis_labels(column, pa.array(step))
    return dataclasses.replace(shape, mean_date=str(mean))


def _compare_categories(tables: Sequence[CategoricalCells]) -> ColumnComparison:
    """Compare one table, or the real and the synthetic one."""
    names = tables[0].names
    counts = np.bincount(tables[0].present, minlength=len(names))
    order = np.argsort(-counts, kind="stable")
    bar = np.empty(len(names), dtype=np.int64)
    bar[order] = np.arange(len(names))
    bars = [names[code] for code in order]
    if len(names) > MOST_BARS:
        bars[MOST_BARS - 1 :] = [f"{len(names) - MOST_BARS + 1} others"]
        bar = np.minimum(bar, MOST_BARS - 1)
    shapes = [_build_shape(bar[table.present], len(bars), table.missing) for table in tables]
    return ColumnComparison(tables[0].name, "category", (), tuple(bars), *_pair_shapes(shapes))


def _build_shape(codes: Integers, size: int, missing: Booleans, *moments: float) -> ColumnShape:
    shares = np.bincount(codes, minlength=size) / max(1, len(codes))
    return ColumnShape(
        tuple(shares.tolist()), float(missing.sum() / max(1, len(missing))), *moments
    )


def _count_values(tables: Sequence[Floats]) -> list[int]:
    """Return the number of distinct numbers among as many cells of each table."""
    size = min(map(len, tables))
    rng = np.random.default_rng(0)
    return [len(np.unique(rng.choice(cells, size, replace=False))) for cells in tables]


def _compute_moments(present: Floats) -> list[float]:
    """Return mean, deviation, least and most, without overflow; empty without a number."""
    if not len(present):
        return []
    _, exponent = np.frexp(np.abs(present).max())
    scaled = np.ldexp(present, -exponent)
    moments = (scaled.mean(), scaled.std(), scaled.min(), scaled.max())
    return [float(np.ldexp(value, exponent)) for value in moments]


def _pair_shapes(
    shapes: Sequence[ColumnShape],
) -> tuple[ColumnShape | None, ColumnShape, float | None]:
    """Return the real shape, if there is one, the synthetic one, and their total variation.

    The total variation is None if a table has no rows.
    """
    if len(shapes) == 1:
        return None, shapes[0], None
    one, two = (
        np.array([*(np.array(shape.shares) * (1 - shape.nulls)), shape.nulls]) for shape in shapes
    )
    known = one.any() and two.any()
    return shapes[0], shapes[1], float(np.abs(one - two).sum() / 2) if known else None
