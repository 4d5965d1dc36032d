"""A schema for tables that come without one: read off the real rows, or corrected for a label.

A person who evaluates has no use for an error where a note would do. So a column that can not be
measured is left out and named; unless it is the label, without which the report is another one.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from tabpe._arrow import is_text
from tabpe.errors import DataError, ParameterError, SchemaError, column_hint
from tabpe.io import draft_schema
from tabpe.metrics.view import views
from tabpe.schema import Column, Float, Integer, Schema

DRAFTED = (
    "no schema was given: types, bounds and categories are those of the real table, so distances "
    "are scaled by what it happens to hold"
)


def drafted(table: pa.Table, label: str | None) -> tuple[Schema, tuple[str, ...]]:
    """Return a schema read off a table, and what was left out of it.

    Unlike `draft_schema` it goes on: nulls are no part of a domain, and a column that can not be
    declared is left out.
    """
    if label is not None and label not in table.schema.names:
        raise ParameterError(
            f"label={label!r} is not a column: {column_hint(label, table.schema.names, ())}"
        )
    columns: list[Column] = []
    cuts, notes = None, [DRAFTED]
    for name in table.schema.names:
        try:
            part = _part(name, table[name], is_label=name == label)
        except (DataError, SchemaError) as error:
            if name == label:
                raise
            notes.append(f"left out: {error}")
            continue
        columns += part.columns
        cuts = part.label_cuts or cuts
    if not columns:
        raise DataError("the real table has no column that can be measured: give a schema.")
    return Schema(tuple(columns), label=label, label_cuts=cuts), tuple(notes)


def _part(name: str, column: pa.ChunkedArray, *, is_label: bool) -> Schema:
    filled = _filled(column)
    if not len(filled):
        raise DataError(f"column {name!r} holds no value at all.")
    return draft_schema(pa.table({name: filled}), label=name if is_label else None)


def labelled(schema: Schema, label: str | None, table: pa.Table) -> Schema:
    """Return the schema with another label; the classes of a number are read off the table."""
    if label is None or label == schema.label:
        return schema
    if not isinstance(schema[label], (Integer, Float)) or label not in table.schema.names:
        return Schema(schema.columns, label=label)
    read, _ = drafted(table.select([label]), label)
    columns = [column if column.name != label else read.columns[0] for column in schema.columns]
    return Schema(tuple(columns), label=label, label_cuts=read.label_cuts)


def targeted(schema: Schema, label: str | None) -> tuple[Schema, tuple[str, ...]]:
    """Return the schema with the first of several labels alone, and a note that says so.

    Example:
        >>> from tabpe.schema import Boolean
        >>> schema = Schema((Boolean("ill"), Boolean("old")), label=("ill", "old"))
        >>> targeted(schema, None)[0].label
        'ill'
    """
    if len(schema.labels) < 2 or label is not None:  # noqa: PLR2004
        return schema.of_target, ()
    note = f"of several labels the first, {schema.target!r}, is the one that models predict"
    return schema.of_target, (note,)


def shared(schema: Schema, synthetic: pa.Table) -> tuple[Schema, tuple[str, ...]]:
    """Return a drafted schema without what a synthetic table lacks, and what that was.

    Example:
        >>> schema, _ = drafted(pa.table({"id": [1, 2], "age": [31, 58]}), None)
        >>> read, notes = shared(schema, pa.table({"age": [40]}))
        >>> read.names, notes
        (('age',), ("left out: the synthetic table has no column 'id': known: 'age'",))
    """
    faults = {
        column.name: fault_of("synthetic", synthetic, Schema((column,)), schema.names)
        for column in schema.columns
    }
    label = schema.target
    if label is not None and faults[label] is not None:
        raise DataError(f"label={label!r}: {faults[label]}")
    kept = tuple(column for column in schema.columns if faults[column.name] is None)
    if not kept:
        raise DataError("no column of the real table can be measured in the synthetic one.")
    notes = [f"left out: {fault}" for fault in faults.values() if fault is not None]
    return Schema(kept, label=schema.label, label_cuts=schema.label_cuts), tuple(notes)


def fault_of(
    role: str, table: pa.Table, schema: Schema, declared: Sequence[str] = ()
) -> str | None:
    """Return why a table can not be measured by a schema, if it can not.

    Args:
        role: Which table it is.
        table: The table.
        schema: The schema.
        declared: All columns that are declared, if the schema has some of them alone.
    """
    for name in schema.names:
        if name not in table.schema.names:
            hint = column_hint(name, table.schema.names, declared or schema.names)
            return f"the {role} table has no column {name!r}: {hint}"
    try:
        views(schema, [table])
    except DataError as error:
        return f"the {role} table: {error}"
    return None


def _filled(column: pa.ChunkedArray) -> pa.ChunkedArray:
    present = pc.invert(pc.is_null(column, nan_is_null=True))
    if is_text(column.type):
        blank = pc.equal(pc.utf8_trim_whitespace(column), "")
        present = pc.and_(present, pc.invert(pc.fill_null(blank, fill_value=True)))
    return column.filter(present)
