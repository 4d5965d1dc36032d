"""Parts of a whole and values on a line: the bill, odds, utility, times."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeGuard

from markupsafe import Markup

from tabpe.report.charts import svg
from tabpe.report.charts.svg import INK, LINE, REAL, SYNTHETIC, Chart, Scale
from tabpe.report.promise import Promise, sure
from tabpe.report.text import number, percent, short

Bounds = tuple[str, float | None, float | None, float | None]
_WIDTH = 640
_OPACITIES = ("1", "0.7", "0.48", "0.32", "0.2")


def opacity(place: int) -> str:
    """Return how full the colour of a part is.

    Example:
        >>> opacity(0), opacity(5)
        ('1', '1')
    """
    return _OPACITIES[place % len(_OPACITIES)]


def stacked(parts: Sequence[tuple[str, float]], title: str) -> Chart:
    """Return parts of a whole in one bar.

    Example:
        >>> stacked([("row count", 0.1), ("votes", 0.9)], "Bill").svg.count("<rect")
        2
    """
    x = Scale(0, 1, 0, _WIDTH)
    drawn, start = [], 0.0
    for place, (name, share) in enumerate(parts):
        width = x(share) - 2
        label = svg.tag("title", f"{name}: {percent(share)}")
        shade = {"fill": SYNTHETIC, "fill_opacity": opacity(place)}
        drawn.append(svg.box(x(start), 0, max(1.5, width), 30, label, rx=2, **shade))
        start += share
    return svg.picture(_WIDTH, 30, title, drawn)


def swatch(place: int) -> Chart:
    """Return the colour of a part, for a table beside the bar.

    Example:
        >>> swatch(0).svg.count("<rect")
        1
    """
    shade = {"fill": SYNTHETIC, "fill_opacity": opacity(place)}
    return svg.picture(12, 12, f"colour {place + 1}", [svg.box(0, 0, 12, 12, rx=2, **shade)])


def odds(promise: Promise) -> Chart:
    """Return how far beliefs can grow.

    Example:
        >>> odds(Promise(1.0, 1e-6)).svg.count("<circle")
        6
    """
    x = Scale(0, 1, 44, 384)
    parts: list[Markup] = []
    for place, belief in enumerate(promise.beliefs):
        y = 24 + 40 * place
        before, after = x(belief.prior), x(belief.most)
        parts += [
            svg.line(x(0), y, x(1), y),
            svg.text(34, y + 4, percent(belief.prior, 0), "end", fill=REAL, font_size=12),
            svg.line(before, y, after, y, stroke=SYNTHETIC, stroke_width=3),
            svg.tag("circle", cx=before, cy=y, r=6, fill=REAL),
            svg.tag("circle", cx=after, cy=y, r=6, fill=SYNTHETIC),
            svg.text(after, y - 11, sure(belief.most), "middle", fill=INK, font_size=12),
        ]
    bottom = 40 * len(promise.beliefs) + 2
    parts.append(svg.bottom_axis(x, bottom, 4, "%"))
    return svg.picture(420, bottom + 24, "How sure an attacker is, before and after", parts)


def between(rows: Sequence[Bounds], title: str) -> Chart:
    """Return values between a lower and an upper bound, a row each.

    Args:
        rows: The name, the lower bound, the value, the upper bound.
        title: What it shows.

    Example:
        >>> between([("boosting", 0.5, 0.7, 0.8)], "AUC").svg.count("<circle")
        2
    """
    known = [v for row in rows for v in row[1:] if v is not None and math.isfinite(v)]
    width, left, bottom = 290, 118, 16 + 34 * len(rows)
    x = svg.across(known, left, width - 16, floor=min(0.0, *known) if known else 0.0)
    x = Scale(x.low, max(1.0, x.high), x.start, x.end)
    ticks = [svg.line(x(v), 8, x(v), bottom) for v in x.ticks(2)]
    parts = [*ticks, svg.bottom_axis(x, bottom, 2)]
    for place, row in enumerate(rows):
        parts += _between(28 + 34 * place, row, x, left)
    return svg.picture(width, bottom + 24, title, parts)


def _between(y: float, row: Bounds, x: Scale, left: float) -> list[Markup]:
    name, lower, value, upper = row
    parts = [svg.text(left - 10, y + 4, short(name, 17), "end", fill=INK)]
    if _known(lower) and _known(upper):
        ends = {"stroke": REAL, "stroke_opacity": "0.35", "stroke_width": 8}
        parts.append(svg.line(x(lower), y, x(upper), y, **ends))
    if _known(lower):
        parts.append(svg.line(x(lower), y - 9, x(lower), y + 9, stroke=REAL, stroke_width=2))
    if _known(upper):
        parts.append(svg.tag("circle", cx=x(upper), cy=y, r=6, fill=REAL))
    if _known(value):
        parts.append(svg.tag("circle", cx=x(value), cy=y, r=6, fill=SYNTHETIC))
        label = {"fill": SYNTHETIC, "font_weight": "600"}
        parts.append(svg.text(x(value), y - 10, f"{value:.3f}", "middle", **label))
    return parts


def _known(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)


def lengths(values: Mapping[str, float], title: str, unit: str = "") -> Chart:
    """Return values as bars.

    Example:
        >>> lengths({"columns": 0.4, "utility": 12.0}, "Seconds", " s").svg.count("<rect")
        2
    """
    x = svg.across(list(values.values()), 150, _WIDTH - 70)
    parts = []
    for place, (name, value) in enumerate(values.items()):
        y = 24 * place + 6
        parts += [
            svg.text(140, y + 11, short(name, 22), "end", fill=INK),
            svg.box(150, y, x(value) - 150, 14, rx=2, fill=REAL, fill_opacity="0.45"),
            svg.text(x(value) + 6, y + 11, number(value) + unit),
        ]
    return svg.picture(_WIDTH, 24 * max(1, len(values)) + 8, title, parts)


def gauge(value: float, title: str) -> Chart:
    """Return a share of 1 as a bar; more than 1 fills it.

    Example:
        >>> gauge(0.5, "precision").svg.count("<rect")
        2
    """
    full = 0.0 if not math.isfinite(value) else min(1.0, value)
    parts = [
        svg.box(0, 0, 200, 8, rx=4, fill=LINE),
        svg.box(0, 0, 200 * full, 8, rx=4, fill=SYNTHETIC),
    ]
    return svg.picture(200, 8, f"{title}: {number(value)}", parts)
