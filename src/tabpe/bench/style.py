"""How figures look: colours that colour-blind people can tell apart, and a marker for each method.

The colours are those of Okabe and Ito, with a few of Tol. Matplotlib is imported where it is used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any, Literal

from tabpe.bench.fields import REAL
from tabpe.errors import TabpeError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL = (2.35, 1.9)
SMALLEST_WIDTH = 3.4
DECADE = 10.0
ROOM_OF_A_LABEL = 0.11  # of the width of a panel
INK, SOFT, GRID = "#1f2933", "#52606d", "#e1e5ea"
SETTINGS = {
    "font.family": "DejaVu Sans",
    "font.size": 8.0,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8.0,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.3,
    "lines.markersize": 4.5,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "text.color": INK,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "svg.hashsalt": "tabpe",
}


@dataclass(frozen=True)
class Look:
    """How a series is drawn."""

    colour: str
    marker: str = "o"
    line: str = "-"
    order: int = 2

    @property
    def options(self) -> dict[str, Any]:
        """What matplotlib calls them."""
        return {
            "color": self.colour,
            "marker": self.marker,
            "linestyle": self.line,
            "zorder": self.order,
        }


_METHODS = {
    REAL: Look("#1f2933", "", "--", 1),
    "tabpe": Look("#d55e00", "o", "-", 4),
    "aim": Look("#0072b2", "s", "-", 3),
    "mst": Look("#56b4e9", "D", "-"),
    "privmrf": Look("#009e73", "^", "-"),
    "privgsd": Look("#cc79a7", "v", "-"),
    "rap++": Look("#e69f00", "P", "-"),
    "gem": Look("#882255", "X", "-"),
    "privsyn": Look("#7f7f7f", "<", "-."),
    "independent": Look("#b0b0b0", ".", ":"),
}
_OTHERS = tuple(
    Look(colour, marker)
    for colour, marker in zip(
        ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#882255", "#7f7f7f"),
        "os^DvPX<",
        strict=True,
    )
)


def looks(values: Sequence[Any]) -> dict[Any, Look]:
    """Return a look for each series; a method looks the same in every figure.

    Example:
        >>> looks(["aim", "real"])["aim"].colour == looks(["gem", "aim"])["aim"].colour
        True
    """
    others = cycle(_OTHERS)
    return {value: _METHODS.get(value) or next(others) for value in values}


@contextmanager
def styled() -> Iterator[None]:
    """Draw in the style of this module, and leave the settings of others alone.

    Raises:
        TabpeError: If matplotlib is not installed.
    """
    try:
        from matplotlib import style
    except ImportError:
        raise TabpeError("figures need matplotlib: pip install 'tabpe[bench]'.") from None
    # From the defaults, not from what a user has set: a figure is the same everywhere.
    with style.context(["default", SETTINGS]):
        yield


def panels(
    count: int, *, columns: int = 3, size: tuple[float, float] = PANEL, legend: int = 0
) -> tuple[Figure, list[Axes]]:
    """Return a figure with so many panels; places that are left over are empty.

    Args:
        count: How many.
        columns: How many beside each other at most.
        size: Of a panel, in inches.
        legend: How many entries the legend below will have.
    """
    from matplotlib.figure import Figure

    across = min(count, columns)
    down = -(-count // across)
    width = max(SMALLEST_WIDTH, size[0] * across)
    height = size[1] * down * (1.15 if count == 1 else 1.0) + 0.17 * -(-legend // 4)
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False).ravel()
    for spare in axes[count:]:
        spare.set_axis_off()
    return figure, list(axes[:count])


def legend_below(figure: Figure, axes: Sequence[Axes], *, scale: float = 1.0) -> None:
    """Put one legend for all panels below them, its markers so many times as large."""
    found: dict[str, Any] = {}
    for each in axes:
        handles, labels = each.get_legend_handles_labels()
        # Of a line with bars of error, the line.
        plain = [handle[0] if isinstance(handle, tuple) else handle for handle in handles]
        found |= dict(zip(labels, plain, strict=True))
    if len(found) > 1:
        wide = min(len(found), max(3, int(figure.get_figwidth() / 1.1)))
        below: dict[str, Any] = {"loc": "outside lower center", "ncols": wide}
        figure.legend(list(found.values()), list(found), markerscale=scale, **below)


def ticked(axes: Axes, values: Sequence[float], *, log: bool) -> None:
    """Put ticks at the values that were tried, on a logarithmic axis if wanted."""
    from matplotlib.ticker import FixedLocator, NullLocator

    if log:
        axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(list(values)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticklabels(labels_apart(values, log=log))


def labels_apart(values: Sequence[float], *, log: bool) -> list[str]:
    """Return labels of rising values, without those that would run into the one before.

    Example:
        >>> labels_apart([0.1, 0.2, 0.5, 2.0], log=False)
        ['0.1', '', '0.5', '2']
    """
    places = [math.log(value) if log else value for value in values]
    labels, last = [], -math.inf
    for value, place in zip(values, places, strict=True):
        apart = place - last >= ROOM_OF_A_LABEL * (places[-1] - places[0])
        labels.append(short(value) if apart else "")
        last = place if apart else last
    return labels


def logarithmic(axes: Axes, name: Literal["x", "y"]) -> None:
    """Make an axis logarithmic, at least a decade long, with ticks in plain numbers.

    Call it when all is drawn: it looks at the limits.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis = axes.xaxis if name == "x" else axes.yaxis
    (axes.set_xscale if name == "x" else axes.set_yscale)("log")
    low, high = axis.get_view_interval()
    missing = max(1.0, DECADE / (high / low)) ** 0.5
    axis.set_view_interval(low / missing, high * missing, ignore=True)
    steps = (1.0, 2.0, 5.0) if high / low < DECADE**2 else (1.0,)
    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))


def short(value: Any) -> str:
    """Return a number in few letters.

    Example:
        >>> short(35000), short(0.25), short(1500000)
        ('35k', '0.25', '1.5M')
    """
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return str(value)
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"
