"""Methods against one of them: beside each mean of a table, by how much it differs.

    tables:
      - {name: gain, title: Gain, rows: [case, method], metrics: [accuracy, 1-wd], against: Paper}
      - {name: overall, title: Over all data, rows: [method], metrics: [accuracy], against: Paper}

Where rows name no data, means are over data sets: each counts once, whatever its seeds, and the
interval tells how the difference varies from data set to data set.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tabpe.bench.cells import NOTHING, Cell, Column
from tabpe.bench.exhibits import TableEntry
from tabpe.bench.fields import label_of, value_of
from tabpe.bench.measures import Measure, measure
from tabpe.bench.paired import CONFIDENCE, Difference, by_factor, paired
from tabpe.bench.records import Record
from tabpe.bench.summary import DONE, Key, Spread, Summary, grouped, summaries
from tabpe.errors import ParameterError, did_you_mean

Cells = dict[Key, Cell]
EACH_BY_ITSELF = f"each of {CONFIDENCE:.0%} by itself, whatever their number"


@dataclass(frozen=True)
class Comparison:
    """Runs, by what a table tells apart and by their data.

    Args:
        entry: What the table holds.
        groups: The runs; the first part of a key is the data, where the rows name none.

    Example:
        >>> entry = TableEntry("a", "A", ("accuracy",), rows=("case", "method"), against="Paper")
        >>> Comparison.of(entry, []).found
        {}
    """

    entry: TableEntry
    groups: Mapping[Key, Sequence[Record]]

    @classmethod
    def of(cls, entry: TableEntry, records: Sequence[Record]) -> Comparison:
        """Return the comparison that a table asks for.

        Raises:
            ParameterError: If no run is of the method that the others are compared with.
        """
        known = dict.fromkeys(record.called for record in records)
        if records and entry.against not in known:
            hint = did_you_mean(entry.against, known)
            raise ParameterError(f"{entry.name}: against={entry.against!r}: no such method: {hint}")
        fields = _fields(entry)
        return cls(entry, grouped(records, lambda run: tuple(value_of(run, f) for f in fields)))

    @property
    def found(self) -> dict[Key, Summary]:
        """What is shown of the runs in each place."""
        runs = [run for group in self.groups.values() for run in group]
        found = summaries(runs, _fields(self.entry), self.entry.metrics, where=self.entry.name)
        if not self.entry.over_data:
            return found
        return {key: _over_data([found[each] for each in keys]) for key, keys in self._places()}

    def columns(self, shown: Measure) -> list[tuple[Column, Cells]]:
        """Return what stands beside the means of a measure."""
        apart = f"against {label_of('method', self.entry.against)}"
        if not self.entry.over_data:
            cells = {key: _cell(self._difference(key, shown), shown) for key in self.groups}
            return [(Column(apart, beside=True), cells)]
        means: Cells = {}
        counts: Cells = {}
        for key, keys in self._places():
            each = [found for one in keys if (found := self._difference(one, shown))]
            over = Difference.of([one.mean for one in each]) if each else None
            means[key], counts[key] = _cell(over, shown), _counted(each, shown)
        return [
            (Column(apart, beside=True), means),
            (Column("better / worse / data", beside=True), counts),
        ]

    @property
    def notes(self) -> tuple[str, ...]:
        """What the numbers beside are of."""
        against = label_of("method", self.entry.against)
        kinds = dict.fromkeys(by_factor(measure(name)) for name in self.entry.metrics)
        how = " or ".join("as a factor" if factor else "in points" for factor in kinds)
        if not self.entry.over_data:
            told = f"Against {against}: seed by seed, {how}, with Student's interval for the mean"
            return (f"{told}, {EACH_BY_ITSELF}.",)
        told = f"Against {against}: the mean over data sets of their mean differences, {how}"
        better = (
            "Better and worse: data sets whose own interval over seeds leaves out no difference"
        )
        return (f"{told}, with Student's interval over data sets.", f"{better}, {EACH_BY_ITSELF}.")

    def _places(self) -> list[tuple[Key, list[Key]]]:
        places: dict[Key, list[Key]] = {}
        for key in self.groups:
            places.setdefault(key[1:], []).append(key)
        return list(places.items())

    def _difference(self, key: Key, shown: Measure) -> Difference | None:
        """Return by how much the runs in one place differ; None for those compared with."""
        other = (*key[:-1], self.entry.against)
        if key == other or other not in self.groups:
            return None
        return paired(self.groups[key], self.groups[other], shown)


def _fields(entry: TableEntry) -> tuple[str, ...]:
    return ("case", *entry.rows) if entry.over_data else entry.rows


def _over_data(summaries_: Sequence[Summary]) -> Summary:
    """Return the mean over data sets, each of which counts once."""
    done = [each for each in summaries_ if each.outcome == DONE]
    if not done:
        return summaries_[0]
    names = dict.fromkeys(name for each in done for name in each.values)
    values = {
        name: Spread(Spread.of([e.values[name].mean for e in done if name in e.values]).mean)
        for name in names
    }
    return Summary(DONE, values, seeds=min(each.seeds for each in done))


def _cell(found: Difference | None, shown: Measure) -> Cell:
    return Cell(NOTHING, "words") if found is None else Cell(told(found, shown))


def told(found: Difference, shown: Measure) -> str:
    """Return a difference as text: in points, or as a factor.

    Example:
        >>> told(Difference(0.052, 0.041, 0.063, 5), measure("accuracy"))
        '+5.20 (+4.10 to +6.30)'
        >>> told(Difference(math.log(0.5)), measure("1-wd"))
        'x 0.50'
    """

    def written(value: float) -> str:
        return f"{math.exp(value):.2f}" if by_factor(shown) else f"{shown.scale * value:+.2f}"

    sign = "x " if by_factor(shown) else ""
    interval = ""
    if found.low is not None and found.high is not None:
        interval = f" ({written(found.low)} to {written(found.high)})"
    return f"{sign}{written(found.mean)}{interval}"


def _counted(found: Sequence[Difference], shown: Measure) -> Cell:
    """Return on how many data sets a method is better, and on how many worse."""
    if not found:
        return Cell(NOTHING, "words")
    up, down = (sum(each.sign == sign for each in found) for sign in (1, -1))
    better, worse = (down, up) if shown.better == "lower" else (up, down)
    return Cell(f"{better} / {worse} / {len(found)}")
