"""Whether a table is the one that a certificate names, and fits its schema.

To encode is lenient: it clamps numbers and takes unlisted values for `other`. A synthetic table
needs neither, so here both are refused.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from tabpe.encode import Encoder
from tabpe.encode.forms import fitting
from tabpe.errors import CellError, DataError
from tabpe.io import open_source
from tabpe.privacy import WrittenTable
from tabpe.schema import Categorical, Float, Integer, Schema, Temporal
from tabpe.schema.columns import Column
from tabpe.verify.lawful import Obedience
from tabpe.verify.report import FAILED, GIVEN, OK, Check


def table_checks(named: WrittenTable | None, schema: Schema | None, rows: Path) -> Iterator[Check]:
    """Check a table against what a certificate says of it.

    Raises:
        DataError: If there is no such file.
    """
    if named is None:
        yield Check("table", FAILED, "the certificate names no table")
        return
    sha256, size = _fingerprint(rows)
    if (sha256, size) == (named.sha256, named.size_bytes):
        yield Check("table", OK, f"SHA-256 {sha256[:16]}... and length are the stated ones")
    else:
        yield Check("table", FAILED, f"{rows.name} is not the table that the certificate names")
    if named.formulas_escaped:
        yield Check("rows", GIVEN, "not held to the schema: formulas in them are escaped")
    elif schema is None:
        yield Check("rows", FAILED, "there is no schema to hold them to")
    else:
        yield _rows_check(named, schema, rows)


def _rows_check(named: WrittenTable, schema: Schema, rows: Path) -> Check:
    try:
        count = fitting_rows(schema, rows)
    except DataError as error:
        return Check("rows", FAILED, f"do not fit the schema: {error}")
    if count != named.rows:
        return Check("rows", FAILED, f"{count:,} rows, stated are {named.rows:,}")
    obey = " and obey its rules" if schema.rules else ""
    return Check("rows", OK, f"{count:,} rows, and all fit the schema{obey}")


def fitting_rows(schema: Schema, path: Path) -> int:
    """Return the number of rows of a table, all of which fit the schema and its rules.

    Raises:
        DataError: If a row does not fit, or the columns are not those of the schema.
    """
    source, strict = open_source(path), _strict(schema)
    if tuple(source.names) != schema.names:
        raise DataError("the columns are not those of the schema, in its order.")
    encoder, rules, count = Encoder(strict, strict=True), Obedience(schema), 0
    for batch in source.batches(schema.names):
        wrong = _first_wrong(encoder, batch.table) or rules.first_broken(batch.table)
        if wrong is not None:
            raise wrong.at(None, batch.first_row)
        count += batch.table.num_rows
    rules.check_keys()
    return count


def _first_wrong(encoder: Encoder, table: pa.Table) -> CellError | None:
    try:
        encoder.encode(table)
        for column in encoder.schema.columns:
            if isinstance(column, (Integer, Float, Temporal)):
                _check_values(column, table[column.name])
    except CellError as error:
        return error
    return None


def _strict(schema: Schema) -> Schema:
    """Return a schema that takes no cell for another."""

    def without_rule(column: Column) -> Column:
        if isinstance(column, Categorical):
            column = dataclasses.replace(column, other=None, invalid=None)
        return dataclasses.replace(column, invalid=None, default=None)

    return dataclasses.replace(schema, columns=tuple(map(without_rule, schema.columns)))


def _check_values(column: Integer | Float | Temporal, cells: pa.ChunkedArray) -> None:
    bad = ~fitting(column, cells)
    if bad.any():
        row = int(np.argmax(bad)) + 1
        called = column.type_name if isinstance(column, Temporal) else "number"
        raise CellError(f"column {column.name!r}: the {called}", row, " is outside the schema.")


def _fingerprint(path: Path) -> tuple[str, int]:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest(), file.tell()
    except OSError as error:
        raise DataError(f"{path}: can not read it ({error.strerror}).") from None
