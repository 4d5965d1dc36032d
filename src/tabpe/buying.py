"""A schema from an outline: what is not declared is bought with a part of the budget.

The price is known before a row is read, whatever the rows are: all items together take at most a
given loss, and a given part of delta. Columns share it evenly. First it is asked what a column
reads as, then for the bounds of numbers and the values of the rest.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe import _validate
from tabpe.domain import bounds, kinds
from tabpe.domain.bounds import Span
from tabpe.domain.categories import Rows, listed, told_above
from tabpe.domain.evidence import MISLED, threshold
from tabpe.domain.kinds import Reading
from tabpe.engines import Survey, Users
from tabpe.errors import ParameterError, SchemaError
from tabpe.io import Source
from tabpe.measure import domain as measure
from tabpe.privacy import ROWS, Account, BillItem, Neighbours, NoiseSource
from tabpe.schema import Boolean, Categorical, Column, Float, Integer, Outline, Schema, Sketch
from tabpe.schema.outline import Storage

ASSUMED_PUBLIC = "the names and storage types of the columns"
# What telling the kind of a column weighs against telling its bounds or values.
KIND_WEIGHT = 0.25
_NAMED = 8
# Keeps sums of floats below what they are a part of.
_BELOW = 1 - 1e-12


@dataclass(frozen=True)
class Bought:
    """A schema without gaps.

    Args:
        schema: The schema; what was bought is marked.
        notes: What a reader of the certificate should know about it.
    """

    schema: Schema
    notes: tuple[str, ...] = ()


def most_histograms(outline: Outline) -> int:
    """Return how many histograms a purchase may take, before a row is read.

    Example:
        >>> most_histograms(Outline.of(None).completed({"age": "string", "ill": "bool"}))
        3
    """
    unknown = sum(sketch.kind is None for sketch in outline.columns)
    return unknown + 2 * len(_gaps(outline))


def buy_schema(
    outline: Outline,
    source: Source,
    *,
    loss: float,
    chance: float,
    account: Account,
    noise: NoiseSource,
    neighbours: Neighbours = ROWS,
    users: Users | None = None,
) -> Bought:
    """Return the schema of a table, with what `outline` lacks bought.

    Privacy: rows are read by `tabpe.measure` alone. The items that are agreed on and charged here
    have `squared_distance * times / sigma^2` of at most `loss` in all, and take at most `chance` of
    delta in all, whatever the rows are. What is decided from noisy counts costs nothing more.

    Args:
        outline: What is declared, completed by the columns of the table.
        source: The table.
        loss: The squared Gaussian-DP parameter that the schema may take.
        chance: The part of delta that the schema may take.
        account: Agrees and is charged.
        noise: The source of noise.
        neighbours: The neighbouring relation.
        users: Which rows count, and whose they are, if neighbours differ by a user.

    Raises:
        SchemaError: If something can not be bought; it says what to declare.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.io import open_source
        >>> from tabpe.privacy import OpenDPNoise
        >>> rows = pa.table({"age": [18, 35, 70, 85] * 900, "ill": [True, False] * 1800})
        >>> table = open_source(rows)
        >>> outline = Outline.of(None).completed(table.form.arrow_types)
        >>> outline.missing
        ('age.min', 'age.max')
        >>> account, noise = Account(), OpenDPNoise()
        >>> bought = buy_schema(
        ...     outline, table, loss=0.1, chance=1e-8, account=account, noise=noise)
        >>> bought.schema.fields_bought, [item.name for item in account.spent]
        (('age.min', 'age.max'), ['bounds, powers of two', 'bounds, bins'])
    """
    _validate.real("loss", loss, above=0)
    _validate.real("chance", chance, above=0, below=1)
    terms = measure.Terms(account, noise, neighbours)
    desk = _Desk(Survey(source, users, neighbours.scale), terms, outline.label)
    gaps = _gaps(outline)
    unknown = [sketch for sketch in gaps if sketch.kind is None]
    weight = KIND_WEIGHT * len(unknown)
    each = loss / max(weight + len(gaps), 1)
    desk.check_noise(each)
    wanted = {sketch.name: _declared(sketch) for sketch in gaps if sketch.kind is not None}
    notes: list[str] = []
    rows = None
    if unknown:
        read, rows = desk.kinds(unknown, each * weight, notes)
        wanted |= read
    lists = [one for one in wanted.values() if one.kind is Categorical]
    numbers = [one for one in wanted.values() if one.kind in (Integer, Float)]
    left = (loss - each * weight) / max(len(lists) + len(numbers), 1)
    columns = {name: one.filled() for name, one in wanted.items() if one.kind is Boolean}
    if lists:
        columns |= desk.categories(lists, left * len(lists), chance, rows, notes)
    if numbers:
        columns |= desk.bounds(numbers, left * len(numbers), notes)
    return Bought(outline.filled(columns), tuple(notes))


@dataclass(frozen=True)
class _Wanted:
    """A column whose type is known.

    Args:
        sketch: What is declared of it.
        kind: Its type.
        decimals: Of numbers: the digits after the point.
        values: Of a list of values: what they are.
    """

    sketch: Sketch
    kind: type[Column]
    decimals: int | None = None
    values: type = str

    def filled(self, **bought: Any) -> Column:
        """Return the column, with what was bought where nothing is declared."""
        return self.sketch.filled(self.kind, **bought)


@dataclass(frozen=True, eq=False)
class _Desk:
    """Where questions are paid for and asked."""

    survey: Survey
    terms: measure.Terms
    label: str | None

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
        sigma = math.sqrt(self.terms.neighbours.squared_distance * times / (loss * _BELOW))
        item = BillItem(name, sigma, times, chance * _BELOW / (self.terms.neighbours.cells * times))
        self.terms.account.agree(item)
        return item

    def kinds(
        self, sketches: Sequence[Sketch], loss: float, notes: list[str]
    ) -> tuple[dict[str, _Wanted], Rows | None]:
        """Buy what columns read as. All kinds sum up to the number of rows, which comes along."""
        item = self.agree(measure.KINDS, loss, len(sketches))
        names = [sketch.name for sketch in sketches]
        counts = measure.kinds(self.survey, names, self.terms)
        seen = 2 * threshold(item.sigma, kinds.KINDS)
        notes.append(
            f"types bought for {_named(names)}: cells of another kind are noticed if they are more "
            f"than {seen:,.0f}"
        )
        read = {
            sketch.name: self._read(
                sketch, kinds.reading_of(sketch.name, counts[sketch.name], item.sigma)
            )
            for sketch in sketches
        }
        # The vector of a user sums up to another number in each histogram.
        return read, None if self.terms.neighbours.of_users else _rows(counts, item.sigma)

    def _read(self, sketch: Sketch, reading: Reading) -> _Wanted:
        stored_as_float = sketch.storage is Storage.FLOAT
        if sketch.name == self.label and reading.kind is Float:
            raise SchemaError(
                f"label={sketch.name!r} holds decimals: declare its type, min, max and label_cuts "
                f"(the values at which a new class begins), or declare it categorical."
            )
        if sketch.name == self.label and reading.kind is Integer:
            return _Wanted(sketch, Categorical, values=float if stored_as_float else int)
        if stored_as_float and reading.kind is Categorical:
            raise SchemaError(
                f"column {sketch.name!r} holds infinite numbers: declare its min and max."
            )
        kind = Float if stored_as_float else reading.kind
        return _Wanted(sketch, kind, reading.decimals)

    def categories(
        self,
        wanted: Sequence[_Wanted],
        loss: float,
        chance: float,
        rows: Rows | None,
        notes: list[str],
    ) -> dict[str, Column]:
        """Buy lists of values."""
        item = self.agree(measure.VALUES, loss, len(wanted), chance)
        asked = {one.sketch.name: one.values for one in wanted}
        told = measure.values(self.survey, asked, self.terms)
        least, who = told_above(item.sigma, item.chance), self._who
        notes.append(
            f"values bought for {_named(asked)}: those of fewer than about {least:,} {who} are "
            f"not listed"
        )
        columns: dict[str, Column] = {}
        for one in wanted:
            name, found = one.sketch.name, told[one.sketch.name]
            # A label should not get a class without rows.
            apart = name != self.label and (rows is None or rows.exceed(found, item.sigma))
            column = listed(one.sketch, found, apart=apart)
            columns[name] = column
            known = {*found, *one.sketch.fields.get("values", ())}
            if column.other in known and "other" not in one.sketch.fields:
                notes.append(f"values of {name!r} that are not listed count as the most common one")
        return columns

    def bounds(self, wanted: Sequence[_Wanted], loss: float, notes: list[str]) -> dict[str, Column]:
        """Buy bounds of numbers."""
        coarse = self.agree(measure.MAGNITUDES, loss / 2, len(wanted))
        names = [one.sketch.name for one in wanted]
        counts = measure.magnitudes(self.survey, names, self.terms)
        spans = {one.sketch.name: _span(one, counts[one.sketch.name], coarse) for one in wanted}
        ranges = {name: (span.low, span.high) for name, span in spans.items()}
        wide = {name: span for name, span in spans.items() if span.low < span.high}
        if wide:
            fine = self.agree(measure.BINS, loss / 2, len(wide))
            asked = {name: span.bins for name, span in wide.items()}
            binned = measure.bins(self.survey, asked, self.terms)
            for name, span in wide.items():
                ranges[name] = bounds.trimmed(span, binned[name], fine.sigma)
        most = 2 * threshold(coarse.sigma, bounds.MAGNITUDES)
        notes.append(
            f"bounds bought for {_named(names)}: with a chance of {1 - MISLED:.1%} each, no power "
            f"of two beyond them holds more than {most:,.0f} {self._who}; what is outside counts "
            f"as on the bound"
        )
        return {one.sketch.name: _bounded(one, *ranges[one.sketch.name]) for one in wanted}

    @property
    def _who(self) -> str:
        return "users" if self.terms.neighbours.of_users else "rows"


def _gaps(outline: Outline) -> list[Sketch]:
    return [sketch for sketch in outline.columns if sketch.missing]


def _rows(counts: Mapping[str, NDArray[np.float64]], sigma: float) -> Rows:
    """Return the number of rows by the sums of several noisy histograms."""
    sums = [float(cells.sum()) for cells in counts.values()]
    cells = sum(len(cells) for cells in counts.values())
    return Rows(sum(sums) / len(sums), sigma**2 * cells / len(sums) ** 2)


def _declared(sketch: Sketch) -> _Wanted:
    """Return what is wanted of a column whose type is declared, or settled by how it is stored."""
    if sketch.kind is None:
        raise AssertionError("a type is bought first")
    decimals = 0 if sketch.kind is Integer else sketch.fields.get("decimals")
    declared = sketch.fields.get("values")
    stored = {Storage.WHOLE: int, Storage.FLOAT: float}.get(sketch.storage or Storage.TEXT, str)
    return _Wanted(sketch, sketch.kind, decimals, type(declared[0]) if declared else stored)


def _span(one: _Wanted, counts: NDArray[np.float64], item: BillItem) -> Span:
    name, fields = one.sketch.name, one.sketch.fields
    low, high = fields.get("min"), fields.get("max")
    span = bounds.span_of(counts, item.sigma, one.decimals, low=low, high=high)
    if span is None:
        raise SchemaError(
            f"column {name!r}: too few rows to tell its bounds under the noise: declare min and "
            f"max, drop it, or give the schema a larger part of the budget."
        )
    if span.low > span.high:
        side, beyond = ("min", "below") if high is None else ("max", "above")
        raise SchemaError(
            f"column {name!r}: its numbers seem to lie {beyond} the declared {side}: correct it."
        )
    return span


def _bounded(one: _Wanted, low: float, high: float) -> Column:
    whole = one.kind is Integer
    found: dict[str, Any] = {"min": int(low) if whole else low, "max": int(high) if whole else high}
    bought = {name: found[name] for name in found if name not in one.sketch.fields}
    if one.sketch.kind is None and one.kind is Float and one.decimals is not None:
        bought["decimals"] = one.decimals
    return one.filled(**bought)


def _named(names: Collection[str]) -> str:
    first = ", ".join(repr(name) for name in itertools.islice(names, _NAMED))
    return first if len(names) <= _NAMED else f"{first} and {len(names) - _NAMED} more columns"
