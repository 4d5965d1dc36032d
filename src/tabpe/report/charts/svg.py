"""SVG as text: elements that escape what is put into them, scales, axes, and the picture."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from tabpe.report.text import number, shown

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
