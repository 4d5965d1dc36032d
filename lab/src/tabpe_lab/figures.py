"""Figures of experiments with matplotlib, as SVG or PNG: the same runs give the same file.

Three kinds: metrics of records (lines, bars, scatter), rows and metrics of single rounds that are
kept beside records, and comparisons of many settings (search, ranking, schedules). The file beside
a record is a mapping: `rows` and `real_rows` by column, the label last, and `rounds`, by number,
each with its `rows` and `metrics`.

Colours are those of Okabe and Ito, with a few of Tol, which colour-blind people can distinguish;
each method has one colour and marker everywhere. Matplotlib is imported where it is used.
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
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tabpe._utils import files, serialization
from tabpe.errors import ArchiveError, OutputError, ParameterError, TabpeError
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
from tabpe_lab.summary import (
    DONE,
    SeedStatistics,
    group_records,
    make_settings_key,
    summarize_groups,
    summarize_runs,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Runs = Sequence[RunRecord]
Extra = Mapping[str, Any]
Depths = Mapping[str, Mapping[int, float]]

PANEL = (2.35, 1.9)
WIDE_PANEL = (7.0, 2.7)
SMALLEST_WIDTH = 3.4
DECADE = 10.0
LABEL_WIDTH = 0.11  # of the width of a panel
BAR = 0.68
MAX_TICKS, MAX_COLUMNS, LONG_NAME = 8, 3, 9
MAX_DOTS, SAMPLES, GAP = 600, 3, 1
COLOURS, FAN = "viridis", 0.3
ENDINGS = (".svg", ".png")
DEPTHS = "order"
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
        names = ("color", "marker", "linestyle", "zorder")
        return dict(zip(names, (self.colour, self.marker, self.line, self.order), strict=True))


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
    SeriesStyle(f"#{colour}", marker)
    for colour, marker in zip(
        (
            *("d55e00", "0072b2", "009e73", "cc79a7", "e69f00", "56b4e9", "882255", "7f7f7f"),
            *("332288", "44aa99", "aa4499"),
        ),
        "os^DvPX<*hp",
        strict=True,
    )
)


def assign_styles(values: Sequence[Any]) -> dict[Any, SeriesStyle]:
    """Return a style for each series; a method has the same one in every figure.

    Example:
        >>> assign_styles(["aim", "real"])["aim"] == assign_styles(["gem", "aim"])["aim"]
        True
    """
    taken = {_METHODS[value].colour for value in values if value in _METHODS}
    others = cycle([style for style in _OTHERS if style.colour not in taken] or _OTHERS)
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


def _get_axis_title(metric: DisplayMetric) -> str:
    unit = "%" if metric.percent else metric.unit
    return f"{metric.title} ({unit})" if unit else metric.title


def _group_by(field: str, records: Runs) -> Mapping[Any, Runs]:
    return group_records(records, lambda run: get_field_value(run, field))


def _list_series(entry: FigureEntry, records: Runs) -> list[Any]:
    return sort_distinct(get_field_value(run, entry.by) for run in records)


def _draw_panels(
    entry: FigureEntry,
    records: Runs,
    draw: Callable[[Axes, Runs, DisplayMetric], None],
    **options: Any,
) -> Figure:
    """Draw a panel for each metric and each value of `panel`, with titles and chance."""
    by_panel = _group_by(entry.panel, records) if entry.panel else {None: records}
    places = [(value, find_metric(name)) for value in by_panel for name in entry.y]
    columns = len(entry.y) if 1 < len(entry.y) <= MAX_COLUMNS else MAX_COLUMNS
    figure, axes = make_panels(len(places), columns=columns, **options)
    for place, (value, metric) in zip(axes, places, strict=True):
        draw(place, by_panel[value], metric)
        if entry.chance is not None and metric.better == "higher":
            level = metric.scale * entry.chance
            place.axhline(level, color=SOFT, linestyle=":", linewidth=1, zorder=1, label="Chance")
        place.set_ylabel(_get_axis_title(metric))
        if entry.panel:
            place.set_title(format_label(entry.panel, value))
    if "legend" in options:
        add_legend_below(figure, axes)
    return figure


def plot_lines(entry: FigureEntry, records: Runs) -> Figure:
    """Draw metrics against a field: a line for each series, a panel for each metric and data."""
    series = _list_series(entry, records)
    fields = (entry.by, entry.x)

    def draw(axes: Axes, runs: Runs, metric: DisplayMetric) -> None:
        found = summarize_groups(runs, fields, entry.y, where=entry.name)
        points = [(*key, each.values.get(metric.name)) for key, each in found.items()]
        _draw_lines(axes, _make_points(points), series, entry, metric)
        axes.set_xlabel(get_title(entry.x))

    return _draw_panels(entry, records, draw, legend=len(series))


def _make_points(found: Sequence[tuple[Any, Any, SeedStatistics | None]]) -> pd.DataFrame:
    """Return points as a table: `series`, `x`, `mean`, `std`."""
    rows = [(each, x, s.mean, s.std or 0.0) for each, x, s in found if s is not None]
    frame = pd.DataFrame(rows, columns=["series", "x", "mean", "std"], dtype=object)
    return frame.astype({"mean": float, "std": float})


def _draw_lines(
    axes: Axes,
    points: pd.DataFrame,
    series: Sequence[Any],
    entry: FigureEntry,
    metric: DisplayMetric,
) -> None:
    """Draw series with their deviations; one without an x is a horizontal line."""
    climbs = "y" in entry.log and not metric.percent
    if climbs:  # a logarithmic axis can not show that real rows take no time
        points = points[points["mean"] > 0]
    xs = sort_distinct(points["x"].dropna())
    numeric = all(isinstance(x, (int, float)) for x in xs)
    places = {x: x if numeric else index for index, x in enumerate(xs)}
    for each, style in assign_styles(series).items():
        own = points[[value == each for value in points["series"]]]
        label = format_label(entry.by, each)
        for mean in own[own["x"].isna()]["mean"]:
            _draw_level(axes, metric.scale * mean, style, label)
        known = own.dropna(subset=["x"]).sort_values("x", key=lambda column: column.map(xs.index))
        if not known.empty:
            options = {"label": label, "capsize": 2, "elinewidth": 0.8, **style.options}
            means, errors = (list(metric.scale * known[name]) for name in ("mean", "std"))
            axes.errorbar([places[x] for x in known["x"]], means, errors, **options)
    if climbs:
        make_logarithmic(axes, "y")
    if xs and not numeric:
        axes.set_xticks(list(places.values()), [format_short(x) for x in xs])
    elif xs and (len(xs) <= MAX_TICKS or "x" in entry.log):
        set_ticks(axes, xs, log="x" in entry.log and min(xs) > 0)


def _draw_level(axes: Axes, height: float, style: SeriesStyle, label: str) -> None:
    axes.axhline(height, color=style.colour, linestyle="--", linewidth=1, label=label)


def plot_bars(entry: FigureEntry, records: Runs) -> Figure:
    """Draw metrics of few settings as bars: a panel for each metric and data."""
    series = _list_series(entry, records)

    def draw(axes: Axes, runs: Runs, metric: DisplayMetric) -> None:
        found = summarize_groups(runs, (entry.by,), entry.y, where=entry.name)
        for at, (each, style) in enumerate(assign_styles(series).items()):
            spread = found[each,].values.get(metric.name) if (each,) in found else None
            if spread is not None:
                _draw_bar(axes, at, spread, style.colour, metric)
        labels = [_wrap_label(format_label(entry.by, each)) for each in series]
        axes.set_xticks(range(len(series)), labels)
        axes.set_xlim(-0.6, len(series) - 0.4)
        axes.grid(visible=False, axis="x")
        axes.margins(y=0.14)

    return _draw_panels(entry, records, draw)


def _draw_bar(
    axes: Axes, at: int, spread: SeedStatistics, colour: str, metric: DisplayMetric
) -> None:
    height = metric.scale * spread.mean
    error = None if spread.std is None else metric.scale * spread.std
    style: dict[str, Any] = {"ecolor": SOFT, "error_kw": {"elinewidth": 0.9, "capsize": 2}}
    axes.bar(at, height, BAR, yerr=error, color=colour, alpha=0.85, **style)
    text = f"{height:.1f}" if metric.percent else f"{height:.3g}"
    top = (at, height + (error or 0.0))
    axes.annotate(text, top, (0, 2), textcoords="offset points", ha="center", fontsize=7)


def _wrap_label(text: str) -> str:
    return text.replace("-", "-\n").replace(" ", "\n") if len(text) > LONG_NAME else text


def plot_scatter(entry: FigureEntry, records: Runs) -> Figure:
    """Draw one metric against another: a marker for each setting of a method, with its value."""
    across = find_metric(entry.x)
    styles = assign_styles(_list_series(entry, records))

    def draw(axes: Axes, runs: Runs, metric: DisplayMetric) -> None:
        for each, own in _group_by(entry.by, runs).items():
            label, level = format_label(entry.by, each), summarize_runs(own, entry.y).values
            if own[0].method == REAL and metric.name in level:
                _draw_level(axes, metric.scale * level[metric.name].mean, styles[each], label)
            else:
                _draw_markers(axes, own, (across, metric), styles[each], label)
        if "x" in entry.log:
            make_logarithmic(axes, "x")
        axes.set_xlabel(_get_axis_title(across))

    return _draw_panels(entry, records, draw, size=(3.2, 2.5), legend=len(styles))


def _average_settings(records: Runs, *metrics: DisplayMetric) -> pd.DataFrame:
    """Return a run of each setting, with the means of metrics over its seeds."""
    names = [metric.name for metric in metrics]
    rows = {}
    for setting, runs in group_records(records, make_settings_key).items():
        means = {name: each.mean for name, each in summarize_runs(runs, names).values.items()}
        rows[setting] = {"run": runs[0], **means}
    return pd.DataFrame.from_dict(rows, orient="index", columns=["run", *names]).dropna()


def _draw_markers(
    axes: Axes,
    records: Runs,
    metrics: tuple[DisplayMetric, DisplayMetric],
    style: SeriesStyle,
    label: str,
) -> None:
    found = _average_settings(records, *metrics).sort_values(metrics[0].name, kind="stable")
    if found.empty:
        return
    xs, ys = (list(metric.scale * found[metric.name]) for metric in metrics)
    axes.plot(xs, ys, label=label, **style.options | {"linewidth": 0.8})
    for x, y, run in zip(xs, ys, found["run"], strict=True):
        if run.settings.get("degree") is not None:
            offset: dict[str, Any] = {"xytext": (3.5, 2.5), "textcoords": "offset points"}
            axes.annotate(str(run.settings["degree"]), (x, y), fontsize=6.5, color=SOFT, **offset)


def plot_progress(entry: FigureEntry, records: Runs, folder: Path) -> Figure:
    """Draw metrics of single rounds: a line for each series, a panel for each metric."""
    found = _load_extras(entry, records, folder, "rounds")
    series = _list_series(entry, [run for run, _ in found])

    def draw(axes: Axes, _: Runs, metric: DisplayMetric) -> None:
        values: dict[tuple[Any, int], list[float]] = {}
        for run, kept in found:
            for number, part in kept["rounds"].items():
                if metric.name in part["metrics"]:
                    key = (get_field_value(run, entry.by), int(number))
                    values.setdefault(key, []).append(part["metrics"][metric.name])
        points = [(*key, SeedStatistics.from_values(own)) for key, own in values.items()]
        _draw_lines(axes, _make_points(points), series, entry, metric)
        axes.set_xlabel("round")

    return _draw_panels(entry, records, draw, legend=len(series))


def plot_rounds(entry: FigureEntry, records: Runs, folder: Path) -> Figure:
    """Draw the first two columns of the rows of each round, coloured by the label."""
    _, kept = _load_extras(entry, records, folder, "rounds")[0]
    shown = {
        f"round {number}" if int(number) else "random rows": pd.DataFrame(part["rows"])
        for number, part in sorted(kept["rounds"].items(), key=lambda pair: int(pair[0]))
    }
    if "real_rows" in kept:
        shown[METHODS[REAL].lower()] = pd.DataFrame(kept["real_rows"])
    figure, axes = make_panels(len(shown), columns=min(4, len(shown)), size=(1.65, 1.65))
    across, up, *_, label = next(iter(shown.values())).columns
    styles = assign_styles(sort_distinct(value for rows in shown.values() for value in rows[label]))
    for place, (title, rows) in zip(axes, shown.items(), strict=True):
        sampled = rows.iloc[list(sample_positions(len(rows)))]
        for value, style in styles.items():
            chosen = sampled[sampled[label] == value]
            options: dict[str, Any] = {"s": 5, "linewidths": 0, "alpha": 0.75}
            options |= {"label": f"{label} {value}", "color": style.colour, "marker": style.marker}
            place.scatter(chosen[across].tolist(), chosen[up].tolist(), **options)
        place.set_title(title)
        place.set_box_aspect(1)
        _hide_ticks(place)
        place.spines[["top", "right"]].set_visible(True)
    limits = np.array([axis.get_xlim() + axis.get_ylim() for axis in axes])
    low, high = limits.min(axis=0), limits.max(axis=0)
    for place in axes:
        place.set_xlim(low[0], high[1])
        place.set_ylim(low[2], high[3])
    add_legend_below(figure, axes, scale=2.0)
    return figure


def sample_positions(count: int) -> range:
    """Return positions of at most `MAX_DOTS` rows, evenly spaced: rows may be sorted by class.

    Example:
        >>> len(sample_positions(2000)), len(sample_positions(10))
        (500, 10)
    """
    return range(0, count, max(1, -(-count // MAX_DOTS)))


def plot_images(entry: FigureEntry, records: Runs, folder: Path) -> Figure:
    """Draw rows as square pictures: a few of each class, for the real rows and each series."""
    found = _load_extras(entry, records, folder, "rows")
    real = found[0][1].get("real_rows", found[0][1]["rows"])
    strips = {METHODS[REAL]: real}
    for run, kept in found:
        if run.method != REAL:
            label = format_label(entry.by, get_field_value(run, entry.by))
            strips.setdefault(label, kept["rows"])
    classes = sorted(set(real[list(real)[-1]]), key=str)
    figure, axes = make_panels(len(strips), columns=1, size=(3.6, 1.08))
    for place, (title, rows) in zip(axes, strips.items(), strict=True):
        place.imshow(build_mosaic(rows, classes), cmap="gray_r", vmin=0, interpolation="nearest")
        _hide_ticks(place)
        place.spines[:].set_visible(False)
        place.set_ylabel(title, rotation=0, ha="right", va="center")
    return figure


def _hide_ticks(axes: Axes) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(visible=False)


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
    *names, label = rows
    side = math.isqrt(len(names))
    if side * side != len(names):
        raise ParameterError(f"kind='images': {len(names)} columns are no square picture.")
    pixels = np.array([rows[name] for name in names], dtype=np.float64).T
    step = side + GAP
    page = np.full((SAMPLES * step - GAP, len(classes) * step - GAP), np.nan)
    for across, value in enumerate(classes):
        chosen = [n for n, own in enumerate(rows[label]) if own == value][:SAMPLES]
        for down, row in enumerate(chosen):
            top, left = down * step, across * step
            page[top : top + side, left : left + side] = pixels[row].reshape(side, side)
    return page


def plot_depths(found: Depths) -> Figure:
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
        place.set_ylabel(_get_axis_title(shown))
    return figure


def _load_extras(
    entry: FigureEntry, records: Runs, folder: Path, key: str
) -> list[tuple[RunRecord, Extra]]:
    """Return runs with the content of the file beside them, by seed."""
    groups = group_records(records, lambda run: run.seed).values()
    pairs = ((run, _read_extra(run, folder)) for group in groups for run in group)
    found = [(run, kept) for run, kept in pairs if kept is not None and key in kept]
    if not found:
        raise NothingDoneError(
            f"{entry.name}: no run has its {key} beside it: run the experiment with "
            f"keep: [{key}] first."
        )
    return found


def _read_extra(record: RunRecord, folder: Path) -> Extra | None:
    path = get_extra_path(record, folder)
    if path is None or not path.is_file():
        return None
    try:
        found = serialization.parse_strict_json(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ArchiveError(f"{path}: not what is kept beside a record ({error}).") from None
    return found if isinstance(found, Mapping) else None


def plot_search(entry: FigureEntry, records: Runs) -> Figure:
    """Draw a line through the values of each setting and its result, coloured by the result."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    metric = find_metric(entry.y[0])
    results = _average_settings(records, metric).sort_values(metric.name, kind="stable")
    values = list(metric.scale * results[metric.name])
    figure, (place,) = make_panels(1, size=WIDE_PANEL)
    axes = {
        name: sort_distinct(get_field_value(run, name) for run in records) for name in entry.axes
    }
    norm = Normalize(min(values, default=0), max(values, default=1) + 1e-9)
    for rank, (run, value) in enumerate(zip(results["run"], values, strict=True)):
        fan = FAN * (2 * rank / max(1, len(results) - 1) - 1)
        heights = [
            _compute_height(options, get_field_value(run, name), fan)
            for name, options in axes.items()
        ]
        colour, end = colormaps[COLOURS](float(norm(value))), float(norm(value))
        place.plot(range(len(axes) + 1), [*heights, end], color=colour, linewidth=0.8, alpha=0.85)
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.8}
    for at, (name, options) in enumerate(axes.items()):
        for option in options:
            where = (at, _compute_height(options, option, 0))
            place.annotate(format_label(name, option), where, ha="center", va="center", bbox=box)
    place.set_xticks(range(len(axes) + 1), [*map(get_title, axes), metric.title])
    place.tick_params(axis="x", length=0, labelsize=8)
    place.set_yticks([])
    place.grid(visible=False, axis="y")
    place.spines[["left", "bottom"]].set_visible(False)
    bar = figure.colorbar(ScalarMappable(norm, COLOURS), ax=place, pad=0.01, aspect=25)
    bar.set_label(_get_axis_title(metric))
    bar.outline.set_visible(False)
    return figure


def _compute_height(options: Sequence[Any], value: Any, fan: float) -> float:
    return (options.index(value) + 0.5 + fan) / len(options)


def plot_ranking(entry: FigureEntry, records: Runs) -> Figure:
    """Draw how settings rank at each x, coloured by their rank at the first."""
    from matplotlib import colormaps
    from matplotlib.ticker import MaxNLocator

    metric = find_metric(entry.y[0])
    by_x = _group_by(entry.x, records)
    ranks = pd.DataFrame(
        {
            x: _average_settings(by_x[x], metric)[metric.name].rank(
                method="first", ascending=metric.better != "higher"
            )
            - 1
            for x in sort_distinct(by_x)
        }
    ).dropna(axis=1, how="all")
    figure, (place,) = make_panels(1, size=WIDE_PANEL)
    first = ranks.iloc[:, 0].dropna()
    for setting, rank in first.sort_values(ascending=False).items():
        heights = ranks.loc[str(setting)].reset_index(drop=True).dropna()
        colour = colormaps[COLOURS](1 - rank / max(1, len(first) - 1))
        place.plot(list(heights.index), list(heights), color=colour, linewidth=0.9, alpha=0.9)
    labels = [f"{get_title(entry.x)} {format_label(entry.x, x)}" for x in ranks]
    for at, x in enumerate(ranks):
        common = ranks.dropna(subset=[ranks.columns[0], x])
        if at and len(common) > 2:  # noqa: PLR2004 (two always agree or disagree wholly)
            correlation = common.iloc[:, 0].corr(common[x], method="spearman")
            labels[at] += f"\n(rank correlation {correlation:.2f})"
    place.set_xticks(range(len(labels)), labels)
    place.set_xlim(-0.05, len(labels) - 0.95)
    place.invert_yaxis()
    place.yaxis.set_major_locator(MaxNLocator(integer=True))
    place.grid(visible=False, axis="y")
    place.set_ylabel(f"rank by {metric.title.lower()} (0 is best)")
    return figure


def plot_schedules(entry: FigureEntry, records: Runs) -> Figure:
    """Draw the mutation rate of each round, for each setting of the evolution that runs have."""
    found = {
        get_field_value(run, entry.by): require_evolution(
            parse_strategy(run.settings), "kind: schedules"
        )
        for run in reversed(records)
    }
    figure, (place,) = make_panels(1, legend=len(found))
    for value, style in assign_styles(_list_series(entry, records)).items():
        config = found[value]
        rates = [compute_mutation_rate(config, index) for index in range(config.rounds)]
        label = format_label(entry.by, value)
        place.plot(range(1, config.rounds + 1), rates, label=label, **style.options)
    place.set_xlabel("round")
    place.set_ylabel("mutation rate")
    place.set_ylim(bottom=0)
    add_legend_below(figure, [place])
    return figure


_OF_RECORDS: Mapping[str, Callable[[FigureEntry, Runs], Figure]] = {
    "lines": plot_lines,
    "bars": plot_bars,
    "scatter": plot_scatter,
    "search": plot_search,
    "ranking": plot_ranking,
    "schedules": plot_schedules,
}
_OF_EXTRAS: Mapping[str, Callable[[FigureEntry, Runs, Path], Figure]] = {
    "progress": plot_progress,
    "rounds": plot_rounds,
    "images": plot_images,
}


def save_figure(
    entry: FigureEntry,
    records: Runs,
    path: Path,
    *,
    folder: Path = FOLDER,
    depths: Depths | None = None,
) -> None:
    """Write a figure of runs to a file atomically: SVG or PNG, by its suffix.

    Raises:
        OutputError: If the suffix is another one.
        NothingDoneError: If no run is done that it could show.
    """
    if path.suffix not in ENDINGS:
        raise OutputError(f"{path}: a figure ends in {' or '.join(ENDINGS)}.")
    content = render_figure(entry, records, folder=folder, depths=depths, kind=path.suffix[1:])
    files.write_file(path, files.make_filler(content))


def render_figure(
    entry: FigureEntry,
    records: Runs,
    *,
    folder: Path = FOLDER,
    depths: Depths | None = None,
    kind: str = "svg",
) -> bytes:
    """Return a figure of runs as the bytes of a file, without date and version.

    Args:
        entry: The figure.
        records: The runs; those that are not done are left out.
        folder: The folder of the results.
        depths: For a figure of kind `order`, the accuracy of each depth for each data set.
        kind: `svg` or `png`.

    Raises:
        NothingDoneError: If no run is done that it could show.
    """
    return render_drawing(
        lambda: _draw_figure(entry, records, folder, depths), entry.title, kind=kind
    )


def render_drawing(draw: Callable[[], Figure], title: str, *, kind: str = "svg") -> bytes:
    """Return a drawing in the style of this module, without date and version.

    Args:
        draw: Draws it.
        title: Its title.
        kind: `svg` or `png`.
    """
    changing = ("Date", "Creator") if kind == "svg" else ("Software",)
    target = io.BytesIO()
    with use_style():
        metadata = {"Title": title, **dict.fromkeys(changing)}
        draw().savefig(target, format=kind, metadata=metadata, bbox_inches="tight")
    return target.getvalue()


def _draw_figure(entry: FigureEntry, records: Runs, folder: Path, depths: Depths | None) -> Figure:
    if entry.kind == DEPTHS:
        return plot_depths(depths or {})
    wanted = keep_records(records, entry.where)
    shown = wanted if entry.kind == "schedules" else [r for r in wanted if r.status == DONE]
    if not shown:
        raise NothingDoneError(f"{entry.name}: no run is done that it could show: run them first.")
    if entry.kind in _OF_RECORDS:
        return _OF_RECORDS[entry.kind](entry, shown)
    return _OF_EXTRAS[entry.kind](entry, shown, folder)


def read_depths(path: Path) -> dict[str, dict[int, float]]:
    """Return the accuracy of each depth for each data set from a file; empty without one."""
    if not path.is_file():
        return {}
    plain = serialization.parse_strict_json(path.read_text(encoding="utf-8"))
    return {
        name: {int(depth): float(value) for depth, value in own.items()}
        for name, own in plain.items()
    }


def write_depths(path: Path, found: Depths) -> None:
    """Write the accuracy of each depth for each data set to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write_text(path, json.dumps(found, indent=1) + "\n")
