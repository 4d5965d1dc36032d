"""Rows as points of a plane."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from tabpe.metrics.projection import Projection
from tabpe.report.charts import svg
from tabpe.report.charts.svg import LINE, REAL, SYNTHETIC, Chart, Scale, at
from tabpe.report.text import percent, short

# Okabe and Ito's colours, which people tell apart who see no red or no green.
CLASS_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c7a00")
_REST = "#8a8f98"
_SIDE = 400
_LAYERS = 10  # real and synthetic points take turns, so that neither hides the other
Points = NDArray[np.float64]


def cloud(projection: Projection) -> Chart:
    """Return real and synthetic rows on top of each other.

    Example:
        >>> points = np.zeros((2, 2))
        >>> flat = Projection((0.5, 0.2), None, points, None, np.zeros(2, int), ("",))
        >>> "points-synthetic" in cloud(flat).svg
        True
    """
    x, y = _scales(projection, 30, 620, 14, 392)
    parts = [svg.box(30, 10, 594, 386, fill="none", stroke=LINE, rx=4)]
    for layer in range(_LAYERS):
        if projection.real is not None:
            parts.append(_points(projection.real[layer::_LAYERS], x, y, REAL, "points-real"))
        points = projection.synthetic[layer::_LAYERS]
        parts.append(_points(points, x, y, SYNTHETIC, "points-synthetic"))
    parts += _directions(projection, 30, 624, 396)
    return svg.picture(640, 420, "Rows on the plane in which they differ most", parts)


def classes(projection: Projection) -> Chart:
    """Return real rows beside synthetic ones, coloured by their class.

    Example:
        >>> points = np.zeros((2, 2))
        >>> flat = Projection((0.5, 0.2), None, points, None, np.array([0, 1]), ("no", "yes"))
        >>> classes(flat).svg.count("<path")
        2
    """
    panels = [("synthetic", projection.synthetic, projection.synthetic_classes)]
    if projection.real is not None and projection.real_classes is not None:
        panels.insert(0, ("real", projection.real, projection.real_classes))
    parts: list[Markup] = []
    for place, (name, points, codes) in enumerate(panels):
        left = place * (_SIDE + 20)
        x, y = _scales(projection, left + 8, left + _SIDE - 8, 30, 320)
        parts.append(svg.box(left + 1, 22, _SIDE - 2, 306, fill="none", stroke=LINE, rx=4))
        parts.append(svg.text(left + 2, 14, name, font_size=12, font_weight="600"))
        parts += [
            _points(points[codes == code], x, y, class_colour(code), "points-class")
            for code in range(len(projection.class_names))
            if (codes == code).any()
        ]
    width = len(panels) * (_SIDE + 20) - 20
    return svg.picture(width, 332, "Rows by class, on the same plane", parts)


def class_colour(code: int) -> str:
    """Return the colour of a class.

    Example:
        >>> class_colour(0), class_colour(99)
        ('#0072b2', '#8a8f98')
    """
    return CLASS_COLOURS[code] if code < len(CLASS_COLOURS) else _REST


def class_key(names: Sequence[str]) -> list[tuple[str, Chart]]:
    """Return each class with its colour; the rest has one together.

    Example:
        >>> [name for name, _ in class_key(["no", "yes"])]
        ['no', 'yes']
    """
    named = [short(name, 40) for name in names[: len(CLASS_COLOURS)]]
    if len(names) > len(CLASS_COLOURS):
        named.append(f"{len(names) - len(CLASS_COLOURS)} others")
    return [(name, _dot(name, class_colour(code))) for code, name in enumerate(named)]


def _dot(name: str, colour: str) -> Chart:
    return svg.picture(10, 10, name, [svg.tag("circle", cx=5, cy=5, r=5, fill=colour)])


def _scales(
    projection: Projection, left: float, right: float, top: float, bottom: float
) -> tuple[Scale, Scale]:
    known = [points for points in (projection.real, projection.synthetic) if points is not None]
    together = np.concatenate(known)
    xs, ys = together[:, 0].tolist(), together[:, 1].tolist()
    return svg.across(xs, left, right, floor=None), svg.across(ys, bottom, top, floor=None)


def _points(points: Points, x: Scale, y: Scale, colour: str, name: str) -> Markup:
    """Return all points as one path of dots: a tenth of the size of circles."""
    finite = points[np.isfinite(points).all(axis=1)]
    commands = [f"M{at(x(a), y(b))}h0" for a, b in finite.tolist()]
    dots = {"stroke": colour, "stroke_width": 3.6, "stroke_linecap": "round", "fill": "none"}
    return svg.path(commands, **dots, stroke_opacity="0.55", class_=name)


def _directions(projection: Projection, left: float, right: float, bottom: float) -> list[Markup]:
    first, second = (percent(share, 0) for share in projection.explained)
    middle = (10 + bottom) / 2
    turned = f"rotate(-90 {at(18, middle)})"
    return [
        svg.text((left + right) / 2, bottom + 17, f"first direction ({first})", "middle"),
        svg.text(18, middle, f"second direction ({second})", "middle", transform=turned),
    ]
