"""Figures of experiments, as SVG or PNG: the same runs give the same file.

Three kinds: metrics of records (lines, bars, scatter), rows and metrics of single rounds that are
kept beside records, and comparisons of many settings (search, ranking, schedules). The file beside
a record is a mapping: `rows` and `real_rows` by column, the label last, and `rounds`, by number,
each with its `rows` and `metrics`.

The colours are those of Okabe and Ito, with a few of Tol, which colour-blind people can
distinguish; each method has one marker everywhere. Matplotlib is imported where it is used.
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
from tabpe.evolution.private_evolution import compute_mutation_rate
from tabpe_lab.exhibits import (
    METHODS,
    REAL,
    DisplayMetric,
    FigureEntry,
    NothingDoneError,
    find_metric,
    format_label,
    get_field_value,
    get_title,
    keep_records,
    sort_distinct,
)
from tabpe_lab.methods import parse_strategy, require_evolution
from tabpe_lab.records import FOLDER, RunRecord, get_extra_path
from tabpe_lab.summary import DONE, SeedStatistics, group_records, summarize_groups, summarize_runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


PANEL = (2.35, 1.9)
SMALLEST_WIDTH = 3.4
DECADE = 10.0
LABEL_WIDTH = 0.11  # of the width of a panel
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
class SeriesStyle:
    """How a series is drawn."""

    colour: str
    marker: str = "o"
    line: str = "-"
    order: int = 2

    @property
    def options(self) -> dict[str, Any]:
        """The keyword arguments of matplotlib."""
        return {
            "color": self.colour,
            "marker": self.marker,
            "linestyle": self.line,
            "zorder": self.order,
        }


_METHODS = {
    REAL: SeriesStyle("#1f2933", "", "--", 1),
    "tabpe": SeriesStyle("#d55e00", "o", "-", 4),
    "aim": SeriesStyle("#0072b2", "s", "-", 3),
    "mst": SeriesStyle("#56b4e9", "D", "-"),
    "privmrf": SeriesStyle("#009e73", "^", "-"),
    "privgsd": SeriesStyle("#cc79a7", "v", "-"),
    "rap++": SeriesStyle("#e69f00", "P", "-"),
    "gem": SeriesStyle("#882255", "X", "-"),
    "privsyn": SeriesStyle("#7f7f7f", "<", "-."),
    "independent": SeriesStyle("#b0b0b0", ".", ":"),
}
_OTHERS = tuple(
    SeriesStyle(colour, marker)
    for colour, marker in zip(
        ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#882255", "#7f7f7f"),
        "os^DvPX<",
        strict=True,
    )
)


def assign_styles(values: Sequence[Any]) -> dict[Any, SeriesStyle]:
    """Return a style for each series; a method has the same one in every figure.

    Example:
        >>> assign_styles(["aim", "real"])["aim"] == assign_styles(["gem", "aim"])["aim"]
        True
    """
    others = cycle(_OTHERS)
    return {value: _METHODS.get(value) or next(others) for value in values}


@contextmanager
def use_style() -> Iterator[None]:
    """Draw in the style of this module, and restore the settings after.

    Raises:
        TabpeError: If matplotlib is not installed.
    """
    try:
        from matplotlib import style
    except ImportError:
        raise TabpeError("figures need matplotlib: pip install matplotlib.") from None
    # From the defaults, not from the user's settings: a figure is the same everywhere.
    with style.context(["default", SETTINGS]):
        yield


def make_panels(
    count: int, *, columns: int = 3, size: tuple[float, float] = PANEL, legend: int = 0
) -> tuple[Figure, list[Axes]]:
    """Return a figure with `count` panels.

    Args:
        count: Number of panels.
        columns: The most panels beside each other.
        size: Size of a panel, in inches.
        legend: Number of entries of the legend below.
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


def add_legend_below(figure: Figure, axes: Sequence[Axes], *, scale: float = 1.0) -> None:
    """Put one legend for all panels below them, with markers scaled by a factor."""
    found: dict[str, Any] = {}
    for each in axes:
        handles, labels = each.get_legend_handles_labels()
        # The line of a line with error bars.
        plain = [handle[0] if isinstance(handle, tuple) else handle for handle in handles]
        found |= dict(zip(labels, plain, strict=True))
    if len(found) > 1:
        wide = min(len(found), max(3, int(figure.get_figwidth() / 1.1)))
        below: dict[str, Any] = {"loc": "outside lower center", "ncols": wide}
        figure.legend(list(found.values()), list(found), markerscale=scale, **below)


def set_ticks(axes: Axes, values: Sequence[float], *, log: bool) -> None:
    """Put ticks at the given values, on a logarithmic axis if wanted."""
    from matplotlib.ticker import FixedLocator, NullLocator

    if log:
        axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(list(values)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticklabels(make_spaced_labels(values, log=log))


def make_spaced_labels(values: Sequence[float], *, log: bool) -> list[str]:
    """Return labels of rising values, without those that would overlap the one before.

    Example:
        >>> make_spaced_labels([0.1, 0.2, 0.5, 2.0], log=False)
        ['0.1', '', '0.5', '2']
    """
    positions = [math.log(value) if log else value for value in values]
    labels, last = [], -math.inf
    for value, position in zip(values, positions, strict=True):
        apart = position - last >= LABEL_WIDTH * (positions[-1] - positions[0])
        labels.append(format_short(value) if apart else "")
        last = position if apart else last
    return labels


def make_logarithmic(axes: Axes, name: Literal["x", "y"]) -> None:
    """Make an axis logarithmic, at least a decade long, with ticks in plain numbers.

    Call it after drawing: it reads the limits.
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
    axis.set_major_formatter(FuncFormatter(lambda value, _: format_short(value)))


def format_short(value: Any) -> str:
    """Return a number in few characters.

    Example:
        >>> format_short(35000), format_short(0.25), format_short(1500000)
        ('35k', '0.25', '1.5M')
    """
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return str(value)
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


Points = Mapping[Any, Mapping[Any, SeedStatistics]]
BAR = 0.68
MAX_TICKS = 8
MAX_COLUMNS = 3
LONG_NAME = 9


def plot_lines(entry: FigureEntry, records: Sequence[RunRecord]) -> Figure:
    """Draw metrics against a field: a line for each series, a panel for each metric and data."""
    series = sort_distinct(get_field_value(run, entry.by) for run in records)
    styles, groups = assign_styles(series), _group_by_panel(entry, records)
    figure, axes = make_panels(
        len(groups) * len(entry.y), columns=_count_columns(entry), legend=len(series)
    )
    places = [(value, name) for value in groups for name in entry.y]
    for place, (value, name) in zip(axes, places, strict=True):
        fields = (entry.by, entry.x)
        found = summarize_groups(groups[value], fields, entry.y, where=entry.name)
        points: dict[Any, dict[Any, SeedStatistics]] = {each: {} for each in series}
        for (each, x), summary in found.items():
            if name in summary.values:
                points[each][x] = summary.values[name]
        draw_lines(place, points, styles, _make_namer(entry.by), find_metric(name), log=entry.log)
        _finish_panel(place, entry, value, find_metric(name))
        place.set_xlabel(get_title(entry.x))
    add_legend_below(figure, axes)
    return figure


def draw_lines(
    axes: Axes,
    points: Points,
    styles: Mapping[Any, SeriesStyle],
    namer: Callable[[Any], str],
    metric: DisplayMetric,
    *,
    log: Sequence[str] = (),
) -> None:
    """Draw series with their deviations; one without an x is a horizontal line."""
    climbs = "y" in log and not metric.percent
    if climbs:
        points = {each: _keep_positive(values) for each, values in points.items()}
    xs = sort_distinct(x for each in points.values() for x in each if x is not None)
    numeric = all(isinstance(x, (int, float)) for x in xs)
    at = {x: x if numeric else place_of for place_of, x in enumerate(xs)}
    for each, values in points.items():
        if None in values:
            _draw_level(axes, values[None], metric, styles[each], namer(each))
        known = {at[x]: values[x] for x in xs if x in values}
        if known:
            _draw_line(axes, known, metric, styles[each], namer(each))
    if climbs:
        make_logarithmic(axes, "y")
    if not xs:
        return
    if not numeric:
        axes.set_xticks(list(at.values()), [format_short(x) for x in xs])
    elif len(xs) <= MAX_TICKS or "x" in log:
        set_ticks(axes, xs, log="x" in log and min(xs) > 0)


def _draw_line(
    axes: Axes,
    values: Mapping[float, SeedStatistics],
    metric: DisplayMetric,
    style: SeriesStyle,
    name: str,
) -> None:
    means = [metric.scale * spread.mean for spread in values.values()]
    errors = [metric.scale * (spread.std or 0.0) for spread in values.values()]
    options = {"label": name, "capsize": 2, "elinewidth": 0.8, **style.options}
    axes.errorbar(list(values), means, errors, **options)


def _draw_level(
    axes: Axes, spread: SeedStatistics, metric: DisplayMetric, style: SeriesStyle, name: str
) -> None:
    height = metric.scale * spread.mean
    axes.axhline(height, color=style.colour, linestyle="--", linewidth=1, label=name)


def _keep_positive(values: Mapping[Any, SeedStatistics]) -> dict[Any, SeedStatistics]:
    """Return positive values, which a logarithmic axis can show: real rows take no time."""
    return {x: spread for x, spread in values.items() if spread.mean > 0}


def plot_bars(entry: FigureEntry, records: Sequence[RunRecord]) -> Figure:
    """Draw metrics of few settings as bars: a panel for each metric and data."""
    series = sort_distinct(get_field_value(run, entry.by) for run in records)
    styles, groups, namer = (
        assign_styles(series),
        _group_by_panel(entry, records),
        _make_namer(entry.by),
    )
    figure, axes = make_panels(len(groups) * len(entry.y), columns=_count_columns(entry))
    places = [(value, name) for value in groups for name in entry.y]
    for place, (value, name) in zip(axes, places, strict=True):
        shown = find_metric(name)
        found = summarize_groups(groups[value], (entry.by,), entry.y, where=entry.name)
        for at, each in enumerate(series):
            summary = found.get((each,))
            spread = None if summary is None else summary.values.get(name)
            if spread is not None:
                _draw_bar(place, at, spread, styles[each].colour, shown)
        place.set_xticks(range(len(series)), [_wrap_label(namer(each)) for each in series])
        place.set_xlim(-0.6, len(series) - 0.4)
        place.grid(visible=False, axis="x")
        place.margins(y=0.14)
        _finish_panel(place, entry, value, shown)
    return figure


def _draw_bar(
    axes: Axes, at: int, spread: SeedStatistics, colour: str, metric: DisplayMetric
) -> None:
    height = metric.scale * spread.mean
    error = None if spread.std is None else metric.scale * spread.std
    style: dict[str, Any] = {"ecolor": SOFT, "error_kw": {"elinewidth": 0.9, "capsize": 2}}
    axes.bar(at, height, BAR, yerr=error, color=colour, alpha=0.85, **style)
    top = height + (error or 0.0)
    text = f"{height:.1f}" if metric.percent else f"{height:.3g}"
    axes.annotate(text, (at, top), (0, 2), textcoords="offset points", ha="center", fontsize=7)


def plot_scatter(entry: FigureEntry, records: Sequence[RunRecord]) -> Figure:
    """Draw one metric against another: a marker for each setting of a method, with its value."""
    across, up = find_metric(entry.x), find_metric(entry.y[0])
    series = sort_distinct(get_field_value(run, entry.by) for run in records)
    styles, groups, namer = (
        assign_styles(series),
        _group_by_panel(entry, records),
        _make_namer(entry.by),
    )
    figure, axes = make_panels(len(groups), size=(3.2, 2.5), legend=len(series))
    for place, (value, runs) in zip(axes, groups.items(), strict=True):
        for each, own in group_records(runs, lambda run: get_field_value(run, entry.by)).items():
            spread = summarize_runs(own, [up.name]).values.get(up.name)
            if own[0].method == REAL and spread is not None:
                _draw_level(place, spread, up, styles[each], namer(each))
            else:
                _draw_markers(place, own, (across, up), styles[each], namer(each))
        if "x" in entry.log:
            make_logarithmic(place, "x")
        place.set_xlabel(f"{across.title} ({across.unit})" if across.unit else across.title)
        _finish_panel(place, entry, value, up)
    add_legend_below(figure, axes)
    return figure


def _draw_markers(
    axes: Axes,
    runs: Sequence[RunRecord],
    measures: tuple[DisplayMetric, DisplayMetric],
    style: SeriesStyle,
    name: str,
) -> None:
    found = []
    for settings, same in group_records(runs, lambda run: tuple(run.settings.items())).items():
        values = summarize_runs(same, [each.name for each in measures]).values
        if all(each.name in values for each in measures):
            x, y = (each.scale * values[each.name].mean for each in measures)
            found.append((x, y, dict(settings).get("degree")))
    if not found:
        return
    options = style.options | {"linewidth": 0.8}
    axes.plot([x for x, _, _ in found], [y for _, y, _ in found], label=name, **options)
    for x, y, degree in found:
        if degree is not None:
            offset: dict[str, Any] = {"xytext": (3.5, 2.5), "textcoords": "offset points"}
            axes.annotate(str(degree), (x, y), fontsize=6.5, color=SOFT, **offset)


def _group_by_panel(entry: FigureEntry, records: Sequence[RunRecord]) -> dict[Any, list[RunRecord]]:
    if not entry.panel:
        return {None: list(records)}
    return group_records(records, lambda run: get_field_value(run, entry.panel))


def _count_columns(entry: FigureEntry) -> int:
    """Return the number of panels beside each other: the metrics of one data set if few."""
    return len(entry.y) if 1 < len(entry.y) <= MAX_COLUMNS else MAX_COLUMNS


def _make_namer(field: str) -> Callable[[Any], str]:
    return lambda value: format_label(field, value)


def _wrap_label(text: str) -> str:
    return text.replace("-", "-\n").replace(" ", "\n") if len(text) > LONG_NAME else text


def _finish_panel(axes: Axes, entry: FigureEntry, value: Any, metric: DisplayMetric) -> None:
    if entry.chance is not None and metric.better == "higher":
        level = metric.scale * entry.chance
        axes.axhline(level, color=SOFT, linestyle=":", linewidth=1, zorder=1, label="Chance")
    unit = "%" if metric.percent else metric.unit
    axes.set_ylabel(f"{metric.title} ({unit})" if unit else metric.title)
    if entry.panel:
        axes.set_title(format_label(entry.panel, value))


Extra = Mapping[str, Any]
Extras = Callable[[RunRecord], Extra | None]
MAX_DOTS = 600
SAMPLES = 3
GAP = 1


def plot_progress(entry: FigureEntry, records: Sequence[RunRecord], extras: Extras) -> Figure:
    """Draw metrics of single rounds: a line for each series, a panel for each metric."""
    by = entry.by
    found = _load_extras(entry, records, extras, "rounds")
    series = sort_distinct(get_field_value(run, by) for run, _ in found)
    figure, axes = make_panels(len(entry.y), columns=len(entry.y), legend=len(series))
    for place, name in zip(axes, entry.y, strict=True):
        shown = find_metric(name)
        points = {each: _collect_by_round(found, by, each, name) for each in series}
        draw_lines(
            place, points, assign_styles(series), lambda value: format_label(by, value), shown
        )
        place.set_xlabel("round")
        place.set_ylabel(f"{shown.title} (%)" if shown.percent else shown.title)
    add_legend_below(figure, axes)
    return figure


def plot_rounds(entry: FigureEntry, records: Sequence[RunRecord], extras: Extras) -> Figure:
    """Draw the first two columns of the rows of each round, coloured by the label."""
    _, kept = _load_extras(entry, records, extras, "rounds")[0]
    shown = {
        f"round {number}" if int(number) else "random rows": part["rows"]
        for number, part in sorted(kept["rounds"].items(), key=lambda pair: int(pair[0]))
    }
    if "real_rows" in kept:
        shown[METHODS[REAL].lower()] = kept["real_rows"]
    figure, axes = make_panels(len(shown), columns=min(4, len(shown)), size=(1.65, 1.65))
    (across, up), label = (
        list(next(iter(shown.values())))[:2],
        _get_label_name(next(iter(shown.values()))),
    )
    styles = assign_styles(sort_distinct(value for rows in shown.values() for value in rows[label]))
    for place, (title, rows) in zip(axes, shown.items(), strict=True):
        for value, style in styles.items():
            chosen = [n for n in _sample_positions(len(rows[label])) if rows[label][n] == value]
            xs, ys = ([rows[name][n] for n in chosen] for name in (across, up))
            options: dict[str, Any] = {
                "s": 5,
                "linewidths": 0,
                "alpha": 0.75,
                "label": f"{label} {value}",
            }
            place.scatter(xs, ys, color=style.colour, marker=style.marker, **options)
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
    add_legend_below(figure, axes, scale=2.0)
    return figure


def plot_images(entry: FigureEntry, records: Sequence[RunRecord], extras: Extras) -> Figure:
    """Draw rows as square pictures: a few of each class, for the real rows and each series."""
    by = entry.by
    found = _load_extras(entry, records, extras, "rows")
    strips = {METHODS[REAL]: found[0][1].get("real_rows", found[0][1]["rows"])}
    for run, kept in found:
        if run.method != REAL:
            strips.setdefault(format_label(by, get_field_value(run, by)), kept["rows"])
    classes = sort_distinct(
        next(iter(strips.values()))[_get_label_name(next(iter(strips.values())))]
    )
    classes = sorted(classes, key=str)
    figure, axes = make_panels(len(strips), columns=1, size=(3.6, 1.08))
    for place, (title, rows) in zip(axes, strips.items(), strict=True):
        _draw_strip(place, build_mosaic(rows, classes), title)
    return figure


def build_mosaic(rows: Mapping[str, Sequence[Any]], classes: Sequence[Any]) -> NDArray[np.float64]:
    """Return pictures side by side: a column for each class, a few rows of it below each other.

    Args:
        rows: Pixels by column, row by row of the picture, and the label last.
        classes: The classes in order; one with too few rows is padded with white.

    Example:
        >>> rows = {"a": [0, 9], "b": [0, 9], "c": [0, 9], "d": [0, 9], "y": [0, 1]}
        >>> build_mosaic(rows, [0, 1]).shape
        (8, 5)
    """
    names = [name for name in rows if name != _get_label_name(rows)]
    side = math.isqrt(len(names))
    if side * side != len(names):
        raise ParameterError(f"kind='images': {len(names)} columns are no square picture.")
    pixels = np.array([rows[name] for name in names], dtype=np.float64).T
    labels = list(rows[_get_label_name(rows)])
    step = side + GAP
    page = np.full((SAMPLES * step - GAP, len(classes) * step - GAP), np.nan)
    for across, value in enumerate(classes):
        chosen = [n for n, own in enumerate(labels) if own == value][:SAMPLES]
        for down, row in enumerate(chosen):
            top, left = down * step, across * step
            page[top : top + side, left : left + side] = pixels[row].reshape(side, side)
    return page


def plot_depths(found: Mapping[str, Mapping[int, float]]) -> Figure:
    """Draw accuracy by the depth of trees, a panel for each data set.

    Args:
        found: For each data set, the accuracy of each depth.
    """
    shown = find_metric("accuracy")
    figure, axes = make_panels(len(found), columns=3, size=(2.1, 1.6))
    (style,) = assign_styles(["aim"]).values()
    for place, (title, accuracy) in zip(axes, found.items(), strict=True):
        heights = [shown.scale * each for each in accuracy.values()]
        place.plot(list(accuracy), heights, **style.options)
        middle, reach = (max(heights) + min(heights)) / 2, max(heights) - min(heights)
        # At least four points high, so that small differences look small.
        half = max(reach, 4.0) * 0.6
        place.set_ylim(middle - half, middle + half)
        place.set_xticks(list(accuracy))
        gap = f"gap {max(heights) - heights[0]:.1f}"
        place.annotate(gap, (0.98, 0.06), xycoords="axes fraction", ha="right", color=SOFT)
        place.set_title(title)
        place.set_xlabel("depth of trees")
        place.set_ylabel(f"{shown.title} (%)")
    return figure


def _draw_strip(axes: Axes, page: NDArray[np.float64], title: str) -> None:
    axes.imshow(page, cmap="gray_r", vmin=0, interpolation="nearest")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.set_ylabel(title, rotation=0, ha="right", va="center")


def _sample_positions(count: int) -> range:
    """Return indices of at most `MAX_DOTS` rows, evenly spaced: rows may be sorted by class."""
    return range(0, count, max(1, -(-count // MAX_DOTS)))


def _get_label_name(rows: Mapping[str, Any]) -> str:
    return list(rows)[-1]


def _collect_by_round(
    found: Sequence[tuple[RunRecord, Extra]], by: str, each: Any, name: str
) -> dict[int, SeedStatistics]:
    values: dict[int, list[float]] = {}
    for run, kept in found:
        if get_field_value(run, by) == each:
            for number, part in kept["rounds"].items():
                if name in part["metrics"]:
                    values.setdefault(int(number), []).append(part["metrics"][name])
    return {number: SeedStatistics.from_values(own) for number, own in values.items()}


def _load_extras(
    entry: FigureEntry, records: Sequence[RunRecord], extras: Extras, key: str
) -> list[tuple[RunRecord, Extra]]:
    """Return runs with the content of the file beside them, by seed."""
    runs = [run for run in records if run.status == DONE]
    pairs = (
        (run, extras(run)) for own in group_records(runs, lambda r: r.seed).values() for run in own
    )
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


def plot_search(entry: FigureEntry, records: Sequence[RunRecord]) -> Figure:
    """Draw a line through the values of each setting and its result, coloured by the result."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    shown = find_metric(entry.y[0])
    results = sorted(_average_results(records, entry.y[0]), key=lambda pair: pair[1])
    values = [shown.scale * value for _, value in results]
    figure, (place,) = make_panels(1, size=(7.0, 2.7))
    axes = [
        (name, sort_distinct(get_field_value(run, name) for run in records)) for name in entry.axes
    ]
    norm = Normalize(min(values, default=0), max(values, default=1) + 1e-9)
    colours = colormaps[COLOURS]
    for rank, (run, _) in enumerate(results):
        fan = FAN * (2 * rank / max(1, len(results) - 1) - 1)
        heights = [
            _compute_height(options, get_field_value(run, name), fan) for name, options in axes
        ]
        heights.append(float(norm(values[rank])))
        colour = colours(float(norm(values[rank])))
        place.plot(range(len(heights)), heights, color=colour, linewidth=0.8, alpha=0.85)
    for at, (name, options) in enumerate(axes):
        for option in options:
            box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.8}
            text = format_label(name, option)
            place.annotate(
                text, (at, _compute_height(options, option, 0)), ha="center", va="center", bbox=box
            )
    place.set_xticks(range(len(axes) + 1), [*(get_title(name) for name, _ in axes), shown.title])
    place.tick_params(axis="x", length=0, labelsize=8)
    place.set_yticks([])
    place.grid(visible=False, axis="y")
    place.spines[["left", "bottom"]].set_visible(False)
    bar = figure.colorbar(ScalarMappable(norm, COLOURS), ax=place, pad=0.01, aspect=25)
    bar.set_label(f"{shown.title} (%)" if shown.percent else shown.title)
    bar.outline.set_visible(False)
    return figure


def plot_ranking(entry: FigureEntry, records: Sequence[RunRecord]) -> Figure:
    """Draw how settings rank at each x, coloured by their rank at the first."""
    from matplotlib import colormaps
    from matplotlib.ticker import MaxNLocator

    columns = {
        x: _rank_settings([run for run in records if get_field_value(run, entry.x) == x], entry)
        for x in sort_distinct(get_field_value(run, entry.x) for run in records)
    }
    columns = {x: ranks for x, ranks in columns.items() if ranks}
    figure, (place,) = make_panels(1, size=(7.0, 2.7))
    first = next(iter(columns.values()), {})
    colours = colormaps[COLOURS]
    for setting, rank in sorted(first.items(), key=lambda pair: -pair[1]):
        known = [at for at, ranks in enumerate(columns.values()) if setting in ranks]
        heights = [ranks[setting] for ranks in columns.values() if setting in ranks]
        colour = colours(1 - rank / max(1, len(first) - 1))
        place.plot(known, heights, color=colour, linewidth=0.9, alpha=0.9)
    labels = [
        f"{get_title(entry.x)} {format_label(entry.x, x)}"
        + _format_agreement(first, ranks, is_first=not at)
        for at, (x, ranks) in enumerate(columns.items())
    ]
    place.set_xticks(range(len(columns)), labels)
    place.set_xlim(-0.05, len(columns) - 0.95)
    place.invert_yaxis()
    place.yaxis.set_major_locator(MaxNLocator(integer=True))
    place.grid(visible=False, axis="y")
    place.set_ylabel(f"rank by {find_metric(entry.y[0]).title.lower()} (0 is best)")
    return figure


def plot_schedules(entry: FigureEntry, records: Sequence[RunRecord]) -> Figure:
    """Draw the mutation rate of each round, for each setting of the evolution that runs have."""
    found: dict[Any, Evolution] = {}
    for run in records:
        config = require_evolution(parse_strategy(run.settings), "kind: schedules")
        found.setdefault(get_field_value(run, entry.by), config)
    figure, (place,) = make_panels(1, legend=len(found))
    for value, style in assign_styles(sort_distinct(found)).items():
        config = found[value]
        rates = [compute_mutation_rate(config, index) for index in range(config.rounds)]
        rounds = range(1, config.rounds + 1)
        place.plot(rounds, rates, label=format_label(entry.by, value), **style.options)
    place.set_xlabel("round")
    place.set_ylabel("mutation rate")
    place.set_ylim(bottom=0)
    add_legend_below(figure, [place])
    return figure


def _average_results(records: Sequence[RunRecord], name: str) -> list[tuple[RunRecord, float]]:
    """Return a run of each setting, with the mean of a metric over its seeds."""
    groups = group_records(records, lambda run: json.dumps(run.settings, sort_keys=True))
    pairs = ((runs[0], summarize_runs(runs, [name]).values.get(name)) for runs in groups.values())
    return [(run, spread.mean) for run, spread in pairs if spread is not None]


def _compute_height(options: Sequence[Any], value: Any, fan: float) -> float:
    return (options.index(value) + 0.5 + fan) / len(options)


def _rank_settings(records: Sequence[RunRecord], entry: FigureEntry) -> dict[str, int]:
    sign = -1 if find_metric(entry.y[0]).better == "higher" else 1
    results = sorted(_average_results(records, entry.y[0]), key=lambda pair: sign * pair[1])
    return {json.dumps(run.settings, sort_keys=True): rank for rank, (run, _) in enumerate(results)}


def _format_agreement(first: Mapping[str, int], ranks: Mapping[str, int], *, is_first: bool) -> str:
    """Return Spearman's correlation of two rankings."""
    common = [name for name in first if name in ranks]
    if is_first or len(common) < 3:  # noqa: PLR2004 (two always agree or disagree wholly)
        return ""
    from scipy.stats import spearmanr

    found = spearmanr([first[name] for name in common], [ranks[name] for name in common])
    return f"\n({AGREEMENT} {found.statistic:.2f})"


ENDINGS = (".svg", ".png")
DEPTHS = "order"
_OF_RECORDS: Mapping[str, Callable[[FigureEntry, Sequence[RunRecord]], Figure]] = {
    "lines": plot_lines,
    "bars": plot_bars,
    "scatter": plot_scatter,
    "search": plot_search,
    "ranking": plot_ranking,
    "schedules": plot_schedules,
}
_OF_EXTRAS: Mapping[str, Callable[[FigureEntry, Sequence[RunRecord], Extras], Figure]] = {
    "progress": plot_progress,
    "rounds": plot_rounds,
    "images": plot_images,
}
_NEED_NO_RUNS = ("schedules",)


def render_figure(
    entry: FigureEntry,
    records: Sequence[RunRecord],
    *,
    folder: Path = FOLDER,
    depths: Mapping[str, Mapping[int, float]] | None = None,
) -> bytes:
    """Return a figure of runs as SVG.

    Args:
        entry: The figure.
        records: The runs; those that are not done are left out.
        folder: The folder of the results.
        depths: For a figure of kind `order`, the accuracy of each depth for each data set.

    Raises:
        NothingDoneError: If no run is done that it could show.
    """
    return _render_bytes(entry, records, folder, depths, "svg")


def save_figure(
    entry: FigureEntry,
    records: Sequence[RunRecord],
    path: Path,
    *,
    folder: Path = FOLDER,
    depths: Mapping[str, Mapping[int, float]] | None = None,
) -> None:
    """Write a figure of runs to a file atomically: SVG or PNG, by its suffix.

    Raises:
        OutputError: If the suffix is another one.
        NothingDoneError: If no run is done that it could show.
    """
    if path.suffix not in ENDINGS:
        raise OutputError(f"{path}: a figure ends in {' or '.join(ENDINGS)}.")
    content = _render_bytes(entry, records, folder, depths, path.suffix[1:])

    def fill(file: BinaryIO) -> None:
        file.write(content)

    files.write_file(path, fill)


def _render_bytes(
    entry: FigureEntry,
    records: Sequence[RunRecord],
    folder: Path,
    depths: Mapping[str, Mapping[int, float]] | None,
    kind: str,
) -> bytes:
    target = io.BytesIO()
    with use_style():
        figure = _draw_figure(entry, records, folder, depths)
        figure.savefig(
            target, format=kind, metadata=_make_metadata(entry, kind), bbox_inches="tight"
        )
    return target.getvalue()


def _draw_figure(
    entry: FigureEntry,
    records: Sequence[RunRecord],
    folder: Path,
    depths: Mapping[str, Mapping[int, float]] | None,
) -> Figure:
    if entry.kind == DEPTHS:
        return plot_depths(depths or {})
    wanted = keep_records(records, entry.where)
    shown = wanted if entry.kind in _NEED_NO_RUNS else [r for r in wanted if r.status == DONE]
    if not shown:
        raise NothingDoneError(f"{entry.name}: no run is done that it could show: run them first.")
    if entry.kind in _OF_RECORDS:
        return _OF_RECORDS[entry.kind](entry, shown)
    return _OF_EXTRAS[entry.kind](entry, shown, lambda record: _read_extra(record, folder))


def _make_metadata(entry: FigureEntry, kind: str) -> dict[str, Any]:
    """Return the metadata of the file, without date and version, which would change."""
    if kind == "svg":
        return {"Title": entry.title, "Date": None, "Creator": None}
    return {"Title": entry.title, "Software": None}


def _read_extra(record: RunRecord, folder: Path) -> Extra | None:
    path = get_extra_path(record, folder)
    if path is None or not path.is_file():
        return None
    try:
        found = serialization.parse_strict_json(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ArchiveError(f"{path}: not what is kept beside a record ({error}).") from None
    return found if isinstance(found, Mapping) else None


def read_depths(path: Path) -> dict[str, dict[int, float]]:
    """Return the accuracy of each depth for each data set from a file; empty without one."""
    if not path.is_file():
        return {}
    plain = serialization.parse_strict_json(path.read_text(encoding="utf-8"))
    return {
        name: {int(depth): float(value) for depth, value in own.items()}
        for name, own in plain.items()
    }


def write_depths(path: Path, found: Mapping[str, Mapping[int, float]]) -> None:
    """Write the accuracy of each depth for each data set to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write_text(path, json.dumps(found, indent=1) + "\n")
