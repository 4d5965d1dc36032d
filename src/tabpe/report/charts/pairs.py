"""Associations of pairs of columns as a map of cells."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from tabpe.report.charts import svg
from tabpe.report.charts.svg import LESS, LINE, SYNTHETIC, Chart
from tabpe.report.text import number, short

_SIDE, _NAMES = 210, 90
_LARGEST_CELL = 27
_READABLE_CELL = 9.0


def heat(
    columns: Sequence[str], matrix: NDArray[np.float64], title: str, most: float = 1.0
) -> Chart:
    """Return a map: blue above 0, orange below, the fuller the further from it.

    Args:
        columns: Names of rows and columns.
        matrix: A value for each pair; NaN stays empty.
        title: What it shows.
        most: The value that gets the full colour.

    Example:
        >>> picture = heat(["age", "bmi"], np.eye(2), "real")
        >>> "age, bmi: 0" in str(picture)
        True
    """
    size = min(_LARGEST_CELL, _SIDE / max(1, len(columns)))
    side = size * len(columns)
    names = [short(name, 40) for name in columns]
    cells = [
        _cell(
            f"{names[i]}, {names[j]}", float(matrix[i, j]), most, x=j * size, y=i * size, size=size
        )
        for i in range(len(columns))
        for j in range(len(columns))
    ]
    parts = [
        svg.tag("g", *cells, transform=f"translate({_NAMES} 4)"),
        *(_names(columns, size) if size >= _READABLE_CELL else []),
    ]
    return svg.picture(_NAMES + side + 4, side + _NAMES, title, parts)


def _cell(pair: str, value: float, most: float, *, x: float, y: float, size: float) -> Markup:
    title = svg.tag("title", f"{pair}: {number(value)}")
    side = size - (1.0 if size >= _READABLE_CELL else 0.5)
    if math.isnan(value):
        return svg.box(x, y, side, side, title, fill="none", stroke=LINE)
    strength = min(1.0, abs(value) / most) if most > 0 else 0.0
    colour, opacity = SYNTHETIC if value >= 0 else LESS, f"{0.04 + 0.96 * strength:.2f}"
    return svg.box(x, y, side, side, title, fill=colour, fill_opacity=opacity)


def _names(columns: Sequence[str], size: float) -> list[Markup]:
    parts = []
    for place, name in enumerate(columns):
        middle = (place + 0.5) * size + 4
        parts.append(svg.text(_NAMES - 6, middle + 3.5, short(name, 13), "end", font_size=10))
        x, y = _NAMES + (place + 0.5) * size + 3, size * len(columns) + 14
        turned = f"rotate(-60 {svg.at(x, y)})"
        parts.append(svg.text(x, y, short(name, 13), "end", font_size=10, transform=turned))
    return parts
