"""Encoding of the cells of one column as numbers or codes, and back.

Columns of every type are encoded as numbers, listed values or booleans; everything after the
encoder knows these three alone. A date is a number of days since the first one, a value of an
ordered list is its index, a number with a nonlinear scale is its position on that scale.

Encoding is total: a cell that does not fit its column is encoded by the rule that the schema states
(`Column.on_invalid`). In strict mode a cell for which the schema states no rule is refused instead,
with an error that names the column and the first such row. It never shows the cell: the reader of a
log may not be allowed to see the table.

Integers beyond 2^53, which a float can not represent, are encoded as steps from the smallest one.
The steps are computed in decimals of 38 digits, so none is lost; there are at most 2^53 of them,
which a float represents exactly.

`JointClasses` is the class of a row by several labels. Each combination of values is a class,
except for rare ones, which share the last class; there, a code of the record distinguishes them.
That code evolves like any other, and yields rare combinations only. Elsewhere it is 0.

Privacy: how a cell is encoded depends on the schema and on that cell, and on no other row. The
class of a row depends on that row's labels and on which combinations are rare, which is declared or
follows from noisy counts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tabpe._utils.arrays import is_text
from tabpe.encoding.atoms import list_public_numbers, list_special_numbers
from tabpe.encoding.scales import build_scale
from tabpe.errors import CellError, missing_value
from tabpe.io.canonical import DAY as _DAY
from tabpe.io.canonical import (
    NOT_LISTED,
    find_missing,
    find_values,
    flatten_column,
    read_booleans,
    read_instants,
    read_integers,
    read_numbers,
    read_raw_texts,
    read_times,
)
from tabpe.schema import (
    Boolean,
    Categorical,
    Column,
    Date,
    Datetime,
    Float,
    Id,
    Integer,
    Schema,
    Temporal,
    Time,
)
from tabpe.schema.columns import EXACT_INTEGERS
from tabpe.schema.month_names import read_months, split_language, write_months
from tabpe.schema.schema import ListedColumn, list_combinations

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Misfits:
    """Which cells of a column do not fit it.

    Args:
        missing: Where a cell is missing.
        unreadable: Where it has no value that the type of the column could have.
        outside: Where its value is beyond the bounds, or not in the list.
    """

    missing: Mask
    unreadable: Mask
    outside: Mask


def encode_plain_numbers(
    column: Integer | Float, cells: pa.ChunkedArray, *, strict: bool = False
) -> NDArray[np.float64]:
    """Return the cells as numbers within the bounds of the column; NaN for null."""
    array = flatten_column(cells, column.name)
    bounds = float(column.min), float(column.max)
    default = float(column.default_value)
    values = read_numbers(array)
    return apply_invalid_rule(column, array, values, bounds=bounds, default=default, strict=strict)


def encode_codes(
    column: Categorical | Boolean, cells: pa.ChunkedArray, *, strict: bool = False
) -> NDArray[np.int64]:
    """Return the index of each cell in the values of the column; null comes after them."""
    array = flatten_column(cells, column.name)
    codes = _find_codes(column, array)
    unlisted = codes == NOT_LISTED
    if not unlisted.any():
        return codes
    missing = _find_missing_cells(column, array) & unlisted
    if strict:
        _refuse_codes(column, missing, unlisted & ~missing)
    codes[unlisted] = _get_invalid_code(column)
    if column.nullable:
        codes[missing] = column.size
    return codes


def apply_invalid_rule(
    column: Column,
    array: pa.Array,
    values: NDArray[np.float64],
    *,
    bounds: tuple[float, float],
    default: float,
    strict: bool,
) -> NDArray[np.float64]:
    """Return numbers by the rule of their column: within bounds, null or a default.

    Args:
        column: The column.
        array: The cells.
        values: The cells as numbers; NaN where one is missing or can not be read.
        bounds: The smallest and the largest number.
        default: Replaces a cell without a value where null is not allowed.
        strict: Whether to refuse a cell for which the column states no rule.
    """
    unread = np.isnan(values)
    if unread.any():
        missing = find_missing(array)
        if strict:
            _refuse_numbers(column, missing, unread & ~missing)
        without = np.nan if column.nullable else default
        values = np.where(unread, without, values)
        if column.on_invalid == "default":
            values[unread & ~missing] = default
    if column.on_invalid == "clamp":
        return np.clip(values, *bounds)
    outside = (values < bounds[0]) | (values > bounds[1])
    return np.where(outside, default if column.on_invalid == "default" else np.nan, values)


def find_misfits(column: Column, cells: pa.ChunkedArray) -> Misfits:
    """Return which cells of a column of numbers, listed values or booleans do not fit it.

    Example:
        >>> misfits = find_misfits(Integer("age", 0, 99), pa.chunked_array([["7", "x", "120", ""]]))
        >>> misfits.unreadable.sum(), misfits.outside.sum(), misfits.missing.sum()
        (np.int64(1), np.int64(1), np.int64(1))
    """
    array = flatten_column(cells, column.name)
    if isinstance(column, (Categorical, Boolean)):
        unlisted = _find_codes(column, array) == NOT_LISTED
        missing = _find_missing_cells(column, array) & unlisted
        nowhere = np.zeros(len(array), dtype=bool)
        return Misfits(missing, nowhere, unlisted & ~missing)
    values, missing = read_numbers(array), find_missing(array)
    low, high = getattr(column, "min", -np.inf), getattr(column, "max", np.inf)
    return Misfits(missing, np.isnan(values) & ~missing, (values < low) | (values > high))


def decode_plain_numbers(column: Integer | Float, scaled: NDArray[Any]) -> pa.Array:
    """Return scaled numbers as numbers of the column."""
    return decode_values(column, column.min + scaled.astype(np.float64) * (column.max - column.min))


def decode_values(column: Integer | Float, values: NDArray[np.float64]) -> pa.Array:
    """Return numbers as cells of the column: on its grid, and within its bounds."""
    missing = np.isnan(values)
    values = np.where(missing, column.min, values)
    if isinstance(column, Integer):
        whole = np.clip(np.rint(values), column.min, column.max).astype(np.int64)
        return pa.array(whole, mask=missing)
    if column.decimals is not None:
        values = np.round(values, column.decimals)
    return pa.array(np.clip(values, column.min, column.max), mask=missing)


def round_to_grid(column: Integer | Float, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers rounded to the decimals of the column."""
    return values if column.decimals is None else np.round(values, column.decimals)


def decode_codes(column: Categorical | Boolean, codes: NDArray[Any]) -> pa.Array:
    """Return codes as the values that they stand for."""
    indices = codes.astype(np.int64)
    return pc.take(pa.array(column.values), pa.array(indices, mask=indices == column.size))


def _find_codes(column: Categorical | Boolean, array: pa.Array) -> NDArray[np.int64]:
    if isinstance(column, Boolean):
        return read_booleans(array).astype(np.int64)
    return find_values(array, column.values)


def _find_missing_cells(column: Categorical | Boolean, array: pa.Array) -> Mask:
    """Return which cells have no value; blank text has one if the column lists such a value."""
    if isinstance(column, Categorical) and not all(str(one).strip() for one in column.values):
        return np.asarray(array.is_null().to_numpy(zero_copy_only=False), dtype=bool)
    return find_missing(array)


def _get_invalid_code(column: Categorical | Boolean) -> int:
    if column.on_invalid == "null":
        return column.size
    if isinstance(column, Categorical) and column.on_invalid == "other":
        return column.values.index(column.other)
    return column.values.index(column.default_value)


def _refuse_numbers(column: Column, missing: Mask, unreadable: Mask) -> None:
    if column.invalid is not None or column.default is not None:
        return
    if not column.nullable:
        refuse_cells(column.name, missing, None)
    refuse_cells(column.name, unreadable, f"expected {_EXPECTED.get(column.type_name, 'a number')}")


def _refuse_codes(column: Categorical | Boolean, missing: Mask, unlisted: Mask) -> None:
    stated = column.invalid is not None or column.default is not None
    if stated or getattr(column, "other", None) is not None:
        return
    if not column.nullable:
        refuse_cells(column.name, missing, None)
    listed = isinstance(column, Categorical)
    hint = "declare it in values, or declare an other" if listed else _EXPECTED["boolean"]
    refuse_cells(column.name, unlisted, hint)


_EXPECTED = {
    "boolean": "expected true or false, yes or no, 1 or 0",
    "date": "dates such as 2024-03-31, or declare a format",
    "datetime": "points in time such as 2024-03-31T18:30, or declare a format",
    "time": "times such as 18:30, or declare a format",
}


def refuse_cells(name: str, bad: Mask, hint: str | None) -> None:
    """Refuse a column with a bad cell, stating what was expected; None if it is missing."""
    if not bad.any():
        return
    row = int(np.argmax(bad)) + 1
    if hint is None:
        raise missing_value(name, row)
    raise CellError(f"column {name!r}: the value", row, f" is outside the schema: {hint}.")


_DIGITS = pa.decimal128(37, 0)
_BEYOND_INT64 = 2**63


def is_large(column: Column) -> bool:
    """Whether a column has integers that a float can not represent.

    Example:
        >>> is_large(Integer("no", 0, 10**6)), is_large(Integer("no", 2**60, 2**60 + 9))
        (False, True)
    """
    return isinstance(column, Integer) and max(-column.min, column.max) > EXACT_INTEGERS


def encode_large_integers(
    column: Integer, cells: pa.ChunkedArray, *, strict: bool = False
) -> NDArray[np.float64]:
    """Return the distance of each cell from the smallest value, within the bounds; NaN for null.

    Example:
        >>> encode_large_integers(
        ...     Integer("no", 2**60, 2**60 + 9), pa.chunked_array([[2**60 + 1, 5]])
        ... )
        array([1., 0.])
    """
    array = flatten_column(cells, column.name)
    whole, (low, high) = read_integers(array), _make_bounds(column)
    # A step beyond each bound is enough to know that a cell is outside.
    near = pc.min_element_wise(
        pc.max_element_wise(whole, _shift_bound(low, -1), skip_nulls=False),
        _shift_bound(high, 1),
        skip_nulls=False,
    )
    since = pc.subtract(near, low).cast(pa.int64())
    steps: NDArray[np.float64] = (
        since.fill_null(0).to_numpy(zero_copy_only=False).astype(np.float64)
    )
    steps[pc.is_null(whole).to_numpy(zero_copy_only=False)] = np.nan
    default = float(column.default_value - column.min)
    bounds = 0.0, float(column.steps)
    return apply_invalid_rule(column, array, steps, bounds=bounds, default=default, strict=strict)


def find_valid_large_integers(column: Integer, cells: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Return where cells are integers within the bounds, or missing."""
    whole, (low, high) = read_integers(flatten_column(cells, column.name)), _make_bounds(column)
    inside = pc.and_(pc.greater_equal(whole, low), pc.less_equal(whole, high))
    known = pc.fill_null(inside, True)  # noqa: FBT003
    return np.asarray(known.to_numpy(zero_copy_only=False), dtype=bool)


def decode_large_integers(column: Integer, steps: pa.Array) -> pa.Array:
    """Return steps as the integers that they stand for.

    Example:
        >>> decode_large_integers(Integer("no", 2**63, 2**63 + 9), pa.array([1])).to_pylist()
        [9223372036854775809]
    """
    kind = np.uint64 if column.max >= _BEYOND_INT64 else np.int64
    since = pc.fill_null(steps, 0).to_numpy(zero_copy_only=False)
    missing = pc.is_null(steps).to_numpy(zero_copy_only=False)
    # A negative smallest value goes with int64, and a step never leaves the bounds.
    return pa.array(since.astype(kind) + kind(column.min), mask=missing)


def _make_bounds(column: Integer) -> tuple[pa.Scalar, pa.Scalar]:
    return pa.scalar(Decimal(column.min), _DIGITS), pa.scalar(Decimal(column.max), _DIGITS)


def _shift_bound(bound: pa.Scalar, by: int) -> pa.Scalar:
    return pa.scalar(bound.as_py() + by, _DIGITS)


_MICROSECONDS = pa.timestamp("us")
# Years 1 to 9999, less a day on both sides, so that no time zone leads outside.
_FIRST, _LAST = -719_161 * _DAY, 2_932_895 * _DAY
_FEW_DAYS = 5


def encode_temporal(
    column: Temporal, cells: pa.ChunkedArray, *, strict: bool = False
) -> NDArray[np.float64]:
    """Return the number of grid steps from the first value of the column to each cell.

    A cell between two values counts as the earlier; one outside the bounds or without a value is
    encoded by the rule of the column. A null is NaN.
    """
    array = flatten_column(cells, column.name)
    ticks = read_microseconds(column, array)
    # Integers with nulls among them would become floats, which are not precise enough for these.
    since = pc.fill_null(ticks, column.first).to_numpy(zero_copy_only=False) - column.first
    steps: NDArray[np.float64] = (since // column.tick).astype(np.float64)
    steps[pc.is_null(ticks).to_numpy(zero_copy_only=False)] = np.nan
    bounds = (0.0, float(column.steps))
    default = float(column.default_value)
    return apply_invalid_rule(column, array, steps, bounds=bounds, default=default, strict=strict)


def read_microseconds(column: Temporal, array: pa.Array) -> pa.Array:
    """Return cells as microseconds since 1970 or midnight; null where they can not be read.

    Each cell is read by itself, whatever the others are and however they are stored.

    Args:
        column: The column, whose format and time zone say how cells are read.
        array: Canonical cells.
    """
    pattern = getattr(column, "format", None)
    if pattern is None or pa.types.is_temporal(array.type):
        return _parse_iso(column, array)
    encoded = read_raw_texts(array).dictionary_encode()
    texts = encoded.dictionary
    # Dates beside text of another kind are text of ISO 8601.
    ticks = pc.coalesce(_parse_format(column, texts, pattern), _parse_iso(column, texts))
    return pc.take(ticks, encoded.indices)


def decode_temporal(column: Temporal, steps: pa.Array) -> pa.Array:
    """Return steps on the grid of a column as the dates or times that they stand for.

    Example:
        >>> decode_temporal(Date("seen", "2024-02-28", "2024-12-31"), pa.array([2])).to_pylist()
        [datetime.date(2024, 3, 1)]
    """
    count = pc.fill_null(steps, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    missing = pc.is_null(steps).to_numpy(zero_copy_only=False)
    whole = pa.array(count * column.tick + column.first, mask=missing)
    if isinstance(column, Date):
        return whole.cast(_MICROSECONDS).cast(pa.date32())
    if isinstance(column, Time):
        return whole.cast(pa.time64("us"))
    zone = column.timezone if isinstance(column, Datetime) else None
    return whole.cast(pa.timestamp("us", zone))


def format_temporal(column: Temporal, moments: pa.Array) -> pa.Array:
    """Return dates or times as text, in the format of the column.

    Example:
        >>> date = Date("seen", "2024-01-01", "2024-12-31", format="%d.%m.%Y")
        >>> format_temporal(date, decode_temporal(date, pa.array([30]))).to_pylist()
        ['31.01.2024']
    """
    pattern = getattr(column, "format", None)
    if isinstance(column, Time):
        clock = _truncate_seconds(column, moments.cast(pa.int64()).cast(_MICROSECONDS))
        return pc.strftime(clock, format=pattern or _choose_clock_format(column))
    if pattern is None:
        return (
            moments.cast(pa.string()) if isinstance(column, Date) else _format_iso(column, moments)
        )
    pattern, language = split_language(pattern)
    cut = _truncate_seconds(column, moments)
    if language is None:
        return pc.strftime(cut, format=pattern)
    texts = pc.strftime(cut, format=pattern.replace("%B", "%b"))
    return _map_texts(texts, partial(write_months, pattern=pattern, language=language))


def _map_texts(texts: pa.Array, change: Callable[[str], str]) -> pa.Array:
    """Return each text changed by itself; nulls stay."""
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    coded = texts.dictionary_encode()
    listed = [change(text) for text in coded.dictionary.to_pylist()]
    return pa.array(listed, texts.type).take(coded.indices)


def format_temporal_columns(table: pa.Table, columns: Sequence[Column]) -> pa.Table:
    """Return a table with the dates and times of some columns as text.

    Example:
        >>> seen = Date("seen", "2024-01-01", "2024-12-31")
        >>> table = pa.table({"seen": decode_temporal(seen, pa.array([1]))})
        >>> format_temporal_columns(table, [seen]).to_pylist()
        [{'seen': '2024-01-02'}]
    """
    for column in columns:
        if isinstance(column, Temporal) and not is_text(table[column.name].type):
            cells = format_temporal(column, table[column.name].combine_chunks())
            index = table.schema.get_field_index(column.name)
            table = table.set_column(index, column.name, cells)
    return table


def format_axis_labels(column: Temporal, steps: pa.Array) -> list[str]:
    """Return short labels for the axis of a chart: days, or hours if it spans few days.

    Example:
        >>> format_axis_labels(Datetime("seen", "2024-01-01", "2025-01-01"), pa.array([0, 86_400]))
        ['2024-01-01', '2024-01-02']
    """
    moments = decode_temporal(column, steps)
    if isinstance(column, Datetime):
        days = (column.last - column.first) > _FEW_DAYS * _DAY
        moments = pc.strftime(moments, format="%Y-%m-%d" if days else "%m-%d %H:%M")
        return list(moments.to_pylist())
    return list(format_temporal(column, moments).to_pylist())


def _choose_clock_format(column: Temporal) -> str:
    return "%H:%M" if column.tick >= 60 * 10**6 else "%H:%M:%S"


def _truncate_seconds(column: Temporal, moments: pa.Array) -> pa.Array:
    """Return moments in whole seconds where the grid has nothing finer."""
    if pa.types.is_timestamp(moments.type) and column.tick % 10**6 == 0:
        return moments.cast(pa.timestamp("s", moments.type.tz), safe=False)
    return moments


def _format_iso(column: Temporal, moments: pa.Array) -> pa.Array:
    if column.tick == _DAY and moments.type.tz is None:
        return moments.cast(pa.date32()).cast(pa.string())
    cut = _truncate_seconds(column, moments)
    if cut.type.tz is None:
        return pc.strftime(cut, format="%Y-%m-%dT%H:%M:%S")
    text = pc.strftime(cut, format="%Y-%m-%dT%H:%M:%S%z")
    return pc.replace_substring_regex(text, r"(\d{2})(\d{2})$", r"\1:\2")


def _parse_iso(column: Temporal, array: pa.Array) -> pa.Array:
    if isinstance(column, Time):
        return read_times(array)
    zone = getattr(column, "timezone", None)
    local = _clamp_to_calendar(read_instants(array, zoned=False))
    if zone is not None:
        local = _localize_ticks(local, zone)
    return pc.coalesce(local, _clamp_to_calendar(read_instants(array, zoned=True)))


def _parse_format(column: Temporal, texts: pa.Array, pattern: str) -> pa.Array:
    text = pc.utf8_trim_whitespace(texts)
    pattern, language = split_language(pattern)
    if language is not None:
        text = _map_texts(text, partial(read_months, language=language))
    moments = pc.strptime(text, format=pattern, unit="us", error_is_null=True)
    ticks = _clamp_to_calendar(moments.cast(pa.int64()))
    zone = getattr(column, "timezone", None)
    if isinstance(column, Time):
        days = pc.cast(pc.floor(pc.divide(ticks.cast(pa.float64()), float(_DAY))), pa.int64())
        return pc.subtract(ticks, pc.multiply(days, _DAY))
    return ticks if zone is None or "%z" in pattern else _localize_ticks(ticks, zone)


def _localize_ticks(ticks: pa.Array, zone: str) -> pa.Array:
    """Return local times of a zone as microseconds since 1970 in UTC."""
    moments = ticks.cast(_MICROSECONDS)
    there = pc.assume_timezone(moments, zone, ambiguous="earliest", nonexistent="earliest")
    return there.cast(pa.int64())


def _clamp_to_calendar(ticks: pa.Array) -> pa.Array:
    """Return instants clamped to the years of the calendar."""
    return pc.min_element_wise(
        pc.max_element_wise(ticks, _FIRST, skip_nulls=False), _LAST, skip_nulls=False
    )


Whole = NDArray[np.int64]


@dataclass(frozen=True)
class JointClasses:
    """The combinations of the values of several labels, and their classes.

    Args:
        columns: The labels.
        rare: Which combinations share the last class, by their numbers, ascending.

    Example:
        >>> from tabpe.schema import Boolean
        >>> joint = JointClasses((Boolean("ill"), Boolean("old")), rare=(0, 3))
        >>> joint.classes, joint.codes
        (array([2, 0, 1, 2]), array([0, 0, 0, 1]))
    """

    columns: tuple[ListedColumn, ...]
    rare: tuple[int, ...] = ()

    @classmethod
    def from_schema(cls, schema: Schema) -> JointClasses | None:
        """Return the classes of several labels; None if a schema does not have several."""
        if not schema.joint_labels:
            return None
        merged = set(schema.label_rare)
        every = list_combinations(schema.joint_labels)
        rare = tuple(number for number, one in enumerate(every) if one in merged)
        return cls(schema.joint_labels, rare)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The number of values of each label, null among them."""
        return tuple(column.states for column in self.columns)

    @cached_property
    def size(self) -> int:
        """The number of combinations."""
        return int(np.prod(self.shape))

    @cached_property
    def _kept(self) -> Whole:
        return np.setdiff1d(np.arange(self.size), np.array(self.rare, dtype=np.int64))

    @cached_property
    def classes(self) -> Whole:
        """The class of each combination."""
        classes = np.full(self.size, len(self._kept), dtype=np.int64)
        classes[self._kept] = np.arange(len(self._kept))
        return classes

    @cached_property
    def codes(self) -> Whole:
        """The code of each combination among the rare ones; 0 for one that is not rare."""
        codes = np.zeros(self.size, dtype=np.int64)
        codes[list(self.rare)] = np.arange(len(self.rare))
        return codes

    def encode_combinations(self, table: pa.Table, *, strict: bool = False) -> Whole:
        """Return the number of the combination that each row of a table has."""
        indices = [
            encode_codes(column, table[column.name], strict=strict) for column in self.columns
        ]
        return np.ravel_multi_index(indices, self.shape).astype(np.int64)

    def find_combinations(
        self, classes: Whole, codes: Sequence[int] | NDArray[np.integer]
    ) -> Whole:
        """Return the number of the combination of rows, by their classes and rare codes."""
        if not self.rare:
            return self._kept[classes]
        kept = np.append(self._kept, self.rare[0])[classes]
        among = np.array(self.rare)[np.asarray(codes, dtype=np.int64)]
        return np.where(classes == len(self._kept), among, kept)

    def decode_labels(self, numbers: Whole) -> dict[str, pa.Array]:
        """Return the values of all labels, by the number of their combination."""
        indices = np.unravel_index(numbers, self.shape)
        return {
            column.name: decode_codes(column, np.asarray(index))
            for column, index in zip(self.columns, indices, strict=True)
        }


Number = Integer | Float


def make_plain_column(column: Column, label: str | None) -> Number | None:
    """Return the numeric column that a column is encoded as; None if it is not numeric.

    Args:
        column: A column.
        label: Name of the label, whose values are classes.

    Example:
        >>> from tabpe.schema import Date
        >>> days = make_plain_column(Date("seen", "2024-01-01", "2024-01-31"), None)
        >>> days.type_name, days.min, days.max
        ('integer', 0, 30)
    """
    if is_large(column) and isinstance(column, Integer):
        return Integer(column.name, 0, column.steps, nullable=column.nullable)
    if isinstance(column, (Integer, Float)):
        if build_scale(column) is None:
            return column
        return Float(column.name, 0.0, 1.0, nullable=column.nullable)
    if isinstance(column, Temporal):
        return Integer(column.name, 0, column.steps, nullable=column.nullable)
    if isinstance(column, Categorical) and column.ordered and column.name != label:
        return Integer(column.name, 0, column.size - 1, nullable=column.nullable)
    return None


def build_plain_schema(schema: Schema) -> Schema:
    """Return a schema of numbers, listed values and booleans alone, which rows are encoded by.

    Example:
        >>> from tabpe.schema import Date
        >>> build_plain_schema(Schema((Id("no"), Date("seen", "2024-01-01", "2024-01-31")))).names
        ('seen',)
    """
    columns = (
        make_plain_column(column, column.name if column.name in schema.labels else None) or column
        for column in schema.columns
        if not isinstance(column, Id)
    )
    return dataclasses.replace(
        schema, columns=tuple(columns), label_cuts=_encode_label_cuts(schema), rules=()
    )


def _encode_label_cuts(schema: Schema) -> tuple[float, ...] | None:
    """Return the class boundaries of a numeric label on the encoded scale."""
    if schema.label_cuts is None or not isinstance(schema.label, str):
        return None
    label = schema[schema.label]
    cuts = tuple(cut - get_origin(label) for cut in schema.label_cuts)
    scale = build_scale(label)
    return (
        cuts
        if scale is None
        else tuple(scale.transform_values(np.array(cuts, dtype=np.float64)).tolist())
    )


def get_origin(column: Column) -> int:
    """Return the value that encoded numbers are counted from: 0 for most columns."""
    return column.min if isinstance(column, Integer) and is_large(column) else 0


def encode_numbers(
    column: Column, cells: pa.ChunkedArray, *, strict: bool = False
) -> NDArray[np.float64]:
    """Return the cells of a column that is encoded as a number, within its bounds; NaN for null.

    Scales are not applied; integers beyond 2^53 are counted from the smallest.
    """
    if is_large(column) and isinstance(column, Integer):
        return encode_large_integers(column, cells, strict=strict)
    if isinstance(column, (Integer, Float)):
        return encode_plain_numbers(column, cells, strict=strict)
    if isinstance(column, Temporal):
        return encode_temporal(column, cells, strict=strict)
    if not isinstance(column, Categorical):
        raise TypeError(type(column).__name__)
    indices = encode_codes(column, cells, strict=strict).astype(np.float64)
    return np.where(indices == column.size, np.nan, indices)


def find_valid_cells(column: Number | Temporal, cells: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Return where cells are valid without correction: within bounds, and on the grid.

    A null is valid if the column is nullable.

    Example:
        >>> find_valid_cells(Integer("age", 0, 99), pa.chunked_array([[20.0, 20.5, 100.0]]))
        array([ True, False, False])
    """
    array = flatten_column(cells, column.name)
    missing = find_missing(array)
    if isinstance(column, Temporal):
        ticks = read_microseconds(column, array)
        since = pc.fill_null(ticks, column.first - 1).to_numpy(zero_copy_only=False) - column.first
        inside = (since >= 0) & (since <= column.last - column.first) & (since % column.tick == 0)
    elif is_large(column) and isinstance(column, Integer):
        inside = find_valid_large_integers(column, cells)
    else:
        values = read_numbers(array)
        inside = (values >= column.min) & (values <= column.max)
        if column.decimals is not None:
            inside &= np.round(values, column.decimals) == values
    return np.asarray(np.where(missing, column.nullable, inside))


def find_column_misfits(column: Column, cells: pa.ChunkedArray) -> Misfits:
    """Return which cells do not fit a column of any type. The result is private.

    Example:
        >>> from tabpe.schema import Date
        >>> seen = Date("seen", "2024-01-01", "2024-12-31")
        >>> find_column_misfits(seen, pa.chunked_array([["31.12.2024", "2025-01-01"]])).unreadable
        array([ True, False])
    """
    if not isinstance(column, Temporal):
        return find_misfits(column, cells)
    array = flatten_column(cells, column.name)
    missing, ticks = find_missing(array), read_microseconds(column, array)
    unread = pc.is_null(ticks).to_numpy(zero_copy_only=False) & ~missing
    since = pc.fill_null(ticks, column.first).to_numpy(zero_copy_only=False)
    return Misfits(missing, unread, (since < column.first) | (since > column.last))


def apply_scale(column: Column, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers as they are encoded: unchanged, or on the scale of the column."""
    scale = build_scale(column)
    if scale is None or not isinstance(column, (Integer, Float)):
        return values
    return scale.transform_values(round_to_grid(column, values))


def scale_values(column: Number, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers of a plain column scaled to [0, 1]; the given ones may be overwritten."""
    if column.max == column.min:
        return np.where(np.isnan(values), np.nan, 0.0)
    scaled = round_to_grid(column, values)
    scaled -= column.min
    scaled /= column.max - column.min
    # The same arithmetic as `RecordSpace.project`, so that equal values get equal bits.
    return np.rint(scaled * column.steps) / column.steps if column.steps else scaled


def locate_numbers(column: Column, plain: Number, numbers: Sequence[float]) -> NDArray[np.float64]:
    """Return where numbers of a column lie among scaled ones, as its cells would be encoded.

    Example:
        >>> pay = Integer("pay", 0, 99, scale="log")
        >>> locate_numbers(pay, make_plain_column(pay, None), [0.0, 9.0, 99.0])
        array([0. , 0.5, 1. ])
    """
    return scale_values(plain, apply_scale(column, np.array(numbers, dtype=np.float64)))


def decode_numbers(column: Column, plain: Number, scaled: NDArray[Any]) -> pa.Array:
    """Return scaled numbers as cells of the column."""
    scale = build_scale(column)
    if scale is not None and isinstance(column, (Integer, Float)):
        values = scale.inverse_transform(scaled.astype(np.float64))
        return decode_values(column, _restore_atoms(column, plain, scaled, values))
    if isinstance(column, Float) and not column.steps:
        values = plain.min + scaled.astype(np.float64) * (plain.max - plain.min)
        return decode_values(column, _restore_atoms(column, plain, scaled, values))
    numbers = decode_plain_numbers(plain, scaled)
    if is_large(column) and isinstance(column, Integer):
        return decode_large_integers(column, numbers)
    if isinstance(column, Temporal):
        return decode_temporal(column, numbers)
    if isinstance(column, Categorical):
        return pc.take(pa.array(column.values), numbers)
    return numbers


def _restore_atoms(
    column: Column, plain: Number, scaled: NDArray[Any], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return values with those that lie exactly at an atom as they are written in the schema."""
    atoms = sorted({*list_special_numbers(column), *list_public_numbers(column)})
    if not atoms:
        return values
    places = locate_numbers(column, plain, atoms)
    near = np.searchsorted(places, scaled).clip(max=len(places) - 1)
    restored: NDArray[np.float64] = np.where(places[near] == scaled, np.array(atoms)[near], values)
    return restored


def make_ids(column: Id, rows: int) -> pa.Array:
    """Return `rows` different ids.

    Example:
        >>> make_ids(Id("patient", prefix="P", first=9), 2).to_pylist()
        ['P9', 'P10']
    """
    numbers = pa.array(np.arange(column.first, column.first + rows, dtype=np.int64))
    if column.prefix is None:
        return numbers
    return pc.binary_join_element_wise(column.prefix, numbers.cast(pa.string()), "")
