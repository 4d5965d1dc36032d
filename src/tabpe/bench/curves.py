"""Figures of measures: lines, bars, and a marker for each setting."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tabpe.bench.exhibits import FigureEntry
from tabpe.bench.fields import REAL, label_of, ordered, title_of, value_of
from tabpe.bench.measures import Measure, measure
from tabpe.bench.records import Record
from tabpe.bench.style import SOFT, Look, legend_below, logarithmic, looks, panels, short, ticked
from tabpe.bench.summary import Spread, grouped, summaries, summary_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
