"""A first schema from a table.

Reading a domain off the data is not private. So every column of a draft is marked as taken from
the data, until a person has put in its place what is publicly known.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tabpe._arrow import CODE, NUMBER, WHOLE_NUMBER, attempt, is_text, without_decimals
from tabpe.errors import DataError, SchemaError, column_hint
from tabpe.io.moments import drafted_moments, is_moment
from tabpe.io.source import gathered, opened_source, title_of
from tabpe.schema import Boolean, Categorical, Column, Float, Integer, Schema, Source
from tabpe.schema.columns import MOST_DECIMALS
from tabpe.schema.whole import EXACT_INTEGERS

MOST_CATEGORIES = 1000
LABEL_CLASSES = 100
MOST_DRAFTED_DECIMALS = 9


def draft_schema(data: Any, *, label: str | None = None, drop: Sequence[str] = ()) -> Schema:
    """Return a schema read off `data`, with every column marked `source: data`.

    A column with an empty cell in it is nullable; blank text is such a cell.

    NOT PRIVATE until each column has been checked, corrected and marked `source: public`.

    Args:
        data: A table, as for `TabPE.fit`, which is read as a whole.
        label: The label. Few numbers become its classes; many are cut at their quartiles.
        drop: Columns to leave out, such as names and ids.

    Example:
        >>> draft_schema(pa.table({"age": [31, 58], "sex": ["f", "m"]})).fields_from_data
        ('age.min', 'age.max', 'sex.values')
    """
    with opened_source(data) as source:
        names = [name for name in source.names if name not in drop]
        for role, name in [*(("drop", name) for name in drop), ("label", label)]:
            if name is not None and name not in (source.names if role == "drop" else names):
                hint = column_hint(name, names, [*drop, label or ""])
                raise SchemaError(f"{role}={name!r} is not a column: {hint}")
        table = gathered(source, names, where=title_of(data))
    columns = [_column(name, table.column(name), is_label=name == label) for name in names]
    cuts = _cuts(table.column(label), columns[names.index(label)]) if label else None
    return Schema(tuple(columns), label=label, label_cuts=cuts)


def _column(name: str, column: pa.ChunkedArray, *, is_label: bool) -> Column:
    array = _plain(name, column)
    if pa.types.is_decimal(column.type) and not is_label:
        found: Column = _decimal(name, column)
    else:
        found = _known(name, array, is_label=is_label)
    return dataclasses.replace(found, nullable=len(array) < len(column))


def _known(name: str, array: pa.Array, *, is_label: bool) -> Column:
    moments = drafted_moments(name, array)
    if moments is not None:
        return moments
    if pa.types.is_boolean(array.type):
        return Boolean(name, source=Source.DATA)
    if _is_number(array.type):
        distinct = pc.unique(array)
        if is_label and len(distinct) <= LABEL_CLASSES:
            return Categorical(name, tuple(sorted(set(distinct.to_pylist()))), source=Source.DATA)
        return _number(name, array)
    return _listed(name, array)


def _cuts(cells: pa.ChunkedArray, column: Column) -> tuple[float, ...] | None:
    """Return the quartiles at which the classes of a numeric label begin."""
    if not isinstance(column, (Integer, Float)):
        return None
    values = _plain(column.name, cells).cast(pa.float64()).to_numpy(zero_copy_only=False)
    quartiles = np.quantile(values, [0.25, 0.5, 0.75], method="higher")
    inside = sorted({float(cut) for cut in quartiles if column.min < cut < column.max})
    if not inside:
        distinct = np.unique(values)
        inside = [float(distinct[len(distinct) // 2])]
    return tuple(int(cut) if isinstance(column, Integer) else cut for cut in inside)


def _plain(name: str, column: pa.ChunkedArray) -> pa.Array:
    """Return all cells but nulls as truths, numbers or text, whichever they read as."""
    array = column.combine_chunks()
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if is_text(array.type):
        array = array.cast(pa.string())  # Arrow can not filter every kind of text.
    array = array.filter(pc.invert(pc.is_null(array, nan_is_null=True)))
    if not len(array):
        raise _no_value(name)
    if pa.types.is_decimal(array.type):
        array = without_decimals(array)
    if pa.types.is_boolean(array.type) or _is_number(array.type) or is_moment(array.type):
        return array
    # Arrow writes how long something took as a bare number, in a unit that nothing else knows.
    lasting = pa.types.is_duration(array.type)
    text = None if lasting else attempt(lambda: array.cast(pa.string()))
    if text is None:
        raise DataError(
            f"column {name!r} is of type {array.type}: expected numbers, text or truths."
        )
    return _typed(name, text)


def _typed(name: str, text: pa.Array) -> pa.Array:
    text = text.filter(pc.not_equal(pc.utf8_trim_whitespace(text), ""))
    if not len(text):
        raise _no_value(name)
    lowered = pc.utf8_lower(text)
    if pc.all(pc.is_in(lowered, pa.array(["true", "false"]))).as_py():
        return pc.equal(lowered, "true")
    if pc.all(pc.match_substring_regex(text, WHOLE_NUMBER)).as_py():
        whole = attempt(lambda: pc.utf8_ltrim(text, characters="+").cast(pa.int64()))
        return text if whole is None else whole
    if pc.all(pc.match_substring_regex(text, NUMBER)).as_py() and not _coded(text):
        return text.cast(pa.float64())
    return text


def _no_value(name: str) -> DataError:
    return DataError(f"column {name!r} holds no value at all: leave it out of the table.")


def _coded(text: pa.Array) -> bool:
    """Whether digits with leading zeros say that the text is a code and not a number."""
    return bool(pc.any(pc.match_substring_regex(text, CODE)).as_py())


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _number(name: str, array: pa.Array) -> Integer | Float:
    if pa.types.is_integer(array.type):
        bounds = pc.min_max(array).as_py()
        if max(abs(bounds["min"]), abs(bounds["max"])) > EXACT_INTEGERS:
            raise DataError(
                f"column {name!r} holds whole numbers beyond 2**53: leave it out. If they tell "
                f"rows apart, declare type: id; if they are codes, categorical; if they are "
                f"amounts, float."
            )
        return Integer(name, bounds["min"], bounds["max"], source=Source.DATA)
    values = array.to_numpy(zero_copy_only=False).astype(np.float64)
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0]) + 1
        raise DataError(f"column {name!r} holds an infinite number in row {row}: correct it.")
    low, high = float(values.min()), float(values.max())
    if not np.isfinite(high - low):
        raise DataError(f"column {name!r} holds numbers too far apart for a float: leave it out.")
    return Float(name, low, high, _decimals(values), source=Source.DATA)


def _decimal(name: str, column: pa.ChunkedArray) -> Float:
    """Return the column of decimals of a database: its type says how many digits they have."""
    digits = column.type.scale if 0 <= column.type.scale <= MOST_DECIMALS else None
    bounds = pc.min_max(column).as_py()
    low, high = float(bounds["min"]), float(bounds["max"])
    return Float(name, low, high, digits, source=Source.DATA)


def _decimals(values: np.ndarray[Any, np.dtype[np.float64]]) -> int | None:
    """Return the fewest decimals that hold all values, if they are few."""
    for digits in range(MOST_DRAFTED_DECIMALS + 1):
        if np.array_equal(np.round(values, digits), values):
            return digits
    return None


def _listed(name: str, array: pa.Array) -> Categorical:
    distinct = pc.unique(array)
    if len(distinct) > MOST_CATEGORIES:
        raise DataError(
            f"column {name!r} holds more than {MOST_CATEGORIES} different texts: names, ids and "
            f"free text can not be synthesised; drop the column. If they are a list, declare its "
            f"values, or buy the most common ones (top in docs/how-to/private-schema.md)."
        )
    return Categorical(name, tuple(sorted(distinct.to_pylist())), source=Source.DATA)
