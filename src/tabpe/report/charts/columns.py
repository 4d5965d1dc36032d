"""A column, real and synthetic on top of each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from tabpe.metrics.closeness import Closeness
from tabpe.metrics.columns import ColumnView
from tabpe.report.charts import svg
from tabpe.report.charts.svg import REAL, SYNTHETIC, Chart, Scale, at
from tabpe.report.text import number, percent, short

_WIDTH, _HEIGHT = 290, 160
_LEFT, _RIGHT, _TOP, _BOTTOM = 42, 284, 10, 138
_NULLS = 34  # the place for nulls, at the right
_NAME, _ROW = 102, 20
_ALL_BUT_ZERO = 0.005  # of half the width: less than a pixel


def column(view: ColumnView) -> Chart:
    """Return the histogram of a number, or the bars of a category; nulls apart.

    Example:
        >>> from tabpe.metrics.columns import ColumnView, Shape
        >>> shape = Shape((0.9, 0.1), nulls=0.0)
        >>> view = ColumnView("ill", "category", (), ("no", "yes"), None, shape, None)
        >>> print(column(view).svg.count("<rect"))
        2
    """
    return _histogram(view) if view.kind == "number" else _bars(view)


def distances(closeness: Closeness) -> Chart:
    """Return how far rows are from the nearest real row.

    Example:
        >>> near = Closeness((0.0, 1.0), (1.0,), (1.0,), 0.0, 0.0, (9, 9, 9))
        >>> "nearest real row" in str(distances(near))
        True
    """
    width, height = 640, 220
    x = Scale(closeness.edges[0], closeness.edges[-1], 44, width - 12)
    y = svg.across([*closeness.synthetic, *closeness.other], height - 28, 14)
    title = "Distance to the nearest real row: synthetic rows and other real rows"
    parts = [
        svg.left_axis(y, 44, width - 12, unit="%"),
        _steps(closeness.edges, closeness.other, x, y, fill=REAL, fill_opacity="0.3"),
        _steps(closeness.edges, closeness.synthetic, x, y, fill="none", **_OUTLINE),
        svg.bottom_axis(x, height - 28, 8),
    ]
    return svg.picture(width, height, title, parts)


_OUTLINE: dict[str, Any] = {"stroke": SYNTHETIC, "stroke_width": 2, "stroke_linejoin": "round"}


def _histogram(view: ColumnView) -> Chart:
    has_nulls = view.synthetic.nulls > 0 or (view.real is not None and view.real.nulls > 0)
    right = _RIGHT - _NULLS if has_nulls else _RIGHT
    shapes = [shape for shape in (view.real, view.synthetic) if shape is not None]
    highest = [share + view.band for shape in shapes for share in (*shape.shares, shape.nulls)]
    x, y = Scale(view.edges[0], view.edges[-1], _LEFT, right), svg.across(highest, _BOTTOM, _TOP)
    parts = [svg.left_axis(y, _LEFT, _RIGHT, 3, "%")]
    if view.real is not None:
        parts += _real_steps(view, view.real.shares, x, y)
    fill: dict[str, Any] = (
        {"fill": "none"} if view.real is not None else {"fill": SYNTHETIC, "fill_opacity": "0.2"}
    )
    parts.append(_steps(view.edges, view.synthetic.shares, x, y, **fill, **_OUTLINE))
    parts += _ends(view, right)
    if has_nulls:
        parts += _null_bars(view, y)
    return svg.picture(_WIDTH, _HEIGHT, _title(view), parts)


def _real_steps(view: ColumnView, shares: Sequence[float], x: Scale, y: Scale) -> list[Markup]:
    parts = [_steps(view.edges, shares, x, y, fill=REAL, fill_opacity="0.35")]
    if view.band:
        upper = [share + view.band for share in shares]
        lower = [max(0.0, share - view.band) for share in shares]
        parts.append(_steps(view.edges, upper, x, y, lower, fill=REAL, fill_opacity="0.25"))
    return parts


def _steps(
    edges: Sequence[float],
    tops: Sequence[float],
    x: Scale,
    y: Scale,
    floors: Sequence[float] | None = None,
    **attributes: Any,
) -> Markup:
    """Return steps as one closed path, from `floors` (or 0) up to `tops`."""
    floors = floors if floors is not None else [0.0] * len(tops)
    there = [_step(x, y, *one) for one in zip(edges, edges[1:], tops, strict=False)]
    back = [_step(x, y, *one) for one in zip(edges[1:], edges, floors, strict=False)][::-1]
    commands = "L".join([*there, *back])
    return svg.path([f"M{commands}Z"], **attributes)


def _step(x: Scale, y: Scale, start: float, end: float, share: float) -> str:
    return f"{at(x(start), y(share))}H{at(x(end), 0).split()[0]}"


def _ends(view: ColumnView, right: float) -> list[Markup]:
    """Return the ends and the middle of the bins; an end that also holds what is beyond says so."""
    low, high = view.edges[0], view.edges[-1]
    middle = low / 2 + high / 2
    if abs(middle) < _ALL_BUT_ZERO * (high / 2 - low / 2):
        middle = 0.0
    below, beyond = view.open_ends
    first, between, last = view.marks or (number(low), number(middle), number(high))
    y = _BOTTOM + 16
    return [
        svg.text(_LEFT, y, ("\u2264 " if below else "") + first),
        svg.text((_LEFT + right) / 2, y, between, "middle"),
        svg.text(right, y, ("\u2265 " if beyond else "") + last, "end"),
    ]


def _null_bars(view: ColumnView, y: Scale) -> list[Markup]:
    left = _RIGHT - _NULLS + 8
    bars = [(view.synthetic.nulls, SYNTHETIC, left + 13)]
    if view.real is not None:
        bars.append((view.real.nulls, REAL, left))
    parts = [
        svg.box(place, y(share), 11, _BOTTOM - y(share), fill=colour, fill_opacity="0.75")
        for share, colour, place in bars
    ]
    return [*parts, svg.text(_RIGHT + 6, _BOTTOM + 16, "null", "end")]


def _bars(view: ColumnView) -> Chart:
    names = [short(name, 13) for name in view.bars] + ["null"]
    synthetic = [*view.synthetic.shares, view.synthetic.nulls]
    real = None if view.real is None else [*view.real.shares, view.real.nulls]
    if not synthetic[-1] and (real is None or not real[-1]):
        names.pop()
    highest = [share + view.band for share in [*synthetic, *(real or [])]]
    x = svg.across(highest, _NAME, _WIDTH - 52)
    parts = [
        svg.tag(
            "g",
            svg.text(_NAME - 8, 11, name, "end"),
            *(() if real is None else _real_bar(real[place], view.band, x)),
            *_synthetic_bar(synthetic[place], 0.0 if real is None else real[place] + view.band, x),
            transform=f"translate(0 {place * _ROW + 6})",
        )
        for place, name in enumerate(names)
    ]
    return svg.picture(_WIDTH, max(1, len(names)) * _ROW + 8, _title(view), parts)


def _real_bar(share: float, band: float, x: Scale) -> list[Markup]:
    parts = [svg.box(_NAME, 0, x(share) - _NAME, 14, rx=1, fill=REAL, fill_opacity="0.35")]
    if band:
        ends = x(max(0.0, share - band)), x(share + band)
        parts.append(svg.line(ends[0], 7, ends[1], 7, stroke=REAL, stroke_width=2))
    return parts


def _synthetic_bar(share: float, beside: float, x: Scale) -> list[Markup]:
    """Return a bar, thinner on top of a real one, and its share right of what is longer."""
    thickness = 6 if beside else 14
    return [
        svg.box(_NAME, 7 - thickness / 2, x(share) - _NAME, thickness, fill=SYNTHETIC),
        svg.text(x(max(share, beside)) + 5, 11, percent(share), fill=SYNTHETIC),
    ]


def _title(view: ColumnView) -> str:
    against = "synthetic" if view.real is None else "real and synthetic"
    told = "" if view.difference is None else f", total variation {percent(view.difference)}"
    return f"{short(view.name, 60)}: {against}{told}"
