"""Charts as SVG: functions from values to `Chart`.

SVG as text: elements that escape what is put into them, scales, axes, and the picture.

Parts of a whole and values on a line: the bill, odds, utility, times.

A column, real and synthetic on top of each other.

What changes with something else: distances by the number of columns, rounds of a run.

Associations of pairs of columns as a map of cells.

Rows as points of a plane.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
from markupsafe import Markup, escape
from numpy.typing import NDArray

from tabpe.evaluation.metrics.closeness import Closeness
from tabpe.evaluation.metrics.columns import ColumnView
from tabpe.evaluation.metrics.correlation_order import Order
from tabpe.evaluation.metrics.distances import KWay
from tabpe.evaluation.metrics.embedding import Projection
from tabpe.evaluation.report.guarantee import Promise, sure
from tabpe.evaluation.report.text import number, percent, short, shown

# On the page the colours follow its theme; a picture by itself has those after the comma.
REAL = "var(--real, #6b7280)"
SYNTHETIC = "var(--synthetic, #0f6cbd)"
LESS = "var(--less, #c2570c)"
INK = "var(--ink, #1f2933)"
SOFT = "var(--soft, #52606d)"
LINE = "var(--line, #d9dee5)"
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"
_STEPS = (1, 2, 2.5, 5, 10)
_SIZES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


@dataclass(frozen=True)
class Chart:
    """A picture. It shows by itself in a notebook, and as it is on the page.

    Args:
        svg: The SVG.

    Example:
        >>> Chart(tag("svg", tag("title", "<x>")))
        Chart(svg=Markup('<svg><title>&lt;x&gt;</title></svg>'))
    """

    svg: Markup

    def __html__(self) -> str:
        return self.svg

    def __str__(self) -> str:
        return str(self.svg)

    def _repr_svg_(self) -> str:
        return str(self.svg)

    def _repr_html_(self) -> str:
        return str(self.svg)


def tag(name: str, *content: Any, **attributes: Any) -> Markup:
    """Return an element. Content and attributes are escaped; attributes that are None are left out.

    Example:
        >>> print(tag("text", "a < b", x=1.25, text_anchor="end"))
        <text x="1.2" text-anchor="end">a &lt; b</text>
    """
    pairs = ((key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())
    written = [f' {key}="{escape(_plain(value))}"' for key, value in pairs if value is not None]
    inner = Markup().join(escape(shown(part)) for part in content)
    return Markup(f"<{name}{''.join(written)}>{inner}</{name}>")  # noqa: S704


def _plain(value: Any) -> str:
    return f"{round(float(value), 1):g}" if isinstance(value, (int, float)) else str(shown(value))


def picture(width: float, height: float, title: str, parts: Iterable[Markup]) -> Chart:
    """Return a picture of that size with a name for those who do not see it.

    Example:
        >>> "<title>Bins</title>" in str(picture(10, 10, "Bins", []))
        True
    """
    svg = tag(
        "svg",
        tag("title", title),
        Markup().join(parts),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_plain(width)} {_plain(height)}",
        width=width,
        height=height,
        role="img",
        class_="chart",
        font_family=_FONT,
        font_size=11,
    )
    return Chart(svg)


def text(x: float, y: float, content: Any, anchor: str = "start", **attributes: Any) -> Markup:
    """Return a line of text.

    Example:
        >>> print(text(1, 2, "k"))
        <text x="1" y="2" text-anchor="start" fill="var(--soft, #52606d)">k</text>
    """
    return tag("text", content, x=x, y=y, text_anchor=anchor, **{"fill": SOFT, **attributes})


def box(
    x: float, y: float, width: float, height: float, *content: Markup, **attributes: Any
) -> Markup:
    """Return a rectangle; a width or height that is no number, or negative, counts as 0.

    Example:
        >>> print(box(0, 0, float("nan"), 5))
        <rect x="0" y="0" width="0" height="5"></rect>
    """
    size = {"width": _positive(width), "height": _positive(height)}
    return tag("rect", *content, x=x, y=y, **size, **attributes)


def _positive(value: float) -> float:
    return max(0.0, value) if math.isfinite(value) else 0.0


def path(commands: Iterable[str], **attributes: Any) -> Markup:
    """Return a path.

    Example:
        >>> print(path(["M1 2", "h3"], fill="none"))
        <path d="M1 2h3" fill="none"></path>
    """
    return tag("path", d="".join(commands), **attributes)


def at(x: float, y: float) -> str:
    """Return a place as a path has it, in tenths.

    Example:
        >>> at(1.04, 2.0)
        '1 2'
    """
    return f"{_plain(x)} {_plain(y)}"


def line(x1: float, y1: float, x2: float, y2: float, **attributes: Any) -> Markup:
    """Return a straight line.

    Example:
        >>> print(line(0, 0, 1, 1, stroke="red"))
        <line x1="0" y1="0" x2="1" y2="1" stroke="red"></line>
    """
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, **{"stroke": LINE, **attributes})


@dataclass(frozen=True)
class Scale:
    """From values to places on a picture.

    Args:
        low: The smallest value.
        high: The largest value.
        start: Where the smallest value is.
        end: Where the largest value is.

    Example:
        >>> scale = Scale(0, 10, 100, 200)
        >>> scale(5), scale.ticks(3)
        (150.0, (0.0, 5.0, 10.0))
    """

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return where a value is."""
        half = self.high / 2 - self.low / 2  # so that the range of floats does not overflow
        share = 0.5 if half <= 0 else (value / 2 - self.low / 2) / half
        return self.start + share * (self.end - self.start)

    def ticks(self, most: int = 5) -> tuple[float, ...]:
        """Return at most about so many round values."""
        width = self.high - self.low
        if not (width > 0 and math.isfinite(width)):
            return (self.low,)
        least = width / most
        power = 10.0 ** math.floor(math.log10(least))
        step = next(power * size for size in _STEPS if power * size >= least * 0.999)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return tuple(place * step for place in range(first, last + 1))


def across(values: Sequence[float], start: float, end: float, floor: float | None = 0) -> Scale:
    """Return a scale that holds all values that are numbers, and `floor`.

    Example:
        >>> across([1.0, float("nan"), 4.0], 0, 100)
        Scale(low=0, high=4.0, start=0, end=100)
    """
    known = [value for value in values if math.isfinite(value)]
    known += [floor] if floor is not None else []
    low, high = min(known, default=0.0), max(known, default=1.0)
    return Scale(low, high if high > low else low + 1, start, end)


def left_axis(scale: Scale, x: float, x_end: float, ticks: int = 4, unit: str = "") -> Markup:
    """Return lines across the picture at round values, and the values at their left.

    Example:
        >>> left_axis(Scale(0, 1, 10, 0), 5, 9, ticks=1).count("<line")
        2
    """
    return Markup().join(
        line(x, scale(value), x_end, scale(value))
        + text(x - 6, scale(value) + 4, _label(value, unit), "end")
        for value in scale.ticks(ticks)
    )


def bottom_axis(scale: Scale, y: float, ticks: int = 5, unit: str = "") -> Markup:
    """Return round values under the picture.

    Example:
        >>> bottom_axis(Scale(0, 1, 0, 10), 5, ticks=1).count("<text")
        2
    """
    return Markup().join(
        text(scale(value), y + 15, _label(value, unit), "middle") for value in scale.ticks(ticks)
    )


def _label(value: float, unit: str) -> str:
    if unit == "%":
        return f"{100 * value:.3g}%"
    size, letter = next((one for one in _SIZES if abs(value) >= one[0]), (1.0, ""))
    return number(round(value / size, 10)) + letter + unit


Bounds = tuple[str, float | None, float | None, float | None]
_BARS_WIDTH = 640
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
    x = Scale(0, 1, 0, _BARS_WIDTH)
    drawn, start = [], 0.0
    for place, (name, share) in enumerate(parts):
        width = x(share) - 2
        label = tag("title", f"{name}: {percent(share)}")
        shade = {"fill": SYNTHETIC, "fill_opacity": opacity(place)}
        drawn.append(box(x(start), 0, max(1.5, width), 30, label, rx=2, **shade))
        start += share
    return picture(_BARS_WIDTH, 30, title, drawn)


def swatch(place: int) -> Chart:
    """Return the colour of a part, for a table beside the bar.

    Example:
        >>> swatch(0).svg.count("<rect")
        1
    """
    shade = {"fill": SYNTHETIC, "fill_opacity": opacity(place)}
    return picture(12, 12, f"colour {place + 1}", [box(0, 0, 12, 12, rx=2, **shade)])


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
            line(x(0), y, x(1), y),
            text(34, y + 4, percent(belief.prior, 0), "end", fill=REAL, font_size=12),
            line(before, y, after, y, stroke=SYNTHETIC, stroke_width=3),
            tag("circle", cx=before, cy=y, r=6, fill=REAL),
            tag("circle", cx=after, cy=y, r=6, fill=SYNTHETIC),
            text(after, y - 11, sure(belief.most), "middle", fill=INK, font_size=12),
        ]
    bottom = 40 * len(promise.beliefs) + 2
    parts.append(bottom_axis(x, bottom, 4, "%"))
    return picture(420, bottom + 24, "How sure an attacker is, before and after", parts)


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
    x = across(known, left, width - 16, floor=min(0.0, *known) if known else 0.0)
    x = Scale(x.low, max(1.0, x.high), x.start, x.end)
    ticks = [line(x(v), 8, x(v), bottom) for v in x.ticks(2)]
    parts = [*ticks, bottom_axis(x, bottom, 2)]
    for place, row in enumerate(rows):
        parts += _between(28 + 34 * place, row, x, left)
    return picture(width, bottom + 24, title, parts)


def _between(y: float, row: Bounds, x: Scale, left: float) -> list[Markup]:
    name, lower, value, upper = row
    parts = [text(left - 10, y + 4, short(name, 17), "end", fill=INK)]
    if _known(lower) and _known(upper):
        ends = {"stroke": REAL, "stroke_opacity": "0.35", "stroke_width": 8}
        parts.append(line(x(lower), y, x(upper), y, **ends))
    if _known(lower):
        parts.append(line(x(lower), y - 9, x(lower), y + 9, stroke=REAL, stroke_width=2))
    if _known(upper):
        parts.append(tag("circle", cx=x(upper), cy=y, r=6, fill=REAL))
    if _known(value):
        parts.append(tag("circle", cx=x(value), cy=y, r=6, fill=SYNTHETIC))
        label = {"fill": SYNTHETIC, "font_weight": "600"}
        parts.append(text(x(value), y - 10, f"{value:.3f}", "middle", **label))
    return parts


def _known(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)


def lengths(values: Mapping[str, float], title: str, unit: str = "") -> Chart:
    """Return values as bars.

    Example:
        >>> lengths({"columns": 0.4, "utility": 12.0}, "Seconds", " s").svg.count("<rect")
        2
    """
    x = across(list(values.values()), 150, _BARS_WIDTH - 70)
    parts = []
    for place, (name, value) in enumerate(values.items()):
        y = 24 * place + 6
        parts += [
            text(140, y + 11, short(name, 22), "end", fill=INK),
            box(150, y, x(value) - 150, 14, rx=2, fill=REAL, fill_opacity="0.45"),
            text(x(value) + 6, y + 11, number(value) + unit),
        ]
    return picture(_BARS_WIDTH, 24 * max(1, len(values)) + 8, title, parts)


def gauge(value: float, title: str) -> Chart:
    """Return a share of 1 as a bar; more than 1 fills it.

    Example:
        >>> gauge(0.5, "precision").svg.count("<rect")
        2
    """
    full = 0.0 if not math.isfinite(value) else min(1.0, value)
    parts = [
        box(0, 0, 200, 8, rx=4, fill=LINE),
        box(0, 0, 200 * full, 8, rx=4, fill=SYNTHETIC),
    ]
    return picture(200, 8, f"{title}: {number(value)}", parts)


_COLUMNS_WIDTH, _COLUMNS_HEIGHT = 290, 160
_COLUMNS_LEFT, _RIGHT, _TOP, _COLUMNS_BOTTOM = 42, 284, 10, 138
_NULLS = 34  # the place for nulls, at the right
_NAME, _ROW = 102, 20
_ALL_BUT_ZERO = 0.005  # of half the width: less than a pixel


def column(view: ColumnView) -> Chart:
    """Return the histogram of a number, or the bars of a category; nulls apart.

    Example:
        >>> from tabpe.evaluation.metrics.columns import ColumnView, Shape
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
    y = across([*closeness.synthetic, *closeness.other], height - 28, 14)
    title = "Distance to the nearest real row: synthetic rows and other real rows"
    parts = [
        left_axis(y, 44, width - 12, unit="%"),
        _steps(closeness.edges, closeness.other, x, y, fill=REAL, fill_opacity="0.3"),
        _steps(closeness.edges, closeness.synthetic, x, y, fill="none", **_OUTLINE),
        bottom_axis(x, height - 28, 8),
    ]
    return picture(width, height, title, parts)


_OUTLINE: dict[str, Any] = {"stroke": SYNTHETIC, "stroke_width": 2, "stroke_linejoin": "round"}


def _histogram(view: ColumnView) -> Chart:
    has_nulls = view.synthetic.nulls > 0 or (view.real is not None and view.real.nulls > 0)
    right = _RIGHT - _NULLS if has_nulls else _RIGHT
    shapes = [shape for shape in (view.real, view.synthetic) if shape is not None]
    highest = [share + view.band for shape in shapes for share in (*shape.shares, shape.nulls)]
    x, y = (
        Scale(view.edges[0], view.edges[-1], _COLUMNS_LEFT, right),
        across(highest, _COLUMNS_BOTTOM, _TOP),
    )
    parts = [left_axis(y, _COLUMNS_LEFT, _RIGHT, 3, "%")]
    if view.real is not None:
        parts += _real_steps(view, view.real.shares, x, y)
    fill: dict[str, Any] = (
        {"fill": "none"} if view.real is not None else {"fill": SYNTHETIC, "fill_opacity": "0.2"}
    )
    parts.append(_steps(view.edges, view.synthetic.shares, x, y, **fill, **_OUTLINE))
    parts += _ends(view, right)
    if has_nulls:
        parts += _null_bars(view, y)
    return picture(_COLUMNS_WIDTH, _COLUMNS_HEIGHT, _title(view), parts)


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
    return path([f"M{commands}Z"], **attributes)


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
    y = _COLUMNS_BOTTOM + 16
    return [
        text(_COLUMNS_LEFT, y, ("\u2264 " if below else "") + first),
        text((_COLUMNS_LEFT + right) / 2, y, between, "middle"),
        text(right, y, ("\u2265 " if beyond else "") + last, "end"),
    ]


def _null_bars(view: ColumnView, y: Scale) -> list[Markup]:
    left = _RIGHT - _NULLS + 8
    bars = [(view.synthetic.nulls, SYNTHETIC, left + 13)]
    if view.real is not None:
        bars.append((view.real.nulls, REAL, left))
    parts = [
        box(place, y(share), 11, _COLUMNS_BOTTOM - y(share), fill=colour, fill_opacity="0.75")
        for share, colour, place in bars
    ]
    return [*parts, text(_RIGHT + 6, _COLUMNS_BOTTOM + 16, "null", "end")]


def _bars(view: ColumnView) -> Chart:
    names = [short(name, 13) for name in view.bars] + ["null"]
    synthetic = [*view.synthetic.shares, view.synthetic.nulls]
    real = None if view.real is None else [*view.real.shares, view.real.nulls]
    if not synthetic[-1] and (real is None or not real[-1]):
        names.pop()
    highest = [share + view.band for share in [*synthetic, *(real or [])]]
    x = across(highest, _NAME, _COLUMNS_WIDTH - 52)
    parts = [
        tag(
            "g",
            text(_NAME - 8, 11, name, "end"),
            *(() if real is None else _real_bar(real[place], view.band, x)),
            *_synthetic_bar(synthetic[place], 0.0 if real is None else real[place] + view.band, x),
            transform=f"translate(0 {place * _ROW + 6})",
        )
        for place, name in enumerate(names)
    ]
    return picture(_COLUMNS_WIDTH, max(1, len(names)) * _ROW + 8, _title(view), parts)


def _real_bar(share: float, band: float, x: Scale) -> list[Markup]:
    parts = [box(_NAME, 0, x(share) - _NAME, 14, rx=1, fill=REAL, fill_opacity="0.35")]
    if band:
        ends = x(max(0.0, share - band)), x(share + band)
        parts.append(line(ends[0], 7, ends[1], 7, stroke=REAL, stroke_width=2))
    return parts


def _synthetic_bar(share: float, beside: float, x: Scale) -> list[Markup]:
    """Return a bar, thinner on top of a real one, and its share right of what is longer."""
    thickness = 6 if beside else 14
    return [
        box(_NAME, 7 - thickness / 2, x(share) - _NAME, thickness, fill=SYNTHETIC),
        text(x(max(share, beside)) + 5, 11, percent(share), fill=SYNTHETIC),
    ]


def _title(view: ColumnView) -> str:
    against = "synthetic" if view.real is None else "real and synthetic"
    told = "" if view.difference is None else f", total variation {percent(view.difference)}"
    return f"{short(view.name, 60)}: {against}{told}"


_LINES_WIDTH, _LINES_HEIGHT = 300, 210
_LINES_LEFT, _LINES_BOTTOM = 44, 160
Points = Sequence[tuple[float, float]]


def orders(synthetic: Sequence[KWay], floor: Sequence[KWay], title: str) -> Chart:
    """Return distances by the number of columns, above what sampling alone gives.

    Example:
        >>> way = KWay(1, 0.1, 0.0, 3, 3, (9, 9), (("age",), 0.1))
        >>> orders([way], [], "1-way").svg.count("<circle")
        1
    """
    over = [(way.order, way.distance) for way in synthetic]
    under = [(way.order, way.distance) for way in floor]
    known = [*over, *under]
    x = _whole_scale([k for k, _ in known])
    y = across([distance for _, distance in known], _LINES_BOTTOM, 14)
    parts = [
        left_axis(y, _LINES_LEFT, _LINES_WIDTH - 10),
        _whole_ticks(x, sorted({k for k, _ in known})),
        text((_LINES_LEFT + _LINES_WIDTH) / 2, _LINES_BOTTOM + 34, "columns at once (k)", "middle"),
        _curve(under, x, y, REAL, dashed=True),
        _curve(over, x, y, SYNTHETIC),
    ]
    return picture(_LINES_WIDTH, _LINES_HEIGHT, title, parts)


def depths(order: Order) -> Chart:
    """Return the accuracy of trees by their depth.

    Example:
        >>> depths(Order("ill", (2, 3), (0.7, 0.8), "some")).svg.count("<circle")
        2
    """
    points = list(zip(order.depths, order.accuracy, strict=True))
    x = _whole_scale(order.depths)
    lowest = min((v for v in order.accuracy if math.isfinite(v)), default=0.0)
    y = across(order.accuracy, _LINES_BOTTOM, 14, floor=max(0.0, lowest - 0.05))
    parts = [
        left_axis(y, _LINES_LEFT, _LINES_WIDTH - 10, unit="%"),
        _whole_ticks(x, order.depths),
        text((_LINES_LEFT + _LINES_WIDTH) / 2, _LINES_BOTTOM + 34, "depth of the trees", "middle"),
        _curve(points, x, y, REAL),
    ]
    return picture(_LINES_WIDTH, _LINES_HEIGHT, "Accuracy on real rows by depth of trees", parts)


def rounds(history: Sequence[Mapping[str, Any]], name: str) -> Chart:
    """Return one quantity of a run, round by round; rounds that rank are shaded.

    Example:
        >>> rounds([{"round": 1, "sigma": 2.0}], "sigma").svg.count("<circle")
        1
    """
    width, height, bottom = 300, 150, 118
    points = [(place + 1, _number(step.get(name))) for place, step in enumerate(history)]
    x = Scale(0.5, max(1, len(history)) + 0.5, 52, width - 8)
    y = across([value for _, value in points], bottom, 10)
    ranking = [place for place, step in enumerate(history) if step.get("selection") == "ranking"]
    shade = Markup().join(
        box(x(k + 0.5), 10, x(k + 1.5) - x(k + 0.5), bottom - 10, fill=REAL, fill_opacity="0.1")
        for k in ranking
    )
    parts = [
        shade,
        left_axis(y, 52, width - 8, 3),
        Markup().join(
            text(x(k), bottom + 15, int(k), "middle")
            for k in Scale(1, max(2, len(history)), 0, 1).ticks(6)
            if k.is_integer()
        ),
        _curve(points, x, y, SYNTHETIC),
    ]
    return picture(width, height, f"{name.replace('_', ' ')} by round", parts)


def quantities(history: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the names of what is a number in every round that has it.

    Example:
        >>> quantities([{"round": 1, "selection": "ranking", "sigma": 2.0}])
        ('sigma',)
    """
    names = dict.fromkeys(name for step in history for name in step if name != "round")
    return tuple(
        name
        for name in names
        if all(math.isfinite(_number(step[name])) for step in history if name in step)
    )


def _number(value: Any) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number else math.nan


def _whole_scale(values: Sequence[int]) -> Scale:
    low, high = min(values, default=0), max(values, default=1)
    return Scale(low - 0.3, high + 0.3, _LINES_LEFT, _LINES_WIDTH - 10)


def _whole_ticks(x: Scale, values: Sequence[int]) -> Markup:
    return Markup().join(text(x(k), _LINES_BOTTOM + 16, k, "middle") for k in values)


def _curve(points: Points, x: Scale, y: Scale, colour: str, *, dashed: bool = False) -> Markup:
    places = [(x(a), y(b)) for a, b in points if math.isfinite(b)]
    if not places:
        return Markup()
    dots = [tag("circle", cx=a, cy=b, r=3.5, fill=colour) for a, b in places]
    commands = "L".join(at(a, b) for a, b in places)
    dashes = "5 4" if dashed else None
    drawn = {"fill": "none", "stroke": colour, "stroke_width": 2, "stroke_dasharray": dashes}
    return Markup().join([path([f"M{commands}"], **drawn), *dots])


_PAIRS_SIDE, _NAMES = 210, 90
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
    size = min(_LARGEST_CELL, _PAIRS_SIDE / max(1, len(columns)))
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
        tag("g", *cells, transform=f"translate({_NAMES} 4)"),
        *(_names(columns, size) if size >= _READABLE_CELL else []),
    ]
    return picture(_NAMES + side + 4, side + _NAMES, title, parts)


def _cell(pair: str, value: float, most: float, *, x: float, y: float, size: float) -> Markup:
    title = tag("title", f"{pair}: {number(value)}")
    side = size - (1.0 if size >= _READABLE_CELL else 0.5)
    if math.isnan(value):
        return box(x, y, side, side, title, fill="none", stroke=LINE)
    strength = min(1.0, abs(value) / most) if most > 0 else 0.0
    colour, opacity = SYNTHETIC if value >= 0 else LESS, f"{0.04 + 0.96 * strength:.2f}"
    return box(x, y, side, side, title, fill=colour, fill_opacity=opacity)


def _names(columns: Sequence[str], size: float) -> list[Markup]:
    parts = []
    for place, name in enumerate(columns):
        middle = (place + 0.5) * size + 4
        parts.append(text(_NAMES - 6, middle + 3.5, short(name, 13), "end", font_size=10))
        x, y = _NAMES + (place + 0.5) * size + 3, size * len(columns) + 14
        turned = f"rotate(-60 {at(x, y)})"
        parts.append(text(x, y, short(name, 13), "end", font_size=10, transform=turned))
    return parts


# Okabe and Ito's colours, which people tell apart who see no red or no green.
CLASS_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c7a00")
_REST = "#8a8f98"
_SCATTER_SIDE = 400
_LAYERS = 10  # real and synthetic points take turns, so that neither hides the other
PlanePoints = NDArray[np.float64]


def cloud(projection: Projection) -> Chart:
    """Return real and synthetic rows on top of each other.

    Example:
        >>> points = np.zeros((2, 2))
        >>> flat = Projection((0.5, 0.2), None, points, None, np.zeros(2, int), ("",))
        >>> "points-synthetic" in cloud(flat).svg
        True
    """
    x, y = _scales(projection, 30, 620, 14, 392)
    parts = [box(30, 10, 594, 386, fill="none", stroke=LINE, rx=4)]
    for layer in range(_LAYERS):
        if projection.real is not None:
            parts.append(_points(projection.real[layer::_LAYERS], x, y, REAL, "points-real"))
        points = projection.synthetic[layer::_LAYERS]
        parts.append(_points(points, x, y, SYNTHETIC, "points-synthetic"))
    parts += _directions(projection, 30, 624, 396)
    return picture(640, 420, "Rows on the plane in which they differ most", parts)


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
        left = place * (_SCATTER_SIDE + 20)
        x, y = _scales(projection, left + 8, left + _SCATTER_SIDE - 8, 30, 320)
        parts.append(box(left + 1, 22, _SCATTER_SIDE - 2, 306, fill="none", stroke=LINE, rx=4))
        parts.append(text(left + 2, 14, name, font_size=12, font_weight="600"))
        parts += [
            _points(points[codes == code], x, y, class_colour(code), "points-class")
            for code in range(len(projection.class_names))
            if (codes == code).any()
        ]
    width = len(panels) * (_SCATTER_SIDE + 20) - 20
    return picture(width, 332, "Rows by class, on the same plane", parts)


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
    return picture(10, 10, name, [tag("circle", cx=5, cy=5, r=5, fill=colour)])


def _scales(
    projection: Projection, left: float, right: float, top: float, bottom: float
) -> tuple[Scale, Scale]:
    known = [points for points in (projection.real, projection.synthetic) if points is not None]
    together = np.concatenate(known)
    xs, ys = together[:, 0].tolist(), together[:, 1].tolist()
    return across(xs, left, right, floor=None), across(ys, bottom, top, floor=None)


def _points(points: PlanePoints, x: Scale, y: Scale, colour: str, name: str) -> Markup:
    """Return all points as one path of dots: a tenth of the size of circles."""
    finite = points[np.isfinite(points).all(axis=1)]
    commands = [f"M{at(x(a), y(b))}h0" for a, b in finite.tolist()]
    dots = {"stroke": colour, "stroke_width": 3.6, "stroke_linecap": "round", "fill": "none"}
    return path(commands, **dots, stroke_opacity="0.55", class_=name)


def _directions(projection: Projection, left: float, right: float, bottom: float) -> list[Markup]:
    first, second = (percent(share, 0) for share in projection.explained)
    middle = (10 + bottom) / 2
    turned = f"rotate(-90 {at(18, middle)})"
    return [
        text((left + right) / 2, bottom + 17, f"first direction ({first})", "middle"),
        text(18, middle, f"second direction ({second})", "middle", transform=turned),
    ]
