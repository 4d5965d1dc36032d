"""The questions that a schema is bought with, each paid for before it is asked."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe.buying.wanted import Wanted, bounds_bought, read_as, span_of
from tabpe.domain import bounds, kinds
from tabpe.domain.categories import Rows, kept_of_declared, listed
from tabpe.domain.cuts import CELLS, Line, cuts_of
from tabpe.domain.evidence import MISLED, threshold
from tabpe.domain.quantiles import pieces_of, quantiles_of
from tabpe.domain.raw import MAGNITUDES, Pieces
from tabpe.domain.told import told_above
from tabpe.engines import Surveyed
from tabpe.errors import ParameterError, SchemaError
from tabpe.journal import Plain
from tabpe.measure import Terms
from tabpe.measure import domain as measure
from tabpe.privacy import BillItem, Neighbours
from tabpe.schema import Categorical, Column, Float, Integer, Sketch

# What telling the kind of a column weighs against telling its bounds or values.
KIND_WEIGHT = 0.25
# Keeps sums of floats below what they are a part of.
_BELOW = 1 - 1e-12
_NAMED = 8

Once = Callable[[str, Callable[[], Plain]], Plain]


@dataclass(frozen=True, eq=False)
class Desk:
    """Where questions are paid for and asked.

    Args:
        survey: Counts the cells; it is handed on to `measure` and asked nothing here.
        terms: On which terms rows are read.
        labels: Names of the labels whose values are classes.
        once: Asks, or returns what it remembers.
        notes: What a reader of the certificate should know; grows.
    """

    survey: Surveyed
    terms: Terms
    labels: tuple[str, ...]
    once: Once
    notes: list[str] = field(default_factory=list)

    def check_noise(self, each: float) -> None:
        """Refuse a source that can not draw as much noise, before a row is read."""
        neighbours, largest = self.terms.neighbours, self.terms.noise.largest_sigma
        sigma = math.sqrt(neighbours.squared_distance / (each * KIND_WEIGHT))
        if sigma * neighbours.scale > largest:
            raise ParameterError(
                f"noise: to buy a schema takes a sigma of up to {sigma:.3g}, and the source draws "
                f"up to {largest / neighbours.scale:g}. Use noise='opendp', declare more, or give "
                f"the schema a larger part of the budget."
            )

    def agree(self, name: str, loss: float, times: int, chance: float = 0.0) -> BillItem:
        """Put `times` histograms on the bill that take `loss` and `chance` in all."""
        item = priced(name, times, loss, chance, self.terms.neighbours)
        self.terms.account.agree(item)
        return item

    def _counts(self, name: str, ask: Callable[..., measure.Counts], asked: Any) -> measure.Counts:
        """Return noisy counts, asked for or remembered."""
        answer = self.once(
            name, lambda: {c: n.tolist() for c, n in ask(self.survey, asked, self.terms).items()}
        )
        return {column: np.array(counts, dtype=np.float64) for column, counts in answer.items()}

    def _values(self, asked: Mapping[str, type]) -> dict[str, dict[Any, float]]:
        """Return the values that were told, asked for or remembered."""
        answer = self.once(
            measure.VALUES,
            lambda: {
                column: [[value, count] for value, count in told.items()]
                for column, told in measure.values(self.survey, asked, self.terms).items()
            },
        )
        return {column: dict(told) for column, told in answer.items()}

    def kinds(
        self, sketches: Sequence[Sketch], loss: float
    ) -> tuple[dict[str, Wanted], Rows | None]:
        """Buy what columns read as. All kinds sum up to the number of rows, which comes along."""
        item = self.agree(measure.KINDS, loss, len(sketches))
        names = [sketch.name for sketch in sketches]
        counts = self._counts(measure.KINDS, measure.kinds, names)
        seen = 2 * kinds.noticed(item.sigma)
        self.notes.append(
            f"types bought for {_named(names)}: cells of another kind are noticed if they are more "
            f"than {seen:,.0f}"
        )
        read = {
            sketch.name: read_as(
                sketch,
                kinds.reading_of(sketch.name, counts[sketch.name], item.sigma),
                is_label=sketch.name in self.labels,
            )
            for sketch in sketches
        }
        # The vector of a user sums up to another number in each histogram.
        return read, None if self.terms.neighbours.of_users else _rows(counts, item.sigma)

    def categories(
        self,
        wanted: Sequence[Wanted],
        loss: float,
        chance: float,
        rows: Rows | None,
    ) -> dict[str, Column]:
        """Buy lists of values."""
        item = self.agree(measure.VALUES, loss, len(wanted), chance)
        asked = {one.sketch.name: one.values for one in wanted}
        told = self._values(asked)
        least, who = told_above(item.sigma, item.chance), self._who
        self.notes.append(
            f"values bought for {_named(asked)}: those of fewer than about {least:,} {who} are "
            f"not listed"
        )
        columns: dict[str, Column] = {}
        for one in wanted:
            name, found = one.sketch.name, told[one.sketch.name]
            # A label should not get a class without rows.
            apart = name not in self.labels and (rows is None or rows.exceed(found, item.sigma))
            apart |= one.sketch.top is not None and len(found) > one.sketch.top
            column = listed(one.sketch, found, apart=apart, nullable=one.nullable)
            columns[name] = column
            known = {*found, *one.sketch.fields.get("values", ())}
            if column.other in known and "other" not in one.sketch.fields:
                self.notes.append(
                    f"values of {name!r} that are not listed count as the most common one"
                )
        return columns

    def common(self, wanted: Sequence[Wanted], loss: float) -> dict[str, Column]:
        """Buy which of the declared values are the most common ones."""
        item = self.agree(measure.COMMON, loss, len(wanted))
        asked = {
            one.sketch.name: Categorical(one.sketch.name, one.sketch.fields["values"])
            for one in wanted
        }
        counts = self._counts(measure.COMMON, measure.listed, asked)
        self.notes.append(
            f"most common values bought for {_named(asked)}: all others count as one; so do those "
            f"of declared ones whose noisy count is not above the noise on it, of sigma "
            f"{item.sigma:,.0f}"
        )
        return {
            one.sketch.name: kept_of_declared(
                one.sketch, counts[one.sketch.name].tolist(), item.sigma
            )
            for one in wanted
        }

    def quantiles(
        self, columns: Mapping[str, Integer | Float], loss: float
    ) -> dict[str, tuple[float, ...]]:
        """Buy quantiles of numbers whose bounds are known."""
        item = self.agree(measure.QUANTILES, loss, len(columns))
        asked = {name: pieces_of(column) for name, column in columns.items()}
        counts = self._counts(measure.QUANTILES, measure.quantiles, asked)
        most = max(item.sigma * math.sqrt(pieces.count) for pieces in asked.values())
        self.notes.append(
            f"quantiles bought for {_named(asked)}: each is off by noise of up to about "
            f"{most:,.0f} {self._who}"
        )
        return {
            name: quantiles_of(column, counts[name], item.sigma) for name, column in columns.items()
        }

    def bounds(self, wanted: Sequence[Wanted], loss: float) -> dict[str, dict[str, Any]]:
        """Buy bounds of numbers, dates and times; return the fields that were bought."""
        coarse = self.agree(measure.MAGNITUDES, loss / 2, len(wanted))
        names = [one.sketch.name for one in wanted]
        counts = self._counts(measure.MAGNITUDES, measure.magnitudes, names)
        spans = {
            one.sketch.name: span_of(one, counts[one.sketch.name], coarse.sigma) for one in wanted
        }
        ranges = {name: (span.low, span.high) for name, span in spans.items()}
        wide = {name: span for name, span in spans.items() if span.low < span.high}
        if wide:
            fine = self.agree(measure.BINS, loss / 2, len(wide))
            asked = {name: span.bins for name, span in wide.items()}
            binned = self._counts(measure.BINS, measure.bins, asked)
            for name, span in wide.items():
                ranges[name] = bounds.trimmed(span, binned[name], fine.sigma)
        most = 2 * threshold(coarse.sigma, MAGNITUDES)
        self.notes.append(
            f"bounds bought for {_named(names)}: with a chance of {1 - MISLED:.1%} each, no power "
            f"of two beyond them holds more than {most:,.0f} {self._who}; what is outside counts "
            f"as on the bound"
        )
        return {one.sketch.name: bounds_bought(one, *ranges[one.sketch.name]) for one in wanted}

    def cuts(self, column: Column, classes: int, loss: float) -> tuple[float, ...]:
        """Buy where the classes of a numeric label begin."""
        if not isinstance(column, (Integer, Float)):
            raise SchemaError(
                f"label_classes={classes}: {column.name!r} is of type {column.type_name}, whose "
                f"values are its classes: leave label_classes out."
            )
        line = Line(column)
        edges, parts = line.even, 1 if line.is_resolved else 2
        counts, sigma = self._binned(measure.CUTS, column.name, edges, loss / parts)
        if not line.is_resolved:
            edges = line.levelled(edges, counts)
            counts, sigma = self._binned(measure.EVEN_CUTS, column.name, edges, loss / parts)
        cuts = cuts_of(line, edges, counts, classes)
        self.notes.append(_told_cuts(column.name, len(cuts) + 1, classes, sigma))
        return cuts

    def _binned(
        self, name: str, column: str, edges: Pieces, loss: float
    ) -> tuple[NDArray[np.float64], float]:
        sigma = self.agree(name, loss, 1).sigma
        ask = partial(measure.bins, name=name)
        return self._counts(name, ask, {column: edges})[column], sigma

    @property
    def _who(self) -> str:
        return "users" if self.terms.neighbours.of_users else "rows"


def priced(name: str, times: int, loss: float, chance: float, neighbours: Neighbours) -> BillItem:
    """Return an item of `times` histograms that take `loss` and `chance` in all, and no more."""
    sigma = math.sqrt(neighbours.squared_distance * times / (loss * _BELOW))
    return BillItem(name, sigma, times, chance * _BELOW / (neighbours.cells * times))


def _told_cuts(name: str, found: int, asked: int, sigma: float) -> str:
    off = sigma * math.sqrt(CELLS / 2)
    told = (
        f"classes of {name!r} bought: {found}, cut where noisy counts say that each holds about as "
        f"many rows, give or take {off:,.0f}"
    )
    if found == asked:
        return told
    return f"{told}; {asked} were asked for, and its values do not divide into as many"


def _rows(counts: Mapping[str, NDArray[np.float64]], sigma: float) -> Rows:
    """Return the number of rows by the sums of several noisy histograms."""
    sums = [float(cells.sum()) for cells in counts.values()]
    cells = sum(len(cells) for cells in counts.values())
    return Rows(sum(sums) / len(sums), sigma**2 * cells / len(sums) ** 2)


def _named(names: Collection[str]) -> str:
    first = ", ".join(repr(name) for name in itertools.islice(names, _NAMED))
    return first if len(names) <= _NAMED else f"{first} and {len(names) - _NAMED} more columns"
