"""Figures of many settings: what a search found, how settings rank, how mutation rates fall."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tabpe.bench.exhibits import FigureEntry
from tabpe.bench.fields import label_of, ordered, title_of, value_of
from tabpe.bench.measures import measure
from tabpe.bench.records import Record
from tabpe.bench.strategy import evolution_only, strategy_in
from tabpe.bench.style import legend_below, looks, panels
from tabpe.bench.summary import grouped, summary_of
from tabpe.evolve import Evolution
from tabpe.evolve.schedule import mutation_rate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
