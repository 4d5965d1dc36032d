"""What changes with something else: distances by the number of columns, rounds of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from tabpe.metrics.order import Order
from tabpe.metrics.wasserstein import KWay
from tabpe.report.charts import svg
from tabpe.report.charts.svg import REAL, SYNTHETIC, Chart, Scale, at

_WIDTH, _HEIGHT = 300, 210
_LEFT, _BOTTOM = 44, 160
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
    y = svg.across([distance for _, distance in known], _BOTTOM, 14)
    parts = [
        svg.left_axis(y, _LEFT, _WIDTH - 10),
        _whole_ticks(x, sorted({k for k, _ in known})),
        svg.text((_LEFT + _WIDTH) / 2, _BOTTOM + 34, "columns at once (k)", "middle"),
        _curve(under, x, y, REAL, dashed=True),
        _curve(over, x, y, SYNTHETIC),
    ]
    return svg.picture(_WIDTH, _HEIGHT, title, parts)


def depths(order: Order) -> Chart:
    """Return the accuracy of trees by their depth.

    Example:
        >>> depths(Order("ill", (2, 3), (0.7, 0.8), "some")).svg.count("<circle")
        2
    """
    points = list(zip(order.depths, order.accuracy, strict=True))
    x = _whole_scale(order.depths)
    lowest = min((v for v in order.accuracy if math.isfinite(v)), default=0.0)
    y = svg.across(order.accuracy, _BOTTOM, 14, floor=max(0.0, lowest - 0.05))
    parts = [
        svg.left_axis(y, _LEFT, _WIDTH - 10, unit="%"),
        _whole_ticks(x, order.depths),
        svg.text((_LEFT + _WIDTH) / 2, _BOTTOM + 34, "depth of the trees", "middle"),
        _curve(points, x, y, REAL),
    ]
    return svg.picture(_WIDTH, _HEIGHT, "Accuracy on real rows by depth of trees", parts)


def rounds(history: Sequence[Mapping[str, Any]], name: str) -> Chart:
    """Return one quantity of a run, round by round; rounds that rank are shaded.

    Example:
        >>> rounds([{"round": 1, "sigma": 2.0}], "sigma").svg.count("<circle")
        1
    """
    width, height, bottom = 300, 150, 118
    points = [(place + 1, _number(step.get(name))) for place, step in enumerate(history)]
    x = Scale(0.5, max(1, len(history)) + 0.5, 52, width - 8)
    y = svg.across([value for _, value in points], bottom, 10)
    ranking = [place for place, step in enumerate(history) if step.get("selection") == "ranking"]
    shade = Markup().join(
        svg.box(x(k + 0.5), 10, x(k + 1.5) - x(k + 0.5), bottom - 10, fill=REAL, fill_opacity="0.1")
        for k in ranking
    )
    parts = [
        shade,
        svg.left_axis(y, 52, width - 8, 3),
        Markup().join(
            svg.text(x(k), bottom + 15, int(k), "middle")
            for k in Scale(1, max(2, len(history)), 0, 1).ticks(6)
            if k.is_integer()
        ),
        _curve(points, x, y, SYNTHETIC),
    ]
    return svg.picture(width, height, f"{name.replace('_', ' ')} by round", parts)


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
    return Scale(low - 0.3, high + 0.3, _LEFT, _WIDTH - 10)


def _whole_ticks(x: Scale, values: Sequence[int]) -> Markup:
    return Markup().join(svg.text(x(k), _BOTTOM + 16, k, "middle") for k in values)


def _curve(points: Points, x: Scale, y: Scale, colour: str, *, dashed: bool = False) -> Markup:
    places = [(x(a), y(b)) for a, b in points if math.isfinite(b)]
    if not places:
        return Markup()
    dots = [svg.tag("circle", cx=a, cy=b, r=3.5, fill=colour) for a, b in places]
    commands = "L".join(at(a, b) for a, b in places)
    dashes = "5 4" if dashed else None
    drawn = {"fill": "none", "stroke": colour, "stroke_width": 2, "stroke_dasharray": dashes}
    return Markup().join([svg.path([f"M{commands}"], **drawn), *dots])
