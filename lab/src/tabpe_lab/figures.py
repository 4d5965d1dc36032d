"""Figures of experiments, as SVG or PNG: the same runs give the same file.

How figures look: colours that colour-blind people can tell apart, and a marker for each method.

The colours are those of Okabe and Ito, with a few of Tol. Matplotlib is imported where it is used.

Figures of measures: lines, bars, and a marker for each setting.

Figures of what is kept beside the records: rows and measures of single rounds, rows as pictures.

What is kept of a run is a mapping: `rows` and `real_rows` by column, the label last, and `rounds`,
by number, each with its `rows` and `metrics`.

Figures of many settings: what a search found, how settings rank, how mutation rates fall.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from tabpe._utils import files, serialization
from tabpe.errors import ArchiveError, OutputError, ParameterError, TabpeError
from tabpe.evolution import Evolution
from tabpe.evolution.private_evolution import mutation_rate
from tabpe_lab.exhibits import (
    METHODS,
    REAL,
    FigureEntry,
    Measure,
    NothingDoneError,
    keep_records,
    label_of,
    measure,
    ordered,
    title_of,
    value_of,
)
from tabpe_lab.methods import evolution_only, strategy_in
from tabpe_lab.records import FOLDER, Record, extra_path
from tabpe_lab.summary import DONE, Spread, grouped, summaries, summary_of

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
        raise TabpeError("figures need matplotlib: pip install matplotlib.") from None
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


Points = Mapping[Any, Mapping[Any, Spread]]
BAR = 0.68
MOST_TICKS = 8
MOST_ACROSS = 3
LONG_NAME = 9


def lines(entry: FigureEntry, records: Sequence[Record]) -> Figure:
    """Draw measures against a field: a line for each series, a panel for each measure and data."""
    series = ordered(value_of(run, entry.by) for run in records)
    faces, groups = looks(series), _by_panel(entry, records)
    figure, axes = panels(len(groups) * len(entry.y), columns=_columns(entry), legend=len(series))
    places = [(value, name) for value in groups for name in entry.y]
    for place, (value, name) in zip(axes, places, strict=True):
        fields = (entry.by, entry.x)
        found = summaries(groups[value], fields, entry.y, where=entry.name)
        points: dict[Any, dict[Any, Spread]] = {each: {} for each in series}
        for (each, x), summary in found.items():
            if name in summary.values:
                points[each][x] = summary.values[name]
        draw_lines(place, points, faces, _namer(entry.by), measure(name), log=entry.log)
        _finish(place, entry, value, measure(name))
        place.set_xlabel(title_of(entry.x))
    legend_below(figure, axes)
    return figure


def draw_lines(
    place: Axes,
    points: Points,
    faces: Mapping[Any, Look],
    namer: Callable[[Any], str],
    shown: Measure,
    *,
    log: Sequence[str] = (),
) -> None:
    """Draw series with their spread; one that has no x is a level line."""
    climbs = "y" in log and not shown.percent
    if climbs:
        points = {each: _above_zero(values) for each, values in points.items()}
    xs = ordered(x for each in points.values() for x in each if x is not None)
    numeric = all(isinstance(x, (int, float)) for x in xs)
    at = {x: x if numeric else place_of for place_of, x in enumerate(xs)}
    for each, values in points.items():
        if None in values:
            _level(place, values[None], shown, faces[each], namer(each))
        known = {at[x]: values[x] for x in xs if x in values}
        if known:
            _line(place, known, shown, faces[each], namer(each))
    if climbs:
        logarithmic(place, "y")
    if not xs:
        return
    if not numeric:
        place.set_xticks(list(at.values()), [short(x) for x in xs])
    elif len(xs) <= MOST_TICKS or "x" in log:
        ticked(place, xs, log="x" in log and min(xs) > 0)


def _line(
    place: Axes, values: Mapping[float, Spread], shown: Measure, face: Look, name: str
) -> None:
    means = [shown.scale * spread.mean for spread in values.values()]
    errors = [shown.scale * (spread.std or 0.0) for spread in values.values()]
    style = {"label": name, "capsize": 2, "elinewidth": 0.8, **face.options}
    place.errorbar(list(values), means, errors, **style)


def _level(place: Axes, spread: Spread, shown: Measure, face: Look, name: str) -> None:
    height = shown.scale * spread.mean
    place.axhline(height, color=face.colour, linestyle="--", linewidth=1, label=name)


def _above_zero(values: Mapping[Any, Spread]) -> dict[Any, Spread]:
    """Return what a logarithmic axis can show: real rows take no time at all."""
    return {x: spread for x, spread in values.items() if spread.mean > 0}


def bars(entry: FigureEntry, records: Sequence[Record]) -> Figure:
    """Draw measures of few settings as bars: a panel for each measure and data."""
    series = ordered(value_of(run, entry.by) for run in records)
    faces, groups, namer = looks(series), _by_panel(entry, records), _namer(entry.by)
    figure, axes = panels(len(groups) * len(entry.y), columns=_columns(entry))
    places = [(value, name) for value in groups for name in entry.y]
    for place, (value, name) in zip(axes, places, strict=True):
        shown = measure(name)
        found = summaries(groups[value], (entry.by,), entry.y, where=entry.name)
        for at, each in enumerate(series):
            summary = found.get((each,))
            spread = None if summary is None else summary.values.get(name)
            if spread is not None:
                _bar(place, at, spread, faces[each].colour, shown)
        place.set_xticks(range(len(series)), [_wrapped(namer(each)) for each in series])
        place.set_xlim(-0.6, len(series) - 0.4)
        place.grid(visible=False, axis="x")
        place.margins(y=0.14)
        _finish(place, entry, value, shown)
    return figure


def _bar(place: Axes, at: int, spread: Spread, colour: str, shown: Measure) -> None:
    height = shown.scale * spread.mean
    error = None if spread.std is None else shown.scale * spread.std
    style: dict[str, Any] = {"ecolor": SOFT, "error_kw": {"elinewidth": 0.9, "capsize": 2}}
    place.bar(at, height, BAR, yerr=error, color=colour, alpha=0.85, **style)
    top = height + (error or 0.0)
    text = f"{height:.1f}" if shown.percent else f"{height:.3g}"
    place.annotate(text, (at, top), (0, 2), textcoords="offset points", ha="center", fontsize=7)


def scatter(entry: FigureEntry, records: Sequence[Record]) -> Figure:
    """Draw one measure against another: a marker for each setting of a method, with its value."""
    across, up = measure(entry.x), measure(entry.y[0])
    series = ordered(value_of(run, entry.by) for run in records)
    faces, groups, namer = looks(series), _by_panel(entry, records), _namer(entry.by)
    figure, axes = panels(len(groups), size=(3.2, 2.5), legend=len(series))
    for place, (value, runs) in zip(axes, groups.items(), strict=True):
        for each, own in grouped(runs, lambda run: value_of(run, entry.by)).items():
            spread = summary_of(own, [up.name]).values.get(up.name)
            if own[0].method == REAL and spread is not None:
                _level(place, spread, up, faces[each], namer(each))
            else:
                _markers(place, own, (across, up), faces[each], namer(each))
        if "x" in entry.log:
            logarithmic(place, "x")
        place.set_xlabel(f"{across.title} ({across.unit})" if across.unit else across.title)
        _finish(place, entry, value, up)
    legend_below(figure, axes)
    return figure


def _markers(
    place: Axes, runs: Sequence[Record], measures: tuple[Measure, Measure], face: Look, name: str
) -> None:
    found = []
    for settings, same in grouped(runs, lambda run: tuple(run.settings.items())).items():
        values = summary_of(same, [each.name for each in measures]).values
        if all(each.name in values for each in measures):
            x, y = (each.scale * values[each.name].mean for each in measures)
            found.append((x, y, dict(settings).get("degree")))
    if not found:
        return
    style = face.options | {"linewidth": 0.8}
    place.plot([x for x, _, _ in found], [y for _, y, _ in found], label=name, **style)
    for x, y, degree in found:
        if degree is not None:
            offset: dict[str, Any] = {"xytext": (3.5, 2.5), "textcoords": "offset points"}
            place.annotate(str(degree), (x, y), fontsize=6.5, color=SOFT, **offset)


def _by_panel(entry: FigureEntry, records: Sequence[Record]) -> dict[Any, list[Record]]:
    if not entry.panel:
        return {None: list(records)}
    return grouped(records, lambda run: value_of(run, entry.panel))


def _columns(entry: FigureEntry) -> int:
    """Measures of one data set stand beside each other; without, panels do."""
    return len(entry.y) if 1 < len(entry.y) <= MOST_ACROSS else MOST_ACROSS


def _namer(field: str) -> Callable[[Any], str]:
    return lambda value: label_of(field, value)


def _wrapped(text: str) -> str:
    return text.replace("-", "-\n").replace(" ", "\n") if len(text) > LONG_NAME else text


def _finish(place: Axes, entry: FigureEntry, value: Any, shown: Measure) -> None:
    if entry.chance is not None and shown.better == "higher":
        level = shown.scale * entry.chance
        place.axhline(level, color=SOFT, linestyle=":", linewidth=1, zorder=1, label="Chance")
    unit = "%" if shown.percent else shown.unit
    place.set_ylabel(f"{shown.title} ({unit})" if unit else shown.title)
    if entry.panel:
        place.set_title(label_of(entry.panel, value))


Extra = Mapping[str, Any]
Extras = Callable[[Record], Extra | None]
DOTS = 600
SAMPLES = 3
GAP = 1


def progress(entry: FigureEntry, records: Sequence[Record], extras: Extras) -> Figure:
    """Draw measures of single rounds: a line for each series, a panel for each measure."""
    by = entry.by
    found = _kept(entry, records, extras, "rounds")
    series = ordered(value_of(run, by) for run, _ in found)
    figure, axes = panels(len(entry.y), columns=len(entry.y), legend=len(series))
    for place, name in zip(axes, entry.y, strict=True):
        shown = measure(name)
        points = {each: _by_round(found, by, each, name) for each in series}
        draw_lines(place, points, looks(series), lambda value: label_of(by, value), shown)
        place.set_xlabel("round")
        place.set_ylabel(f"{shown.title} (%)" if shown.percent else shown.title)
    legend_below(figure, axes)
    return figure


def rounds(entry: FigureEntry, records: Sequence[Record], extras: Extras) -> Figure:
    """Draw the first two columns of the rows of each round, coloured by the label."""
    _, kept = _kept(entry, records, extras, "rounds")[0]
    shown = {
        f"round {number}" if int(number) else "random rows": part["rows"]
        for number, part in sorted(kept["rounds"].items(), key=lambda pair: int(pair[0]))
    }
    if "real_rows" in kept:
        shown[METHODS[REAL].lower()] = kept["real_rows"]
    figure, axes = panels(len(shown), columns=min(4, len(shown)), size=(1.65, 1.65))
    (across, up), label = list(next(iter(shown.values())))[:2], _label(next(iter(shown.values())))
    faces = looks(ordered(value for rows in shown.values() for value in rows[label]))
    for place, (title, rows) in zip(axes, shown.items(), strict=True):
        for value, face in faces.items():
            chosen = [n for n in _spread(len(rows[label])) if rows[label][n] == value]
            xs, ys = ([rows[name][n] for n in chosen] for name in (across, up))
            style: dict[str, Any] = {
                "s": 5,
                "linewidths": 0,
                "alpha": 0.75,
                "label": f"{label} {value}",
            }
            place.scatter(xs, ys, color=face.colour, marker=face.marker, **style)
        place.set_title(title)
        place.set_box_aspect(1)
        place.set_xticks([])
        place.set_yticks([])
        place.grid(visible=False)
        place.spines[["top", "right"]].set_visible(True)
    limits = [axis.get_xlim() + axis.get_ylim() for axis in axes]
    for place in axes:
        place.set_xlim(min(each[0] for each in limits), max(each[1] for each in limits))
        place.set_ylim(min(each[2] for each in limits), max(each[3] for each in limits))
    legend_below(figure, axes, scale=2.0)
    return figure


def images(entry: FigureEntry, records: Sequence[Record], extras: Extras) -> Figure:
    """Draw rows as square pictures: a few of each class, for the real rows and each series."""
    by = entry.by
    found = _kept(entry, records, extras, "rows")
    strips = {METHODS[REAL]: found[0][1].get("real_rows", found[0][1]["rows"])}
    for run, kept in found:
        if run.method != REAL:
            strips.setdefault(label_of(by, value_of(run, by)), kept["rows"])
    classes = ordered(next(iter(strips.values()))[_label(next(iter(strips.values())))])
    classes = sorted(classes, key=str)
    figure, axes = panels(len(strips), columns=1, size=(3.6, 1.08))
    for place, (title, rows) in zip(axes, strips.items(), strict=True):
        _strip(place, mosaic(rows, classes), title)
    return figure


def mosaic(rows: Mapping[str, Sequence[Any]], classes: Sequence[Any]) -> NDArray[np.float64]:
    """Return pictures side by side: a column for each class, a few rows of it below each other.

    Args:
        rows: Pixels by column, row by row of the picture, and the label last.
        classes: Which classes, in which order; one that has too few rows is filled up with white.

    Example:
        >>> rows = {"a": [0, 9], "b": [0, 9], "c": [0, 9], "d": [0, 9], "y": [0, 1]}
        >>> mosaic(rows, [0, 1]).shape
        (8, 5)
    """
    names = [name for name in rows if name != _label(rows)]
    side = math.isqrt(len(names))
    if side * side != len(names):
        raise ParameterError(f"kind='images': {len(names)} columns are no square picture.")
    pixels = np.array([rows[name] for name in names], dtype=np.float64).T
    labels = list(rows[_label(rows)])
    step = side + GAP
    page = np.full((SAMPLES * step - GAP, len(classes) * step - GAP), np.nan)
    for across, value in enumerate(classes):
        chosen = [n for n, own in enumerate(labels) if own == value][:SAMPLES]
        for down, row in enumerate(chosen):
            top, left = down * step, across * step
            page[top : top + side, left : left + side] = pixels[row].reshape(side, side)
    return page


def draw_depths(found: Mapping[str, Mapping[int, float]]) -> Figure:
    """Draw accuracy by the depth of trees, a panel for each data set.

    Args:
        found: For each data set, the accuracy of each depth.
    """
    shown = measure("accuracy")
    figure, axes = panels(len(found), columns=3, size=(2.1, 1.6))
    (face,) = looks(["aim"]).values()
    for place, (title, accuracy) in zip(axes, found.items(), strict=True):
        heights = [shown.scale * each for each in accuracy.values()]
        place.plot(list(accuracy), heights, **face.options)
        middle, reach = (max(heights) + min(heights)) / 2, max(heights) - min(heights)
        # At least four points high: small differences shall look small.
        half = max(reach, 4.0) * 0.6
        place.set_ylim(middle - half, middle + half)
        place.set_xticks(list(accuracy))
        gap = f"gap {max(heights) - heights[0]:.1f}"
        place.annotate(gap, (0.98, 0.06), xycoords="axes fraction", ha="right", color=SOFT)
        place.set_title(title)
        place.set_xlabel("depth of trees")
        place.set_ylabel(f"{shown.title} (%)")
    return figure


def _strip(place: Axes, page: NDArray[np.float64], title: str) -> None:
    place.imshow(page, cmap="gray_r", vmin=0, interpolation="nearest")
    place.set_xticks([])
    place.set_yticks([])
    place.grid(visible=False)
    place.spines[:].set_visible(False)
    place.set_ylabel(title, rotation=0, ha="right", va="center")


def _spread(count: int) -> range:
    """Return places of at most so many rows as can be told apart: rows may be sorted by class."""
    return range(0, count, max(1, -(-count // DOTS)))


def _label(rows: Mapping[str, Any]) -> str:
    return list(rows)[-1]


def _by_round(
    found: Sequence[tuple[Record, Extra]], by: str, each: Any, name: str
) -> dict[int, Spread]:
    values: dict[int, list[float]] = {}
    for run, kept in found:
        if value_of(run, by) == each:
            for number, part in kept["rounds"].items():
                if name in part["metrics"]:
                    values.setdefault(int(number), []).append(part["metrics"][name])
    return {number: Spread.of(own) for number, own in values.items()}


def _kept(
    entry: FigureEntry, records: Sequence[Record], extras: Extras, key: str
) -> list[tuple[Record, Extra]]:
    """Return runs with what is kept beside them, those of each series by seed."""
    runs = [run for run in records if run.status == DONE]
    pairs = ((run, extras(run)) for own in grouped(runs, lambda r: r.seed).values() for run in own)
    found = [(run, kept) for run, kept in pairs if kept is not None and key in kept]
    if not found:
        raise NothingDoneError(
            f"{entry.name}: no run has its {key} beside it: run the experiment with "
            f"keep: [{key}] first."
        )
    return found


COLOURS = "viridis"
FAN = 0.3
AGREEMENT = "rank correlation"


def search(entry: FigureEntry, records: Sequence[Record]) -> Figure:
    """Draw a line through the values of each setting and its result, coloured by the result."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    shown = measure(entry.y[0])
    results = sorted(_results(records, entry.y[0]), key=lambda pair: pair[1])
    values = [shown.scale * value for _, value in results]
    figure, (place,) = panels(1, size=(7.0, 2.7))
    axes = [(name, ordered(value_of(run, name) for run in records)) for name in entry.axes]
    norm = Normalize(min(values, default=0), max(values, default=1) + 1e-9)
    colours = colormaps[COLOURS]
    for rank, (run, _) in enumerate(results):
        fan = FAN * (2 * rank / max(1, len(results) - 1) - 1)
        heights = [_height(options, value_of(run, name), fan) for name, options in axes]
        heights.append(float(norm(values[rank])))
        colour = colours(float(norm(values[rank])))
        place.plot(range(len(heights)), heights, color=colour, linewidth=0.8, alpha=0.85)
    for at, (name, options) in enumerate(axes):
        for option in options:
            box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.8}
            text = label_of(name, option)
            place.annotate(
                text, (at, _height(options, option, 0)), ha="center", va="center", bbox=box
            )
    place.set_xticks(range(len(axes) + 1), [*(title_of(name) for name, _ in axes), shown.title])
    place.tick_params(axis="x", length=0, labelsize=8)
    place.set_yticks([])
    place.grid(visible=False, axis="y")
    place.spines[["left", "bottom"]].set_visible(False)
    bar = figure.colorbar(ScalarMappable(norm, COLOURS), ax=place, pad=0.01, aspect=25)
    bar.set_label(f"{shown.title} (%)" if shown.percent else shown.title)
    bar.outline.set_visible(False)
    return figure


def ranking(entry: FigureEntry, records: Sequence[Record]) -> Figure:
    """Draw how settings rank at each x, coloured by their rank at the first."""
    from matplotlib import colormaps
    from matplotlib.ticker import MaxNLocator

    columns = {
        x: _ranks([run for run in records if value_of(run, entry.x) == x], entry)
        for x in ordered(value_of(run, entry.x) for run in records)
    }
    columns = {x: ranks for x, ranks in columns.items() if ranks}
    figure, (place,) = panels(1, size=(7.0, 2.7))
    first = next(iter(columns.values()), {})
    colours = colormaps[COLOURS]
    for setting, rank in sorted(first.items(), key=lambda pair: -pair[1]):
        known = [at for at, ranks in enumerate(columns.values()) if setting in ranks]
        heights = [ranks[setting] for ranks in columns.values() if setting in ranks]
        colour = colours(1 - rank / max(1, len(first) - 1))
        place.plot(known, heights, color=colour, linewidth=0.9, alpha=0.9)
    labels = [
        f"{title_of(entry.x)} {label_of(entry.x, x)}" + _agreement(first, ranks, is_first=not at)
        for at, (x, ranks) in enumerate(columns.items())
    ]
    place.set_xticks(range(len(columns)), labels)
    place.set_xlim(-0.05, len(columns) - 0.95)
    place.invert_yaxis()
    place.yaxis.set_major_locator(MaxNLocator(integer=True))
    place.grid(visible=False, axis="y")
    place.set_ylabel(f"rank by {measure(entry.y[0]).title.lower()} (0 is best)")
    return figure


def schedules(entry: FigureEntry, records: Sequence[Record]) -> Figure:
    """Draw the mutation rate of each round, for each setting of the evolution that runs have."""
    found: dict[Any, Evolution] = {}
    for run in records:
        config = evolution_only(strategy_in(run.settings), "kind: schedules")
        found.setdefault(value_of(run, entry.by), config)
    figure, (place,) = panels(1, legend=len(found))
    for value, face in looks(ordered(found)).items():
        config = found[value]
        rates = [mutation_rate(config, index) for index in range(config.rounds)]
        rounds = range(1, config.rounds + 1)
        place.plot(rounds, rates, label=label_of(entry.by, value), **face.options)
    place.set_xlabel("round")
    place.set_ylabel("mutation rate")
    place.set_ylim(bottom=0)
    legend_below(figure, [place])
    return figure


def _results(records: Sequence[Record], name: str) -> list[tuple[Record, float]]:
    """Return a run of each setting, with the mean of a measure over its seeds."""
    groups = grouped(records, lambda run: json.dumps(run.settings, sort_keys=True))
    pairs = ((runs[0], summary_of(runs, [name]).values.get(name)) for runs in groups.values())
    return [(run, spread.mean) for run, spread in pairs if spread is not None]


def _height(options: Sequence[Any], value: Any, fan: float) -> float:
    return (options.index(value) + 0.5 + fan) / len(options)


def _ranks(records: Sequence[Record], entry: FigureEntry) -> dict[str, int]:
    sign = -1 if measure(entry.y[0]).better == "higher" else 1
    results = sorted(_results(records, entry.y[0]), key=lambda pair: sign * pair[1])
    return {json.dumps(run.settings, sort_keys=True): rank for rank, (run, _) in enumerate(results)}


def _agreement(first: Mapping[str, int], ranks: Mapping[str, int], *, is_first: bool) -> str:
    """Return how far two rankings agree, as Spearman's correlation."""
    common = [name for name in first if name in ranks]
    if is_first or len(common) < 3:  # noqa: PLR2004 (two always agree or disagree wholly)
        return ""
    from scipy.stats import spearmanr

    found = spearmanr([first[name] for name in common], [ranks[name] for name in common])
    return f"\n({AGREEMENT} {found.statistic:.2f})"


ENDINGS = (".svg", ".png")
DEPTHS = "order"
_OF_RECORDS: Mapping[str, Callable[[FigureEntry, Sequence[Record]], Figure]] = {
    "lines": lines,
    "bars": bars,
    "scatter": scatter,
    "search": search,
    "ranking": ranking,
    "schedules": schedules,
}
_OF_EXTRAS: Mapping[str, Callable[[FigureEntry, Sequence[Record], Extras], Figure]] = {
    "progress": progress,
    "rounds": rounds,
    "images": images,
}
_NEED_NO_RUNS = ("schedules",)


def figure_of(
    entry: FigureEntry,
    records: Sequence[Record],
    *,
    folder: Path = FOLDER,
    depths: Mapping[str, Mapping[int, float]] | None = None,
) -> bytes:
    """Return a figure of runs as SVG.

    Args:
        entry: What it shall show.
        records: The runs; those that are not done are left out.
        folder: Where what is kept beside them is.
        depths: For a figure of kind `order`, the accuracy of each depth for each data set.

    Raises:
        NothingDoneError: If no run is done that it could show.
    """
    return _written(entry, records, folder, depths, "svg")


def save_figure(
    entry: FigureEntry,
    records: Sequence[Record],
    path: Path,
    *,
    folder: Path = FOLDER,
    depths: Mapping[str, Mapping[int, float]] | None = None,
) -> None:
    """Write a figure of runs to a file, whole or not at all: SVG or PNG, by its ending.

    Raises:
        OutputError: If the file ends in anything else.
        NothingDoneError: If no run is done that it could show.
    """
    if path.suffix not in ENDINGS:
        raise OutputError(f"{path}: a figure ends in {' or '.join(ENDINGS)}.")
    content = _written(entry, records, folder, depths, path.suffix[1:])

    def fill(file: BinaryIO) -> None:
        file.write(content)

    files.write(path, fill)


def _written(
    entry: FigureEntry,
    records: Sequence[Record],
    folder: Path,
    depths: Mapping[str, Mapping[int, float]] | None,
    kind: str,
) -> bytes:
    target = io.BytesIO()
    with styled():
        figure = _drawn(entry, records, folder, depths)
        figure.savefig(target, format=kind, metadata=_metadata(entry, kind), bbox_inches="tight")
    return target.getvalue()


def _drawn(
    entry: FigureEntry,
    records: Sequence[Record],
    folder: Path,
    depths: Mapping[str, Mapping[int, float]] | None,
) -> Figure:
    if entry.kind == DEPTHS:
        return draw_depths(depths or {})
    wanted = keep_records(records, entry.where)
    shown = wanted if entry.kind in _NEED_NO_RUNS else [r for r in wanted if r.status == DONE]
    if not shown:
        raise NothingDoneError(f"{entry.name}: no run is done that it could show: run them first.")
    if entry.kind in _OF_RECORDS:
        return _OF_RECORDS[entry.kind](entry, shown)
    return _OF_EXTRAS[entry.kind](entry, shown, lambda record: _extra(record, folder))


def _metadata(entry: FigureEntry, kind: str) -> dict[str, Any]:
    """Return what the file says of itself: no date and no version, or it would change each time."""
    if kind == "svg":
        return {"Title": entry.title, "Date": None, "Creator": None}
    return {"Title": entry.title, "Software": None}


def _extra(record: Record, folder: Path) -> Extra | None:
    path = extra_path(record, folder)
    if path is None or not path.is_file():
        return None
    try:
        found = serialization.strict_json(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ArchiveError(f"{path}: not what is kept beside a record ({error}).") from None
    return found if isinstance(found, Mapping) else None


def read_depths(path: Path) -> dict[str, dict[int, float]]:
    """Return the accuracy of each depth for each data set, from a file; nothing without one."""
    if not path.is_file():
        return {}
    plain = serialization.strict_json(path.read_text(encoding="utf-8"))
    return {
        name: {int(depth): float(value) for depth, value in own.items()}
        for name, own in plain.items()
    }


def write_depths(path: Path, found: Mapping[str, Mapping[int, float]]) -> None:
    """Write the accuracy of each depth for each data set to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write_text(path, json.dumps(found, indent=1) + "\n")
