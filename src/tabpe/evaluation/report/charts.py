"""Charts as SVG: functions from values to `Chart`.

First the SVG elements, which escape their content, scales and axes; then the charts: bars and
bounds, columns, lines, heat maps, scatter plots.
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
from tabpe.evaluation.metrics.columns import ColumnComparison
from tabpe.evaluation.metrics.correlation_order import CorrelationOrder
from tabpe.evaluation.metrics.distances import KWayDistance
from tabpe.evaluation.metrics.embedding import PlaneProjection
from tabpe.evaluation.report.guarantee import AttackerBound, format_certainty
from tabpe.evaluation.report.text import format_number, format_percent, format_value, shorten_text

# On the page the colours follow its theme; a chart by itself has those after the comma.
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
    """A chart, which notebooks and the page display as it is.

    Args:
        svg: The SVG.
    """

    svg: Markup

    def __html__(self) -> str:
        return self.svg

    def __str__(self) -> str:
        return str(self.svg)

    _repr_svg_ = _repr_html_ = __str__


def make_tag(name: str, *content: Any, **attributes: Any) -> Markup:
    """Return an element. Content and attributes are escaped; attributes that are None are left out.

    Example:
        >>> print(make_tag("text", "a < b", x=1.25, text_anchor="end"))
        <text x="1.2" text-anchor="end">a &lt; b</text>
    """
    pairs = ((key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())
    written = [
        f' {key}="{escape(_format_attribute(value))}"' for key, value in pairs if value is not None
    ]
    inner = Markup().join(escape(format_value(part)) for part in content)
    return Markup(f"<{name}{''.join(written)}>{inner}</{name}>")  # noqa: S704


def _format_attribute(value: Any) -> str:
    is_number = isinstance(value, (int, float))
    return f"{round(float(value), 1):g}" if is_number else str(format_value(value))


def make_picture(width: float, height: float, title: str, parts: Iterable[Markup]) -> Chart:
    """Return a chart of a size, with a title for screen readers."""
    svg = make_tag(
        "svg",
        make_tag("title", title),
        Markup().join(parts),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_format_attribute(width)} {_format_attribute(height)}",
        width=width,
        height=height,
        role="img",
        class_="chart",
        font_family=_FONT,
        font_size=11,
    )
    return Chart(svg)


def draw_text(x: float, y: float, content: Any, anchor: str = "start", **attributes: Any) -> Markup:
    """Return a line of text."""
    return make_tag("text", content, x=x, y=y, text_anchor=anchor, **{"fill": SOFT, **attributes})


def draw_box(
    x: float, y: float, width: float, height: float, *content: Markup, **attributes: Any
) -> Markup:
    """Return a rectangle; a width or height that is negative or not finite counts as 0.

    Example:
        >>> print(draw_box(0, 0, float("nan"), 5))
        <rect x="0" y="0" width="0" height="5"></rect>
    """
    width, height = (max(0.0, v) if math.isfinite(v) else 0.0 for v in (width, height))
    return make_tag("rect", *content, x=x, y=y, width=width, height=height, **attributes)


def format_point(x: float, y: float) -> str:
    """Return a point in the notation of a path, in tenths."""
    return f"{_format_attribute(x)} {_format_attribute(y)}"


def draw_line(x1: float, y1: float, x2: float, y2: float, **attributes: Any) -> Markup:
    """Return a straight line."""
    return make_tag("line", x1=x1, y1=y1, x2=x2, y2=y2, **{"stroke": LINE, **attributes})


@dataclass(frozen=True)
class ChartScale:
    """A linear scale from values to coordinates.

    Args:
        low: The smallest value.
        high: The largest value.
        start: Coordinate of the smallest value.
        end: Coordinate of the largest value.

    Example:
        >>> scale = ChartScale(0, 10, 100, 200)
        >>> scale(5), scale.compute_ticks(3)
        (150.0, (0.0, 5.0, 10.0))
    """

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the coordinate of a value."""
        half = self.high / 2 - self.low / 2  # so that the range of floats does not overflow
        share = 0.5 if half <= 0 else (value / 2 - self.low / 2) / half
        return self.start + share * (self.end - self.start)

    def compute_ticks(self, most: int = 5) -> tuple[float, ...]:
        """Return about `most` round values at most."""
        width = self.high - self.low
        if not (width > 0 and math.isfinite(width)):
            return (self.low,)
        least = width / most
        power = 10.0 ** math.floor(math.log10(least))
        step = next(power * size for size in _STEPS if power * size >= least * 0.999)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return tuple(index * step for index in range(first, last + 1))


def make_scale(
    values: Sequence[float], start: float, end: float, floor: float | None = 0
) -> ChartScale:
    """Return a scale that holds all finite values, and `floor`.

    Example:
        >>> make_scale([1.0, float("nan"), 4.0], 0, 100)
        ChartScale(low=0, high=4.0, start=0, end=100)
    """
    known = [value for value in values if math.isfinite(value)]
    known += [floor] if floor is not None else []
    low, high = min(known, default=0.0), max(known, default=1.0)
    return ChartScale(low, high if high > low else low + 1, start, end)


def draw_left_axis(
    scale: ChartScale, x: float, x_end: float, ticks: int = 4, unit: str = ""
) -> Markup:
    """Return grid lines at round values, with the values at their left."""
    return Markup().join(
        draw_line(x, scale(value), x_end, scale(value))
        + draw_text(x - 6, scale(value) + 4, _format_tick(value, unit), "end")
        for value in scale.compute_ticks(ticks)
    )


def draw_bottom_axis(scale: ChartScale, y: float, ticks: int = 5, unit: str = "") -> Markup:
    """Return round values below the chart."""
    return Markup().join(
        draw_text(scale(value), y + 15, _format_tick(value, unit), "middle")
        for value in scale.compute_ticks(ticks)
    )


def _format_tick(value: float, unit: str) -> str:
    if unit == "%":
        return f"{100 * value:.3g}%"
    size, letter = next((one for one in _SIZES if abs(value) >= one[0]), (1.0, ""))
    return format_number(round(value / size, 10)) + letter + unit


Bounds = tuple[str, float | None, float | None, float | None]
_BARS_WIDTH = 640
_OPACITIES = ("1", "0.7", "0.48", "0.32", "0.2")


def _shade(index: int) -> dict[str, str]:
    """Return the colour of a part of a whole."""
    return {"fill": SYNTHETIC, "fill_opacity": _OPACITIES[index % len(_OPACITIES)]}


def stacked(parts: Sequence[tuple[str, float]], title: str) -> Chart:
    """Return parts of a whole in one bar."""
    x = ChartScale(0, 1, 0, _BARS_WIDTH)
    drawn, start = [], 0.0
    for index, (name, share) in enumerate(parts):
        width = x(share) - 2
        label = make_tag("title", f"{name}: {format_percent(share)}")
        drawn.append(draw_box(x(start), 0, max(1.5, width), 30, label, rx=2, **_shade(index)))
        start += share
    return make_picture(_BARS_WIDTH, 30, title, drawn)


def swatch(index: int) -> Chart:
    """Return the colour of a part, for a table beside the bar."""
    box = draw_box(0, 0, 12, 12, rx=2, **_shade(index))
    return make_picture(12, 12, f"colour {index + 1}", [box])


def odds(bound: AttackerBound) -> Chart:
    """Return the bounds on the beliefs of an attacker."""
    x = ChartScale(0, 1, 44, 384)
    parts: list[Markup] = []
    for index, belief in enumerate(bound.beliefs):
        y = 24 + 40 * index
        before, after = x(belief.prior), x(belief.most)
        parts += [
            draw_line(x(0), y, x(1), y),
            draw_text(34, y + 4, format_percent(belief.prior, 0), "end", fill=REAL, font_size=12),
            draw_line(before, y, after, y, stroke=SYNTHETIC, stroke_width=3),
            make_tag("circle", cx=before, cy=y, r=6, fill=REAL),
            make_tag("circle", cx=after, cy=y, r=6, fill=SYNTHETIC),
            draw_text(
                after, y - 11, format_certainty(belief.most), "middle", fill=INK, font_size=12
            ),
        ]
    bottom = 40 * len(bound.beliefs) + 2
    parts.append(draw_bottom_axis(x, bottom, 4, "%"))
    return make_picture(420, bottom + 24, "How sure an attacker is, before and after", parts)


def between(rows: Sequence[Bounds], title: str) -> Chart:
    """Return values between a lower and an upper bound, one per row.

    Args:
        rows: The name, the lower bound, the value, the upper bound.
        title: Title of the chart.
    """
    known = [v for row in rows for v in row[1:] if v is not None and math.isfinite(v)]
    width, left, bottom = 290, 118, 16 + 34 * len(rows)
    x = make_scale(known, left, width - 16, floor=min(0.0, *known) if known else 0.0)
    x = ChartScale(x.low, max(1.0, x.high), x.start, x.end)
    ticks = [draw_line(x(v), 8, x(v), bottom) for v in x.compute_ticks(2)]
    parts = [*ticks, draw_bottom_axis(x, bottom, 2)]
    for index, row in enumerate(rows):
        parts += _draw_between(28 + 34 * index, row, x, left)
    return make_picture(width, bottom + 24, title, parts)


def _draw_between(y: float, row: Bounds, x: ChartScale, left: float) -> list[Markup]:
    name, lower, value, upper = row
    parts = [draw_text(left - 10, y + 4, shorten_text(name, 17), "end", fill=INK)]
    if _is_known(lower) and _is_known(upper):
        ends = {"stroke": REAL, "stroke_opacity": "0.35", "stroke_width": 8}
        parts.append(draw_line(x(lower), y, x(upper), y, **ends))
    if _is_known(lower):
        parts.append(draw_line(x(lower), y - 9, x(lower), y + 9, stroke=REAL, stroke_width=2))
    if _is_known(upper):
        parts.append(make_tag("circle", cx=x(upper), cy=y, r=6, fill=REAL))
    if _is_known(value):
        parts.append(make_tag("circle", cx=x(value), cy=y, r=6, fill=SYNTHETIC))
        label = {"fill": SYNTHETIC, "font_weight": "600"}
        parts.append(draw_text(x(value), y - 10, f"{value:.3f}", "middle", **label))
    return parts


def _is_known(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)


def lengths(values: Mapping[str, float], title: str, unit: str = "") -> Chart:
    """Return values as bars."""
    x = make_scale(list(values.values()), 150, _BARS_WIDTH - 70)
    parts = []
    for index, (name, value) in enumerate(values.items()):
        y = 24 * index + 6
        parts += [
            draw_text(140, y + 11, shorten_text(name, 22), "end", fill=INK),
            draw_box(150, y, x(value) - 150, 14, rx=2, fill=REAL, fill_opacity="0.45"),
            draw_text(x(value) + 6, y + 11, format_number(value) + unit),
        ]
    return make_picture(_BARS_WIDTH, 24 * max(1, len(values)) + 8, title, parts)


def gauge(value: float, title: str) -> Chart:
    """Return a share of 1 as a bar; more than 1 fills it."""
    full = 0.0 if not math.isfinite(value) else min(1.0, value)
    parts = [
        draw_box(0, 0, 200, 8, rx=4, fill=LINE),
        draw_box(0, 0, 200 * full, 8, rx=4, fill=SYNTHETIC),
    ]
    return make_picture(200, 8, f"{title}: {format_number(value)}", parts)


_COLUMNS_WIDTH, _COLUMNS_HEIGHT = 290, 160
_COLUMNS_LEFT, _RIGHT, _TOP, _COLUMNS_BOTTOM = 42, 284, 10, 138
_NULLS = 34  # width of the part for nulls, at the right
_NAME, _ROW = 102, 20
_ALL_BUT_ZERO = 0.005  # of half the width: less than a pixel


def column(view: ColumnComparison) -> Chart:
    """Return the histogram of a number, or the bars of a category, with nulls apart."""
    return _draw_histogram(view) if view.kind == "number" else _draw_bars(view)


def distances(closeness: Closeness) -> Chart:
    """Return histograms of the distance to the nearest real row."""
    width, height = 640, 220
    x = ChartScale(closeness.edges[0], closeness.edges[-1], 44, width - 12)
    y = make_scale([*closeness.synthetic, *closeness.other], height - 28, 14)
    title = "Distance to the nearest real row: synthetic rows and other real rows"
    parts = [
        draw_left_axis(y, 44, width - 12, unit="%"),
        _draw_steps(closeness.edges, closeness.other, x, y, fill=REAL, fill_opacity="0.3"),
        _draw_steps(closeness.edges, closeness.synthetic, x, y, fill="none", **_OUTLINE),
        draw_bottom_axis(x, height - 28, 8),
    ]
    return make_picture(width, height, title, parts)


_OUTLINE: dict[str, Any] = {"stroke": SYNTHETIC, "stroke_width": 2, "stroke_linejoin": "round"}


def _draw_histogram(view: ColumnComparison) -> Chart:
    has_nulls = view.synthetic.nulls > 0 or (view.real is not None and view.real.nulls > 0)
    right = _RIGHT - _NULLS if has_nulls else _RIGHT
    shapes = [shape for shape in (view.real, view.synthetic) if shape is not None]
    highest = [share + view.band for shape in shapes for share in (*shape.shares, shape.nulls)]
    edges = view.positions or view.edges
    x = ChartScale(edges[0], edges[-1], _COLUMNS_LEFT, right)
    y = make_scale(highest, _COLUMNS_BOTTOM, _TOP)
    parts = [draw_left_axis(y, _COLUMNS_LEFT, _RIGHT, 3, "%")]
    fill: dict[str, Any] = {"fill": SYNTHETIC, "fill_opacity": "0.2"}
    if view.real is not None:
        shares, fill = view.real.shares, {"fill": "none"}
        parts.append(_draw_steps(edges, shares, x, y, fill=REAL, fill_opacity="0.35"))
        if view.band:
            upper = [share + view.band for share in shares]
            lower = [max(0.0, share - view.band) for share in shares]
            band = {"fill": REAL, "fill_opacity": "0.25"}
            parts.append(_draw_steps(edges, upper, x, y, lower, **band))
    parts.append(_draw_steps(edges, view.synthetic.shares, x, y, **fill, **_OUTLINE))
    parts += _draw_ends(view, right)
    if has_nulls:
        parts += _draw_null_bars(view, y)
    return make_picture(_COLUMNS_WIDTH, _COLUMNS_HEIGHT, _make_title(view), parts)


def _draw_steps(
    edges: Sequence[float],
    tops: Sequence[float],
    x: ChartScale,
    y: ChartScale,
    floors: Sequence[float] | None = None,
    **attributes: Any,
) -> Markup:
    """Return steps as one closed path, from `floors` (or 0) up to `tops`."""
    floors = floors if floors is not None else [0.0] * len(tops)

    def format_step(start: float, end: float, share: float) -> str:
        return f"{format_point(x(start), y(share))}H{_format_attribute(x(end))}"

    there = map(format_step, edges, edges[1:], tops)
    back = list(map(format_step, edges[1:], edges, floors))[::-1]
    commands = "L".join([*there, *back])
    return make_tag("path", d=f"M{commands}Z", **attributes)


def _draw_ends(view: ColumnComparison, right: float) -> list[Markup]:
    """Return the labels of the ends and the middle of the bins; open ends are marked."""
    low, high = view.edges[0], view.edges[-1]
    middle = low / 2 + high / 2
    if abs(middle) < _ALL_BUT_ZERO * (high / 2 - low / 2):
        middle = 0.0
    below, beyond = view.open_ends
    first, between, last = view.marks or map(format_number, (low, middle, high))
    y = _COLUMNS_BOTTOM + 16
    return [
        draw_text(_COLUMNS_LEFT, y, ("\u2264 " if below else "") + first),
        draw_text((_COLUMNS_LEFT + right) / 2, y, between, "middle"),
        draw_text(right, y, ("\u2265 " if beyond else "") + last, "end"),
    ]


def _draw_null_bars(view: ColumnComparison, y: ChartScale) -> list[Markup]:
    left = _RIGHT - _NULLS + 8
    bars = [(view.synthetic.nulls, SYNTHETIC, left + 13)]
    if view.real is not None:
        bars.append((view.real.nulls, REAL, left))
    parts = [
        draw_box(start, y(share), 11, _COLUMNS_BOTTOM - y(share), fill=colour, fill_opacity="0.75")
        for share, colour, start in bars
    ]
    return [*parts, draw_text(_RIGHT + 6, _COLUMNS_BOTTOM + 16, "null", "end")]


def _draw_bars(view: ColumnComparison) -> Chart:
    names = [shorten_text(name, 13) for name in view.bars] + ["null"]
    synthetic = [*view.synthetic.shares, view.synthetic.nulls]
    real = None if view.real is None else [*view.real.shares, view.real.nulls]
    if not synthetic[-1] and (real is None or not real[-1]):
        names.pop()
    highest = [share + view.band for share in [*synthetic, *(real or [])]]
    x = make_scale(highest, _NAME, _COLUMNS_WIDTH - 52)
    parts = [
        make_tag(
            "g",
            draw_text(_NAME - 8, 11, name, "end"),
            *(() if real is None else _draw_real_bar(real[index], view.band, x)),
            *_draw_synthetic_bar(
                synthetic[index], 0.0 if real is None else real[index] + view.band, x
            ),
            transform=f"translate(0 {index * _ROW + 6})",
        )
        for index, name in enumerate(names)
    ]
    return make_picture(_COLUMNS_WIDTH, max(1, len(names)) * _ROW + 8, _make_title(view), parts)


def _draw_real_bar(share: float, band: float, x: ChartScale) -> list[Markup]:
    parts = [draw_box(_NAME, 0, x(share) - _NAME, 14, rx=1, fill=REAL, fill_opacity="0.35")]
    if band:
        ends = x(max(0.0, share - band)), x(share + band)
        parts.append(draw_line(ends[0], 7, ends[1], 7, stroke=REAL, stroke_width=2))
    return parts


def _draw_synthetic_bar(share: float, beside: float, x: ChartScale) -> list[Markup]:
    """Return a bar, thinner on top of a real one, with its share right of the longer one."""
    thickness = 6 if beside else 14
    return [
        draw_box(_NAME, 7 - thickness / 2, x(share) - _NAME, thickness, fill=SYNTHETIC),
        draw_text(x(max(share, beside)) + 5, 11, format_percent(share), fill=SYNTHETIC),
    ]


def _make_title(view: ColumnComparison) -> str:
    against = "synthetic" if view.real is None else "real and synthetic"
    title = f"{shorten_text(view.name, 60)}: {against}"
    known = view.difference is not None
    return f"{title}, total variation {format_percent(view.difference)}" if known else title


_LINES_WIDTH, _LINES_HEIGHT = 300, 210
_LINES_LEFT, _LINES_BOTTOM = 44, 160
Points = Sequence[tuple[float, float]]


def orders(
    synthetic: Sequence[KWayDistance],
    floor: Sequence[KWayDistance],
    ceiling: Sequence[KWayDistance],
    title: str,
) -> Chart:
    """Return k-way distances by k, between those of other real rows and of independent columns."""
    over, under, above = (
        [(way.order, way.distance) for way in part] for part in (synthetic, floor, ceiling)
    )
    known = [*over, *under, *above]
    y = make_scale([distance for _, distance in known], _LINES_BOTTOM, 14)
    ticks = sorted({k for k, _ in known})
    curves = ((above, LESS, True), (under, REAL, True), (over, SYNTHETIC, False))
    return _draw_lines(title, "columns at once (k)", ticks, y, curves)


def depths(order: CorrelationOrder) -> Chart:
    """Return the accuracy of trees by their depth."""
    points = list(zip(order.depths, order.accuracy, strict=True))
    lowest = min((v for v in order.accuracy if math.isfinite(v)), default=0.0)
    y = make_scale(order.accuracy, _LINES_BOTTOM, 14, floor=max(0.0, lowest - 0.05))
    title = "Accuracy on real rows by depth of trees"
    return _draw_lines(
        title, "depth of the trees", order.depths, y, ((points, REAL, False),), unit="%"
    )


def _draw_lines(
    title: str,
    below: str,
    ticks: Sequence[int],
    y: ChartScale,
    curves: Iterable[tuple[Points, str, bool]],
    *,
    unit: str = "",
) -> Chart:
    """Return curves over whole numbers: their points, their colour, and whether they are dashed."""
    low, high = min(ticks, default=0), max(ticks, default=1)
    x = ChartScale(low - 0.3, high + 0.3, _LINES_LEFT, _LINES_WIDTH - 10)
    parts = [
        draw_left_axis(y, _LINES_LEFT, _LINES_WIDTH - 10, unit=unit),
        Markup().join(draw_text(x(k), _LINES_BOTTOM + 16, k, "middle") for k in ticks),
        draw_text((_LINES_LEFT + _LINES_WIDTH) / 2, _LINES_BOTTOM + 34, below, "middle"),
        *(_draw_curve(points, x, y, colour, dashed=dashed) for points, colour, dashed in curves),
    ]
    return make_picture(_LINES_WIDTH, _LINES_HEIGHT, title, parts)


def rounds(history: Sequence[Mapping[str, Any]], name: str) -> Chart:
    """Return one quantity of a run by round; rounds with ranking selection are shaded."""
    width, height, bottom = 300, 150, 118
    points = [(index, _read_number(step.get(name))) for index, step in enumerate(history, start=1)]
    x = ChartScale(0.5, max(1, len(history)) + 0.5, 52, width - 8)
    y = make_scale([value for _, value in points], bottom, 10)
    ranking = [index for index, step in enumerate(history) if step.get("selection") == "ranking"]
    spans, grey = [(x(k + 0.5), x(k + 1.5)) for k in ranking], {"fill": REAL, "fill_opacity": "0.1"}
    shade = Markup().join(draw_box(a, 10, b - a, bottom - 10, **grey) for a, b in spans)
    parts = [
        shade,
        draw_left_axis(y, 52, width - 8, 3),
        Markup().join(
            draw_text(x(k), bottom + 15, int(k), "middle")
            for k in ChartScale(1, max(2, len(history)), 0, 1).compute_ticks(6)
            if k.is_integer()
        ),
        _draw_curve(points, x, y, SYNTHETIC),
    ]
    return make_picture(width, height, f"{name.replace('_', ' ')} by round", parts)


def quantities(history: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the names of quantities that are numbers in every round that has them.

    Example:
        >>> quantities([{"round": 1, "selection": "ranking", "sigma": 2.0}])
        ('sigma',)
    """
    names = dict.fromkeys(name for step in history for name in step if name != "round")
    return tuple(
        name
        for name in names
        if all(math.isfinite(_read_number(step[name])) for step in history if name in step)
    )


def _read_number(value: Any) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number else math.nan


def _draw_curve(
    points: Points, x: ChartScale, y: ChartScale, colour: str, *, dashed: bool = False
) -> Markup:
    known = [(x(a), y(b)) for a, b in points if math.isfinite(b)]
    if not known:
        return Markup()
    dots = [make_tag("circle", cx=a, cy=b, r=3.5, fill=colour) for a, b in known]
    commands = "L".join(format_point(a, b) for a, b in known)
    dashes = "5 4" if dashed else None
    drawn = {"fill": "none", "stroke": colour, "stroke_width": 2, "stroke_dasharray": dashes}
    return Markup().join([make_tag("path", d=f"M{commands}", **drawn), *dots])


_PAIRS_SIDE, _NAMES = 210, 90
_LARGEST_CELL = 27
_READABLE_CELL = 9.0


def heat(
    columns: Sequence[str], matrix: NDArray[np.float64], title: str, most: float = 1.0
) -> Chart:
    """Return a heat map: blue above 0, orange below, fuller colours further from it.

    Args:
        columns: Names of rows and columns.
        matrix: A value for each pair; NaN stays empty.
        title: Title of the chart.
        most: The value of the full colour.
    """
    size = min(_LARGEST_CELL, _PAIRS_SIDE / max(1, len(columns)))
    side = size * len(columns)
    names = [shorten_text(name, 40) for name in columns]
    cells = [
        _draw_cell(
            f"{names[i]}, {names[j]}", float(matrix[i, j]), most, x=j * size, y=i * size, size=size
        )
        for i in range(len(columns))
        for j in range(len(columns))
    ]
    parts = [
        make_tag("g", *cells, transform=f"translate({_NAMES} 4)"),
        *(_draw_names(columns, size) if size >= _READABLE_CELL else []),
    ]
    return make_picture(_NAMES + side + 4, side + _NAMES, title, parts)


def _draw_cell(pair: str, value: float, most: float, *, x: float, y: float, size: float) -> Markup:
    title = make_tag("title", f"{pair}: {format_number(value)}")
    side = size - (1.0 if size >= _READABLE_CELL else 0.5)
    if math.isnan(value):
        return draw_box(x, y, side, side, title, fill="none", stroke=LINE)
    strength = min(1.0, abs(value) / most) if most > 0 else 0.0
    colour, opacity = SYNTHETIC if value >= 0 else LESS, f"{0.04 + 0.96 * strength:.2f}"
    return draw_box(x, y, side, side, title, fill=colour, fill_opacity=opacity)


def _draw_names(columns: Sequence[str], size: float) -> list[Markup]:
    parts = []
    for index, name in enumerate(columns):
        middle = (index + 0.5) * size + 4
        parts.append(
            draw_text(_NAMES - 6, middle + 3.5, shorten_text(name, 13), "end", font_size=10)
        )
        x, y = _NAMES + (index + 0.5) * size + 3, size * len(columns) + 14
        turned = f"rotate(-60 {format_point(x, y)})"
        parts.append(draw_text(x, y, shorten_text(name, 13), "end", font_size=10, transform=turned))
    return parts


# Okabe and Ito's colours, which colour-blind people can distinguish.
CLASS_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c7a00")
_REST = "#8a8f98"
_SCATTER_SIDE = 400
_LAYERS = 10  # real and synthetic points take turns, so that neither hides the other
PlanePoints = NDArray[np.float64]


def cloud(projection: PlaneProjection) -> Chart:
    """Return real and synthetic rows on the same plane."""
    x, y = _make_scales(projection, 30, 620, 14, 392)
    parts = [draw_box(30, 10, 594, 386, fill="none", stroke=LINE, rx=4)]
    for layer in range(_LAYERS):
        if projection.real is not None:
            parts.append(_draw_points(projection.real[layer::_LAYERS], x, y, REAL, "points-real"))
        points = projection.synthetic[layer::_LAYERS]
        parts.append(_draw_points(points, x, y, SYNTHETIC, "points-synthetic"))
    first, second = (format_percent(share, 0) for share in projection.explained)
    turned = f"rotate(-90 {format_point(18, 203)})"
    parts += [
        draw_text(327, 413, f"first direction ({first})", "middle"),
        draw_text(18, 203, f"second direction ({second})", "middle", transform=turned),
    ]
    return make_picture(640, 420, "Rows on the plane in which they differ most", parts)


def classes(projection: PlaneProjection) -> Chart:
    """Return real rows beside synthetic ones, coloured by their class."""
    panels = [("synthetic", projection.synthetic, projection.synthetic_classes)]
    if projection.real is not None and projection.real_classes is not None:
        panels.insert(0, ("real", projection.real, projection.real_classes))
    parts: list[Markup] = []
    for index, (name, points, codes) in enumerate(panels):
        left = index * (_SCATTER_SIDE + 20)
        x, y = _make_scales(projection, left + 8, left + _SCATTER_SIDE - 8, 30, 320)
        parts.append(draw_box(left + 1, 22, _SCATTER_SIDE - 2, 306, fill="none", stroke=LINE, rx=4))
        parts.append(draw_text(left + 2, 14, name, font_size=12, font_weight="600"))
        parts += [
            _draw_points(points[codes == code], x, y, class_colour(code), "points-class")
            for code in range(len(projection.class_names))
            if (codes == code).any()
        ]
    width = len(panels) * (_SCATTER_SIDE + 20) - 20
    return make_picture(width, 332, "Rows by class, on the same plane", parts)


def class_colour(code: int) -> str:
    """Return the colour of a class."""
    return CLASS_COLOURS[code] if code < len(CLASS_COLOURS) else _REST


def class_key(names: Sequence[str]) -> list[tuple[str, Chart]]:
    """Return each class with its colour; the rest share one."""
    named = [shorten_text(name, 40) for name in names[: len(CLASS_COLOURS)]]
    if len(names) > len(CLASS_COLOURS):
        named.append(f"{len(names) - len(CLASS_COLOURS)} others")
    dots = [
        make_tag("circle", cx=5, cy=5, r=5, fill=class_colour(code)) for code in range(len(named))
    ]
    return [
        (name, make_picture(10, 10, name, [dot])) for name, dot in zip(named, dots, strict=True)
    ]


def _make_scales(
    projection: PlaneProjection, left: float, right: float, top: float, bottom: float
) -> tuple[ChartScale, ChartScale]:
    known = [points for points in (projection.real, projection.synthetic) if points is not None]
    together = np.concatenate(known)
    xs, ys = together[:, 0].tolist(), together[:, 1].tolist()
    return make_scale(xs, left, right, floor=None), make_scale(ys, bottom, top, floor=None)


def _draw_points(
    points: PlanePoints, x: ChartScale, y: ChartScale, colour: str, name: str
) -> Markup:
    """Return all points as one path of dots, a tenth of the size of circles."""
    finite = points[np.isfinite(points).all(axis=1)]
    commands = "".join(f"M{format_point(x(a), y(b))}h0" for a, b in finite.tolist())
    dots = {"stroke": colour, "stroke_width": 3.6, "stroke_linecap": "round", "fill": "none"}
    return make_tag("path", d=commands, **dots, stroke_opacity="0.55", class_=name)
