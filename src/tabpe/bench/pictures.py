"""Figures of what is kept beside the records: rows and measures of single rounds, rows as pictures.

What is kept of a run is a mapping: `rows` and `real_rows` by column, the label last, and `rounds`,
by number, each with its `rows` and `metrics`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tabpe.bench.curves import draw_lines
from tabpe.bench.exhibits import FigureEntry, NothingDoneError
from tabpe.bench.fields import METHODS, REAL, label_of, ordered, value_of
from tabpe.bench.measures import measure
from tabpe.bench.records import Record
from tabpe.bench.style import SOFT, legend_below, looks, panels
from tabpe.bench.summary import DONE, Spread, grouped
from tabpe.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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


def depths(found: Mapping[str, Mapping[int, float]]) -> Figure:
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
