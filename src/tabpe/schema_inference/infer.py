"""Estimate privately what a schema does not declare: types, bounds, values, quantiles, cuts.

The budget is divided over columns before a row is read; each spend is charged before it is asked.
Bounds of dates and times are estimated as those of whole numbers, in steps of their grid since 1970
or since midnight, over all that a calendar can write: years 1 to 9999, or a day.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
import math
import zoneinfo
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe._utils import validation
from tabpe.accounting import ROW_LEVEL, NeighboringRelation, Spend
from tabpe.accounting.pld import LARGEST_SIGMA
from tabpe.backends.queries import (
    BinQuery,
    DeclaredValueQuery,
    KindQuery,
    MagnitudeQuery,
    ValueQuery,
)
from tabpe.encoding.raw_cells import MAGNITUDES, ClampedBins
from tabpe.errors import ParameterError, SchemaError
from tabpe.measurement import PrivateSession
from tabpe.measurement import raw_columns as measure
from tabpe.measurement.raw_columns import compute_release_threshold
from tabpe.schema import (
    Boolean,
    Categorical,
    Column,
    Date,
    Datetime,
    Float,
    Integer,
    PartialColumn,
    PartialSchema,
    Schema,
    Temporal,
    Time,
)
from tabpe.schema_inference import bounds, kinds
from tabpe.schema_inference.bounds import (
    CELLS,
    ERROR_PROBABILITY,
    CutGrid,
    build_quantile_bins,
    compute_noise_threshold,
    estimate_quantiles,
    find_cuts,
)
from tabpe.schema_inference.categories import (
    NoisyRowCount,
    build_categorical,
    select_declared_values,
)
from tabpe.schema_inference.kinds import InferredType

_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 (what clocks show, wherever they are)
_DAY = dt.timedelta(days=1) // dt.timedelta(microseconds=1)
# A day less on both sides, so that a time zone leads nowhere outside.
_FIRST_YEAR = (dt.datetime(1, 1, 2) - _EPOCH) // dt.timedelta(microseconds=1)  # noqa: DTZ001
_LAST_YEAR = (dt.datetime(9999, 12, 30) - _EPOCH) // dt.timedelta(microseconds=1)  # noqa: DTZ001


def build_temporal_probes(sketches: Iterable[PartialColumn]) -> dict[str, Temporal]:
    """Return a column for each one of dates or times with gaps: its cells are read by it.

    Example:
        >>> build_temporal_probes([PartialColumn("seen", Date)])["seen"].tick == 86_400 * 10**6
        True
    """
    return {
        sketch.name: _build_probe(sketch)
        for sketch in sketches
        if sketch.missing and sketch.kind is not None and issubclass(sketch.kind, Temporal)
    }


def get_declared_ticks(sketch: PartialColumn) -> tuple[int | None, int | None]:
    """Return the bounds that are declared, in steps; None for those that are not."""
    low, high = (_get_declared_bound(sketch, bound) for bound in ("min", "max"))
    tick = _build_probe(sketch).tick
    return None if low is None else low // tick, None if high is None else -(-high // tick)


def convert_temporal_bounds(sketch: PartialColumn, low: int, high: int) -> dict[str, Any]:
    """Return the bounds that were estimated in steps, as the column has them.

    Where a bound is declared, or a zone has days of its own, the grid begins there: the other bound
    is a whole number of steps away.

    Example:
        >>> convert_temporal_bounds(
        ...     PartialColumn("seen", Date, {"min": "2024-01-01"}), 19723, 19753
        ... )
        {'max': datetime.date(2024, 1, 31)}
    """
    probe = _build_probe(sketch)
    inside = (0, _DAY - 1) if isinstance(probe, Time) else (_FIRST_YEAR, _LAST_YEAR)
    first, last = (min(max(steps * probe.tick, inside[0]), inside[1]) for steps in (low, high))
    begin, end = (_get_declared_bound(sketch, bound) for bound in ("min", "max"))
    if begin is None and end is not None:
        begin = end - -(-(end - first) // probe.tick) * probe.tick
    elif begin is None:
        begin = _find_grid_start(probe, first)
    if end is None:
        end = begin + (max(last, begin) - begin) // probe.tick * probe.tick
    found = {"min": _convert_moment(probe, begin), "max": _convert_moment(probe, end)}
    return {bound: found[bound] for bound in sketch.missing if bound in found}


def _build_probe(sketch: PartialColumn) -> Temporal:
    """Return the column with some bounds, of which nothing is read."""
    some = dt.time() if sketch.kind is Time else dt.date(2000, 1, 1).isoformat()
    return _build_constant_column(sketch, sketch.fields.get("min", sketch.fields.get("max", some)))


def _build_constant_column(sketch: PartialColumn, bound: Any) -> Temporal:
    """Return the column with a single value."""
    kind: Any = sketch.kind
    column: Temporal = kind(sketch.name, **{**sketch.fields, "min": bound, "max": bound})
    return column


def _get_declared_bound(sketch: PartialColumn, bound: str) -> int | None:
    """Return a declared bound in microseconds since 1970 or midnight."""
    return (
        _build_constant_column(sketch, sketch.fields[bound]).first
        if bound in sketch.fields
        else None
    )


def _find_grid_start(column: Temporal, first: int) -> int:
    """Return a bound moved back to where clocks show a whole number of steps."""
    if not isinstance(column, Datetime) or column.timezone is None:
        return first // column.tick * column.tick
    shown = _get_local_time(column, first)
    midnight = shown.replace(hour=0, minute=0, second=0, microsecond=0)
    since = (shown - midnight) // dt.timedelta(microseconds=1)
    return first - since % column.tick


def _convert_moment(column: Temporal, since: int) -> dt.date | dt.datetime | dt.time:
    shown = _get_local_time(column, since)
    if isinstance(column, Date):
        return shown.date()
    return shown.time() if isinstance(column, Time) else shown


def _get_local_time(column: Temporal, since: int) -> dt.datetime:
    """Return what clocks show so many microseconds after 1970 began."""
    moment = _EPOCH + dt.timedelta(microseconds=since)
    zone = column.timezone if isinstance(column, Datetime) else None
    if zone is None:
        return moment
    return moment.replace(tzinfo=dt.UTC).astimezone(zoneinfo.ZoneInfo(zone)).replace(tzinfo=None)


@dataclass(frozen=True)
class ColumnRequest:
    """A column whose type is known.

    Args:
        declared: What is declared of it.
        kind: Its type.
        decimals: Of numbers: the digits after the point.
        values: Of a list of values: what they are.
        nullable: Whether some cells were found to be empty.
        zoned: Of instants: whether they were found to have a time zone.
    """

    declared: PartialColumn
    kind: type[Column]
    decimals: int | None = None
    values: type = str
    nullable: bool = False
    zoned: bool = False

    @property
    def typed(self) -> PartialColumn:
        """What is declared, with the type that was found where none is."""
        if self.declared.kind is not None:
            return self.declared
        fields = {**self.declared.fields, **self._zone}
        return PartialColumn(self.declared.name, self.kind, fields, open=self.kind is Time)

    @property
    def _zone(self) -> dict[str, str]:
        return {"timezone": "UTC"} if self.zoned else {}

    @property
    def lacks_bounds(self) -> bool:
        """Whether it is a number, a date or a time of which a bound is to be estimated."""
        number = issubclass(self.kind, (Integer, Float, Temporal))
        return number and not {"quantiles"} >= set(self.declared.missing)

    @property
    def lacks_quantiles(self) -> bool:
        """Whether its quantiles are to be estimated."""
        return "quantiles" in self.declared.missing

    @property
    def is_top(self) -> bool:
        """Whether the most common ones of its declared values are to be estimated."""
        return self.declared.top is not None and "values" in self.declared.fields

    def build_even_column(self, bounds: Mapping[str, Any]) -> Integer | Float:
        """Return the column of numbers on an even scale, with bounds where it lacks them."""
        declared = {key: value for key, value in self.declared.fields.items() if key != "scale"}
        column = self.kind(self.declared.name, **{**declared, **bounds})
        if not isinstance(column, (Integer, Float)):
            raise TypeError(self.declared.name)
        return column

    def build_column(self, **estimated: Any) -> Column:
        """Return the column, with what was estimated where nothing is declared."""
        more = {"nullable": True} if self.nullable else {}
        return self.declared.fill_gaps(self.kind, **estimated, **self._zone, **more)


def request_declared(sketch: PartialColumn) -> ColumnRequest:
    """Return what is wanted of a column whose type is declared."""
    if sketch.kind is None:
        raise AssertionError("a type is estimated first")
    decimals = 0 if sketch.kind is not Float else sketch.fields.get("decimals")
    other = sketch.fields.get("other")
    declared = sketch.fields.get("values", () if other is None else (other,))
    return ColumnRequest(sketch, sketch.kind, decimals, type(declared[0]) if declared else str)


def request_inferred(
    sketch: PartialColumn, reading: InferredType, *, is_label: bool
) -> ColumnRequest:
    """Return what is wanted of a column whose type was estimated."""
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
        return ColumnRequest(sketch, Categorical, values=int, nullable=reading.nullable)
    return ColumnRequest(
        sketch, reading.kind, reading.decimals, nullable=reading.nullable, zoned=reading.zoned
    )


def find_column_range(
    one: ColumnRequest, counts: NDArray[np.float64], sigma: float
) -> bounds.CoarseRange:
    """Return the range of a column of numbers by powers of two, with declared bounds kept."""
    name, fields = one.declared.name, one.declared.fields
    low, high = fields.get("min"), fields.get("max")
    if issubclass(one.kind, Temporal):
        low, high = get_declared_ticks(one.typed)
    span = bounds.find_coarse_range(counts, sigma, one.decimals, low=low, high=high)
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


def convert_bounds(one: ColumnRequest, low: float, high: float) -> dict[str, Any]:
    """Return the fields of numbers, dates or times that are estimated with these bounds."""
    if issubclass(one.kind, Temporal):
        return convert_temporal_bounds(one.typed, round(low), round(high))
    whole = one.kind is Integer
    found: dict[str, Any] = {"min": int(low) if whole else low, "max": int(high) if whole else high}
    estimated = {name: found[name] for name in found if name not in one.declared.fields}
    if one.declared.kind is None and one.kind is Float and one.decimals is not None:
        estimated["decimals"] = one.decimals
    return estimated


# What the kind of a column weighs against its bounds or values.
KIND_WEIGHT = 0.25
# Keeps sums of floats below what they are a part of.
_BELOW = 1 - 1e-12
_NAMED = 8


@dataclass(frozen=True, eq=False)
class InferenceSession:
    """Asks for what a schema lacks.

    Args:
        session: The way to the private rows.
        labels: Names of the labels whose values are classes.
        moments: How dates and times are read, once their types are known.
        notes: What a reader of the certificate should know; grows.
    """

    session: PrivateSession
    labels: tuple[str, ...]
    moments: Mapping[str, Temporal] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def check_noise(self, each: float) -> None:
        """Refuse noise that is larger than any table, before a row is read."""
        distance = self.session.neighbours.squared_distance
        sigma = math.sqrt(distance / (each * KIND_WEIGHT))
        if sigma > LARGEST_SIGMA:
            raise ParameterError(
                f"schema_budget: to estimate a schema takes noise of sigma={sigma:.3g} on every "
                f"count, which is larger than any table. Declare more, or give the schema a larger "
                f"part of the budget."
            )

    def authorize_spend(
        self, name: str, loss: float, times: int, delta_share: float = 0.0
    ) -> Spend:
        """Authorize `times` histograms that take `loss` and `delta_share` in all."""
        spend = make_spend(name, times, loss, delta_share, self.session.neighbours)
        return self.session.account.authorize(spend)

    def infer_kinds(
        self, sketches: Sequence[PartialColumn], loss: float
    ) -> tuple[dict[str, ColumnRequest], NoisyRowCount | None]:
        """Estimate what columns read as, and the number of rows, which all kinds sum up to."""
        item = self.authorize_spend(measure.KINDS, loss, len(sketches))
        names = [sketch.name for sketch in sketches]
        counts = self.session.count_raw_columns(item, KindQuery(names))
        seen = 2 * kinds.compute_detection_threshold(item.sigma)
        self.notes.append(
            f"types estimated for {_format_names(names)}: cells of another kind are noticed if "
            f"they are more than {seen:,.0f}"
        )
        read = {
            sketch.name: request_inferred(
                sketch,
                kinds.infer_type(sketch.name, counts[sketch.name], item.sigma),
                is_label=sketch.name in self.labels,
            )
            for sketch in sketches
        }
        # The vector of a user sums up to another number in each histogram.
        return read, None if self.session.neighbours.is_user_level else _estimate_rows(
            counts, item.sigma
        )

    def infer_categories(
        self,
        requests: Sequence[ColumnRequest],
        loss: float,
        delta_share: float,
        rows: NoisyRowCount | None,
    ) -> dict[str, Column]:
        """Estimate lists of values."""
        item = self.authorize_spend(measure.VALUES, loss, len(requests), delta_share)
        asked = {one.declared.name: one.values for one in requests}
        released = self.session.release_values(item, ValueQuery(asked))
        least, who = compute_release_threshold(item.sigma, item.delta_share), self._who
        self.notes.append(
            f"values estimated for {_format_names(asked)}: those of fewer than about {least:,} "
            f"{who} are not listed"
        )
        columns: dict[str, Column] = {}
        for one in requests:
            name, found = one.declared.name, released[one.declared.name]
            # A label should not get a class without rows.
            apart = name not in self.labels and (
                rows is None or rows.has_unlisted_rows(found, item.sigma)
            )
            apart |= one.declared.top is not None and len(found) > one.declared.top
            column = build_categorical(
                one.declared, found, separate_other=apart, nullable=one.nullable
            )
            columns[name] = column
            known = {*found, *one.declared.fields.get("values", ())}
            if column.other in known and "other" not in one.declared.fields:
                self.notes.append(
                    f"values of {name!r} that are not listed count as the most common one"
                )
        return columns

    def infer_common_values(
        self, requests: Sequence[ColumnRequest], loss: float
    ) -> dict[str, Column]:
        """Estimate which of the declared values are the most common ones."""
        item = self.authorize_spend(measure.COMMON, loss, len(requests))
        asked = {
            one.declared.name: Categorical(one.declared.name, one.declared.fields["values"])
            for one in requests
        }
        counts = self.session.count_raw_columns(item, DeclaredValueQuery(asked))
        self.notes.append(
            f"most common values estimated for {_format_names(asked)}: all others count as one; so "
            f"do those of declared ones whose noisy count is not above the noise on it, of sigma "
            f"{item.sigma:,.0f}"
        )
        return {
            one.declared.name: select_declared_values(
                one.declared, counts[one.declared.name].tolist(), item.sigma
            )
            for one in requests
        }

    def infer_quantiles(
        self, columns: Mapping[str, Integer | Float], loss: float
    ) -> dict[str, tuple[float, ...]]:
        """Estimate quantiles of numbers whose bounds are known."""
        item = self.authorize_spend(measure.QUANTILES, loss, len(columns))
        asked = {name: build_quantile_bins(column) for name, column in columns.items()}
        counts = self.session.count_raw_columns(item, BinQuery(asked, self.moments))
        most = max(item.sigma * math.sqrt(pieces.count) for pieces in asked.values())
        self.notes.append(
            f"quantiles estimated for {_format_names(asked)}: each is off by noise of up to about "
            f"{most:,.0f} {self._who}"
        )
        return {
            name: estimate_quantiles(column, counts[name], item.sigma)
            for name, column in columns.items()
        }

    def infer_bounds(
        self, requests: Sequence[ColumnRequest], loss: float
    ) -> dict[str, dict[str, Any]]:
        """Estimate bounds of numbers, dates and times; return the fields that were estimated."""
        coarse = self.authorize_spend(measure.MAGNITUDES, loss / 2, len(requests))
        names = [one.declared.name for one in requests]
        counts = self.session.count_raw_columns(coarse, MagnitudeQuery(names, self.moments))
        spans = {
            one.declared.name: find_column_range(one, counts[one.declared.name], coarse.sigma)
            for one in requests
        }
        ranges = {name: (span.low, span.high) for name, span in spans.items()}
        wide = {name: span for name, span in spans.items() if span.low < span.high}
        if wide:
            fine = self.authorize_spend(measure.BINS, loss / 2, len(wide))
            asked = {name: span.bins for name, span in wide.items()}
            binned = self.session.count_raw_columns(fine, BinQuery(asked, self.moments))
            for name, span in wide.items():
                ranges[name] = bounds.trim_range(span, binned[name], fine.sigma)
        most = 2 * compute_noise_threshold(coarse.sigma, MAGNITUDES)
        self.notes.append(
            f"bounds estimated for {_format_names(names)}: with probability "
            f"{1 - ERROR_PROBABILITY:.1%} each, no power of two beyond them holds more than "
            f"{most:,.0f} {self._who}; what is outside counts as on the bound"
        )
        return {
            one.declared.name: convert_bounds(one, *ranges[one.declared.name]) for one in requests
        }

    def infer_cuts(self, column: Column, classes: int, loss: float) -> tuple[float, ...]:
        """Estimate where the classes of a numeric label begin."""
        if not isinstance(column, (Integer, Float)):
            raise SchemaError(
                f"label_classes={classes}: {column.name!r} is of type {column.type_name}, whose "
                f"values are its classes: leave label_classes out."
            )
        line = CutGrid(column)
        edges, parts = line.even_bins, 1 if line.is_resolved else 2
        counts, sigma = self._ask_bins(measure.CUTS, column.name, edges, loss / parts)
        if not line.is_resolved:
            edges = line.build_balanced_bins(edges, counts)
            counts, sigma = self._ask_bins(measure.EVEN_CUTS, column.name, edges, loss / parts)
        cuts = find_cuts(line, edges, counts, classes)
        self.notes.append(_describe_cuts(column.name, len(cuts) + 1, classes, sigma))
        return cuts

    def _ask_bins(
        self, name: str, column: str, edges: ClampedBins, loss: float
    ) -> tuple[NDArray[np.float64], float]:
        spend = self.authorize_spend(name, loss, 1)
        query = BinQuery({column: edges}, self.moments)
        return self.session.count_raw_columns(spend, query)[column], spend.sigma

    @property
    def _who(self) -> str:
        return "users" if self.session.neighbours.is_user_level else "rows"


def make_spend(
    name: str, times: int, loss: float, delta_share: float, neighbours: NeighboringRelation
) -> Spend:
    """Return an item of `times` histograms that take `loss` and `chance` in all, and no more."""
    sigma = math.sqrt(neighbours.squared_distance * times / (loss * _BELOW))
    return Spend(name, sigma, times, delta_share * _BELOW / (neighbours.cells * times))


def _describe_cuts(name: str, found: int, asked: int, sigma: float) -> str:
    off = sigma * math.sqrt(CELLS / 2)
    text = (
        f"classes of {name!r} estimated: {found}, cut where noisy counts say that each holds about "
        f"as many rows, give or take {off:,.0f}"
    )
    if found == asked:
        return text
    return f"{text}; {asked} were asked for, and its values do not divide into as many"


def _estimate_rows(counts: Mapping[str, NDArray[np.float64]], sigma: float) -> NoisyRowCount:
    """Return the number of rows by the sums of several noisy histograms."""
    sums = [float(cells.sum()) for cells in counts.values()]
    cells = sum(len(cells) for cells in counts.values())
    return NoisyRowCount(sum(sums) / len(sums), sigma**2 * cells / len(sums) ** 2)


def _format_names(names: Collection[str]) -> str:
    first = ", ".join(repr(name) for name in itertools.islice(names, _NAMED))
    return first if len(names) <= _NAMED else f"{first} and {len(names) - _NAMED} more columns"


SCHEMA = "schema"
# The names of all items that answers about a schema may be charged as.
SCHEMA_SPENDS = frozenset(
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
class InferredSchema:
    """A schema without gaps.

    Args:
        schema: The schema; what was estimated is marked.
        notes: What a reader of the certificate should know about it.
    """

    schema: Schema
    notes: tuple[str, ...] = ()


def count_most_histograms(partial_schema: PartialSchema) -> int:
    """Return how many histograms the estimates may take, before a row is read.

    Example:
        >>> partial = PartialSchema.from_schema(None).complete_columns(["age"], estimate=None)
        >>> count_most_histograms(partial)
        3
    """
    unknown = sum(sketch.kind is None for sketch in partial_schema.columns)
    bent = sum("quantiles" in sketch.missing for sketch in partial_schema.columns)
    return (
        unknown
        + 2 * (_count_questions(partial_schema) - bent)
        + bent
        + 2 * partial_schema.lacks_cuts
    )


def plan_spend(
    partial_schema: PartialSchema,
    *,
    loss: float,
    delta_share: float,
    neighbours: NeighboringRelation = ROW_LEVEL,
) -> Spend | None:
    """Return one spend in the place of all that will be agreed on; None if nothing is estimated.

    It takes the same loss in all, as many histograms as any answers lead to, and as much of delta.
    So it can stand in a ledger until the items are known.

    Example:
        >>> partial = PartialSchema.from_schema(None).complete_columns(["age"], estimate=None)
        >>> spend = plan_spend(partial, loss=0.02, delta_share=1e-8)
        >>> spend.times, round(spend.sigma)
        (3, 12)
    """
    times = count_most_histograms(partial_schema)
    taken = delta_share if any(map(_may_list, partial_schema.columns)) else 0.0
    return make_spend(SCHEMA, times, loss, taken, neighbours) if times else None


def infer_schema(
    partial_schema: PartialSchema, session: PrivateSession, *, loss: float, delta_share: float
) -> InferredSchema:
    """Return the schema of a table, with what `partial_schema` lacks estimated privately.

    Privacy: rows are read through `session` alone. The spends that are authorized and charged here
    have `squared_distance * times / sigma^2` of at most `loss` in all, and take at most
    `delta_share` of delta in all, whatever the rows are. What is decided from noisy counts costs
    nothing more.

    Args:
        partial_schema: What is declared, completed by the columns of the table.
        session: The way to the private rows.
        loss: The squared Gaussian-DP parameter that the schema may take.
        delta_share: The part of delta that the schema may take.

    Raises:
        SchemaError: If something can not be estimated; it says what to declare.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.backends import LocalBackend
        >>> from tabpe.io import open_source
        >>> from tabpe.accounting import Account, ExactNoise
        >>> from tabpe._utils.resources import Resources
        >>> rows = pa.table({"age": [18, 35, 70, 85] * 900, "ill": [True, False] * 1800})
        >>> table = open_source(rows)
        >>> backend = LocalBackend(table, None, Resources.from_options())
        >>> partial = PartialSchema.from_schema(None).complete_columns(table.names, estimate=None)
        >>> partial.missing
        ('age.type', 'ill.type')
        >>> session = PrivateSession(backend, Account(), ExactNoise())
        >>> inferred = infer_schema(partial, session, loss=0.1, delta_share=1e-8)
        >>> inferred.schema.fields_estimated
        ('age.type', 'age.min', 'age.max', 'ill.type')
        >>> [spend.name for spend in session.account.spent]
        ['kinds of columns', 'bounds, powers of two', 'bounds, bins']
    """
    validation.check_real("loss", loss, above=0)
    validation.check_real("delta_share", delta_share, above=0, below=1)
    asking = InferenceSession(session, partial_schema.listed_labels)
    gaps = _list_gaps(partial_schema)
    unknown = [sketch for sketch in gaps if sketch.kind is None]
    weight = KIND_WEIGHT * len(unknown)
    each = loss / max(weight + _count_questions(partial_schema) + partial_schema.lacks_cuts, 1)
    asking.check_noise(each)
    wanted = {sketch.name: request_declared(sketch) for sketch in gaps if sketch.kind is not None}
    rows = None
    if unknown:
        read, rows = asking.infer_kinds(unknown, each * weight)
        wanted |= read
    # How cells of dates and times are read is known once their types are.
    probes = build_temporal_probes(one.typed for one in wanted.values())
    asking = dataclasses.replace(asking, moments=probes)
    asked, for_cuts = (
        _OpenQuestions.from_requests(wanted.values()),
        each * partial_schema.lacks_cuts,
    )
    left = (loss - each * weight - for_cuts) / max(asked.count, 1)
    columns = {name: one.build_column() for name, one in wanted.items() if one.kind is Boolean}
    if asked.lists:
        columns |= asking.infer_categories(asked.lists, left * len(asked.lists), delta_share, rows)
    if asked.tops:
        columns |= asking.infer_common_values(asked.tops, left * len(asked.tops))
    columns |= _infer_numbers(asking, asked, left)
    cuts = None
    if partial_schema.lacks_cuts:
        cuts = asking.infer_cuts(
            partial_schema.get_label_column(columns), partial_schema.label_classes or 1, for_cuts
        )
    return InferredSchema(partial_schema.fill_gaps(columns, cuts), tuple(asking.notes))


@dataclass(frozen=True)
class _OpenQuestions:
    """What is asked of columns, once their types are known."""

    lists: list[ColumnRequest]
    tops: list[ColumnRequest]
    unbounded: list[ColumnRequest]
    lacking_quantiles: list[ColumnRequest]

    @classmethod
    def from_requests(cls, requests: Iterable[ColumnRequest]) -> _OpenQuestions:
        columns = list(requests)
        listed = [one for one in columns if one.kind is Categorical]
        return cls(
            lists=[one for one in listed if not one.is_top],
            tops=[one for one in listed if one.is_top],
            unbounded=[one for one in columns if one.lacks_bounds],
            lacking_quantiles=[one for one in columns if one.lacks_quantiles],
        )

    @property
    def count(self) -> int:
        return len(self.lists) + len(self.tops) + len(self.unbounded) + len(self.lacking_quantiles)


def _infer_numbers(
    session: InferenceSession, asked: _OpenQuestions, each: float
) -> dict[str, Column]:
    """Estimate bounds first, and quantiles between them."""
    wanted = {one.declared.name: one for one in (*asked.unbounded, *asked.lacking_quantiles)}
    estimated: dict[str, dict[str, Any]] = {name: {} for name in wanted}
    if asked.unbounded:
        estimated |= session.infer_bounds(asked.unbounded, each * len(asked.unbounded))
    if asked.lacking_quantiles:
        even = {
            one.declared.name: one.build_even_column(estimated[one.declared.name])
            for one in asked.lacking_quantiles
        }
        for name, found in session.infer_quantiles(even, each * len(even)).items():
            estimated[name]["quantiles"] = found
    return {name: one.build_column(**estimated[name]) for name, one in wanted.items()}


def _count_questions(partial_schema: PartialSchema) -> int:
    """Return how often a column is asked for its bounds or values, or for its quantiles."""
    gaps = [sketch.missing for sketch in partial_schema.columns]
    return sum(bool(set(gap) - {"quantiles"}) + ("quantiles" in gap) for gap in gaps)


def _may_list(sketch: PartialColumn) -> bool:
    """Whether a column may be asked for the values that occur in it."""
    if sketch.kind is None or not sketch.missing:
        return sketch.kind is None
    return sketch.kind is Categorical and not (sketch.top and "values" in sketch.fields)


def _list_gaps(partial_schema: PartialSchema) -> list[PartialColumn]:
    return [sketch for sketch in partial_schema.columns if sketch.missing]
