"""Estimate privately what a schema does not declare.

Bounds of dates and times: bought as those of whole numbers, in steps of their grid.

Steps are counted since 1970, or since midnight, over all that a calendar can write: years 1 to
9999, or a day.

What is wanted of a column with gaps, once its type is known, and the column that comes of it.

The questions that a schema is bought with, each paid for before it is asked.

One purchase: how its price is shared, and the schema that it gives.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
import math
import zoneinfo
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe._utils import validation
from tabpe.accounting import ROWS, Account, BillItem, Neighbours, NoiseSource
from tabpe.backends import Keeper, Surveyed
from tabpe.encoding.raw_cells import MAGNITUDES, Pieces
from tabpe.errors import ParameterError, SchemaError
from tabpe.measurement import Terms
from tabpe.measurement import raw_columns as measure
from tabpe.measurement.checkpoint import Plain
from tabpe.measurement.raw_columns import told_above
from tabpe.schema import (
    Boolean,
    Categorical,
    Column,
    Date,
    Datetime,
    Float,
    Integer,
    Outline,
    Schema,
    Sketch,
    Temporal,
    Time,
)
from tabpe.schema_inference import bounds, kinds
from tabpe.schema_inference.bounds import (
    CELLS,
    MISLED,
    Line,
    cuts_of,
    pieces_of,
    quantiles_of,
    threshold,
)
from tabpe.schema_inference.categories import Rows, kept_of_declared, listed
from tabpe.schema_inference.kinds import Reading

_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 (what clocks show, wherever they are)
_DAY = dt.timedelta(days=1) // dt.timedelta(microseconds=1)
# A day less on both sides, so that a time zone leads nowhere outside.
_FIRST_YEAR = (dt.datetime(1, 1, 2) - _EPOCH) // dt.timedelta(microseconds=1)  # noqa: DTZ001
_LAST_YEAR = (dt.datetime(9999, 12, 30) - _EPOCH) // dt.timedelta(microseconds=1)  # noqa: DTZ001


def temporal_probes(sketches: Iterable[Sketch]) -> dict[str, Temporal]:
    """Return a column for each one of dates or times with gaps: its cells are read by it.

    Example:
        >>> probes([Sketch("seen", Date)])["seen"].tick == 86_400 * 10**6
        True
    """
    return {
        sketch.name: _probe(sketch)
        for sketch in sketches
        if sketch.missing and sketch.kind is not None and issubclass(sketch.kind, Temporal)
    }


def declared_ticks(sketch: Sketch) -> tuple[int | None, int | None]:
    """Return the bounds that are declared, in steps; None for those that are not."""
    low, high = (_declared(sketch, bound) for bound in ("min", "max"))
    tick = _probe(sketch).tick
    return None if low is None else low // tick, None if high is None else -(-high // tick)


def temporal_bounds(sketch: Sketch, low: int, high: int) -> dict[str, Any]:
    """Return the bounds that were bought in steps, as the column has them.

    Where a bound is declared, or a zone has days of its own, the grid begins there: the other bound
    is a whole number of steps away.

    Example:
        >>> bounds_bought(Sketch("seen", Date, {"min": "2024-01-01"}), 19723, 19753)
        {'max': datetime.date(2024, 1, 31)}
    """
    probe = _probe(sketch)
    inside = (0, _DAY - 1) if isinstance(probe, Time) else (_FIRST_YEAR, _LAST_YEAR)
    first, last = (min(max(steps * probe.tick, inside[0]), inside[1]) for steps in (low, high))
    begin, end = (_declared(sketch, bound) for bound in ("min", "max"))
    if begin is None and end is not None:
        begin = end - -(-(end - first) // probe.tick) * probe.tick
    elif begin is None:
        begin = _grid_start(probe, first)
    if end is None:
        end = begin + (max(last, begin) - begin) // probe.tick * probe.tick
    found = {"min": _moment(probe, begin), "max": _moment(probe, end)}
    return {bound: found[bound] for bound in sketch.missing if bound in found}


def _probe(sketch: Sketch) -> Temporal:
    """Return the column with some bounds, of which nothing is read."""
    some = dt.time() if sketch.kind is Time else dt.date(2000, 1, 1).isoformat()
    return _only(sketch, sketch.fields.get("min", sketch.fields.get("max", some)))


def _only(sketch: Sketch, bound: Any) -> Temporal:
    """Return the column with a single value."""
    kind: Any = sketch.kind
    column: Temporal = kind(sketch.name, **{**sketch.fields, "min": bound, "max": bound})
    return column


def _declared(sketch: Sketch, bound: str) -> int | None:
    """Return a declared bound in microseconds since 1970 or midnight."""
    return _only(sketch, sketch.fields[bound]).first if bound in sketch.fields else None


def _grid_start(column: Temporal, first: int) -> int:
    """Return a bound moved back to where clocks show a whole number of steps."""
    if not isinstance(column, Datetime) or column.timezone is None:
        return first // column.tick * column.tick
    shown = _local(column, first)
    midnight = shown.replace(hour=0, minute=0, second=0, microsecond=0)
    since = (shown - midnight) // dt.timedelta(microseconds=1)
    return first - since % column.tick


def _moment(column: Temporal, since: int) -> dt.date | dt.datetime | dt.time:
    shown = _local(column, since)
    if isinstance(column, Date):
        return shown.date()
    return shown.time() if isinstance(column, Time) else shown


def _local(column: Temporal, since: int) -> dt.datetime:
    """Return what clocks show so many microseconds after 1970 began."""
    moment = _EPOCH + dt.timedelta(microseconds=since)
    zone = column.timezone if isinstance(column, Datetime) else None
    if zone is None:
        return moment
    return moment.replace(tzinfo=dt.UTC).astimezone(zoneinfo.ZoneInfo(zone)).replace(tzinfo=None)


@dataclass(frozen=True)
class Wanted:
    """A column whose type is known.

    Args:
        sketch: What is declared of it.
        kind: Its type.
        decimals: Of numbers: the digits after the point.
        values: Of a list of values: what they are.
        nullable: Whether some cells were found to be empty.
        zoned: Of instants: whether they were found to have a time zone.
    """

    sketch: Sketch
    kind: type[Column]
    decimals: int | None = None
    values: type = str
    nullable: bool = False
    zoned: bool = False

    @property
    def typed(self) -> Sketch:
        """What is declared, with the type that was found where none is."""
        if self.sketch.kind is not None:
            return self.sketch
        fields = {**self.sketch.fields, **self._zone}
        return Sketch(self.sketch.name, self.kind, fields, open=self.kind is Time)

    @property
    def _zone(self) -> dict[str, str]:
        return {"timezone": "UTC"} if self.zoned else {}

    @property
    def lacks_bounds(self) -> bool:
        """Whether it is a number, a date or a time of which a bound is to be bought."""
        number = issubclass(self.kind, (Integer, Float, Temporal))
        return number and not {"quantiles"} >= set(self.sketch.missing)

    @property
    def lacks_quantiles(self) -> bool:
        """Whether its quantiles are to be bought."""
        return "quantiles" in self.sketch.missing

    @property
    def is_top(self) -> bool:
        """Whether the most common ones of its declared values are to be bought."""
        return self.sketch.top is not None and "values" in self.sketch.fields

    def even(self, bounds: Mapping[str, Any]) -> Integer | Float:
        """Return the column of numbers on an even scale, with bounds where it lacks them."""
        declared = {key: value for key, value in self.sketch.fields.items() if key != "scale"}
        column = self.kind(self.sketch.name, **{**declared, **bounds})
        if not isinstance(column, (Integer, Float)):
            raise TypeError(self.sketch.name)
        return column

    def filled(self, **bought: Any) -> Column:
        """Return the column, with what was bought where nothing is declared."""
        more = {"nullable": True} if self.nullable else {}
        return self.sketch.filled(self.kind, **bought, **self._zone, **more)


def declared(sketch: Sketch) -> Wanted:
    """Return what is wanted of a column whose type is declared."""
    if sketch.kind is None:
        raise AssertionError("a type is bought first")
    decimals = 0 if sketch.kind is not Float else sketch.fields.get("decimals")
    other = sketch.fields.get("other")
    declared = sketch.fields.get("values", () if other is None else (other,))
    return Wanted(sketch, sketch.kind, decimals, type(declared[0]) if declared else str)


def read_as(sketch: Sketch, reading: Reading, *, is_label: bool) -> Wanted:
    """Return what is wanted of a column whose type was bought."""
    if is_label and reading.kind is Float:
        raise SchemaError(
            f"label={sketch.name!r} holds decimals: declare label_classes (how many classes there "
            f"should be), or its type, min, max and label_cuts, or declare it categorical."
        )
    if is_label and issubclass(reading.kind, Temporal):
        raise SchemaError(
            f"label={sketch.name!r} holds dates or times: take another column, or one made of it, "
            f"such as the year."
        )
    if is_label and reading.kind is Integer:
        return Wanted(sketch, Categorical, values=int, nullable=reading.nullable)
    return Wanted(
        sketch, reading.kind, reading.decimals, nullable=reading.nullable, zoned=reading.zoned
    )


def span_of(one: Wanted, counts: NDArray[np.float64], sigma: float) -> bounds.Span:
    """Return the range of a column of numbers by powers of two, with declared bounds kept."""
    name, fields = one.sketch.name, one.sketch.fields
    low, high = fields.get("min"), fields.get("max")
    if issubclass(one.kind, Temporal):
        low, high = declared_ticks(one.typed)
    span = bounds.span_of(counts, sigma, one.decimals, low=low, high=high)
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


def bounds_bought(one: Wanted, low: float, high: float) -> dict[str, Any]:
    """Return the fields of numbers, dates or times that are bought with these bounds."""
    if issubclass(one.kind, Temporal):
        return temporal_bounds(one.typed, round(low), round(high))
    whole = one.kind is Integer
    found: dict[str, Any] = {"min": int(low) if whole else low, "max": int(high) if whole else high}
    bought = {name: found[name] for name in found if name not in one.sketch.fields}
    if one.sketch.kind is None and one.kind is Float and one.decimals is not None:
        bought["decimals"] = one.decimals
    return bought


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


SCHEMA = "schema"
# The names of all items that answers about a schema may have on the bill.
QUESTIONS = frozenset(
    (
        SCHEMA,
        measure.KINDS,
        measure.MAGNITUDES,
        measure.BINS,
        measure.CUTS,
        measure.EVEN_CUTS,
        measure.VALUES,
        measure.COMMON,
        measure.QUANTILES,
    )
)
ASSUMED_PUBLIC = "the names of the columns"


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
        >>> most_histograms(Outline.of(None).completed(["age"]))
        3
    """
    unknown = sum(sketch.kind is None for sketch in outline.columns)
    bent = sum("quantiles" in sketch.missing for sketch in outline.columns)
    return unknown + 2 * (_questions(outline) - bent) + bent + 2 * outline.lacks_cuts


def planned_item(
    outline: Outline, *, loss: float, chance: float, neighbours: Neighbours = ROWS
) -> BillItem | None:
    """Return one item in the place of all that a purchase will agree on; None if it buys nothing.

    It takes the same loss in all, as many histograms as any answers lead to, and as much of delta.
    So it can stand in a ledger until the items are known.

    Example:
        >>> outline = Outline.of(None).completed(["age"])
        >>> item = planned_item(outline, loss=0.02, chance=1e-8)
        >>> item.times, round(item.sigma)
        (3, 12)
    """
    times = most_histograms(outline)
    taken = chance if any(map(_may_list, outline.columns)) else 0.0
    return priced(SCHEMA, times, loss, taken, neighbours) if times else None


def buy_schema(
    outline: Outline,
    keeper: Keeper,
    *,
    loss: float,
    chance: float,
    account: Account,
    noise: NoiseSource,
    neighbours: Neighbours = ROWS,
    once: Once = lambda _, ask: ask(),
) -> Bought:
    """Return the schema of a table, with what `outline` lacks bought.

    Privacy: rows are read by `tabpe.measurement` alone. The items that are agreed on and charged
    here have `squared_distance * times / sigma^2` of at most `loss` in all, and take at most
    `chance` of delta in all, whatever the rows are. What is decided from noisy counts costs nothing
    more.

    Args:
        outline: What is declared, completed by the columns of the table.
        keeper: The table, and who counts in it; for users, if neighbours differ by one.
        loss: The squared Gaussian-DP parameter that the schema may take.
        chance: The part of delta that the schema may take.
        account: Agrees and is charged.
        noise: The source of noise.
        neighbours: The neighbouring relation.
        once: Called with the name of an item of the bill and what asks for it; returns the answer.
            It may remember answers, which are noisy and plain values, if it charges for them.

    Raises:
        SchemaError: If something can not be bought; it says what to declare.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.backends import LoneKeeper
        >>> from tabpe.io import open_source
        >>> from tabpe.accounting import OpenDPNoise
        >>> from tabpe._utils.resources import Resources
        >>> rows = pa.table({"age": [18, 35, 70, 85] * 900, "ill": [True, False] * 1800})
        >>> table = open_source(rows)
        >>> keeper = LoneKeeper(table, None, Resources.of())
        >>> outline = Outline.of(None).completed(table.names)
        >>> outline.missing
        ('age.type', 'ill.type')
        >>> account, noise = Account(), OpenDPNoise()
        >>> bought = buy_schema(
        ...     outline, keeper, loss=0.1, chance=1e-8, account=account, noise=noise)
        >>> bought.schema.fields_bought
        ('age.type', 'age.min', 'age.max', 'ill.type')
        >>> [item.name for item in account.spent]
        ['kinds of columns', 'bounds, powers of two', 'bounds, bins']
    """
    validation.real("loss", loss, above=0)
    validation.real("chance", chance, above=0, below=1)
    terms = Terms(account, noise, neighbours)
    desk = Desk(keeper.survey(), terms, outline.listed_labels, once)
    gaps = _gaps(outline)
    unknown = [sketch for sketch in gaps if sketch.kind is None]
    weight = KIND_WEIGHT * len(unknown)
    each = loss / max(weight + _questions(outline) + outline.lacks_cuts, 1)
    desk.check_noise(each)
    wanted = {sketch.name: declared(sketch) for sketch in gaps if sketch.kind is not None}
    rows = None
    if unknown:
        read, rows = desk.kinds(unknown, each * weight)
        wanted |= read
    # How cells of dates and times are read is known once their types are.
    probes = temporal_probes(one.typed for one in wanted.values())
    desk = dataclasses.replace(desk, survey=keeper.survey(probes))
    asked, for_cuts = _Asked.of(wanted.values()), each * outline.lacks_cuts
    left = (loss - each * weight - for_cuts) / max(asked.count, 1)
    columns = {name: one.filled() for name, one in wanted.items() if one.kind is Boolean}
    if asked.lists:
        columns |= desk.categories(asked.lists, left * len(asked.lists), chance, rows)
    if asked.tops:
        columns |= desk.common(asked.tops, left * len(asked.tops))
    columns |= _numbers(desk, asked, left)
    cuts = None
    if outline.lacks_cuts:
        cuts = desk.cuts(outline.label_column(columns), outline.label_classes or 1, for_cuts)
    return Bought(outline.filled(columns, cuts), tuple(desk.notes))


@dataclass(frozen=True)
class _Asked:
    """What is asked of columns, once their types are known."""

    lists: list[Wanted]
    tops: list[Wanted]
    unbounded: list[Wanted]
    bent: list[Wanted]

    @classmethod
    def of(cls, wanted: Iterable[Wanted]) -> _Asked:
        columns = list(wanted)
        listed = [one for one in columns if one.kind is Categorical]
        return cls(
            lists=[one for one in listed if not one.is_top],
            tops=[one for one in listed if one.is_top],
            unbounded=[one for one in columns if one.lacks_bounds],
            bent=[one for one in columns if one.lacks_quantiles],
        )

    @property
    def count(self) -> int:
        return len(self.lists) + len(self.tops) + len(self.unbounded) + len(self.bent)


def _numbers(desk: Desk, asked: _Asked, each: float) -> dict[str, Column]:
    """Buy bounds first, and quantiles between them."""
    wanted = {one.sketch.name: one for one in (*asked.unbounded, *asked.bent)}
    bought: dict[str, dict[str, Any]] = {name: {} for name in wanted}
    if asked.unbounded:
        bought |= desk.bounds(asked.unbounded, each * len(asked.unbounded))
    if asked.bent:
        even = {one.sketch.name: one.even(bought[one.sketch.name]) for one in asked.bent}
        for name, found in desk.quantiles(even, each * len(even)).items():
            bought[name]["quantiles"] = found
    return {name: one.filled(**bought[name]) for name, one in wanted.items()}


def _questions(outline: Outline) -> int:
    """Return how often a column is asked for its bounds or values, or for its quantiles."""
    gaps = [sketch.missing for sketch in outline.columns]
    return sum(bool(set(gap) - {"quantiles"}) + ("quantiles" in gap) for gap in gaps)


def _may_list(sketch: Sketch) -> bool:
    """Whether a column may be asked for the values that occur in it."""
    if sketch.kind is None or not sketch.missing:
        return sketch.kind is None
    return sketch.kind is Categorical and not (sketch.top and "values" in sketch.fields)


def _gaps(outline: Outline) -> list[Sketch]:
    return [sketch for sketch in outline.columns if sketch.missing]
