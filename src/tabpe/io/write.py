"""Tables to CSV and Parquet, for `tabpe._atomic` to put in place."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from tabpe.errors import OutputError

SUFFIXES = (".csv", ".parquet", ".pq")
BATCH_ROWS = 65_536
FORMULA_STARTS = r"^[=+\-@\t\r]"


def table_writer(
    table: pa.Table, path: Path, *, escape_formulas: bool = False
) -> Callable[[BinaryIO], None]:
    """Return what fills a file with `table` in the format that the name of `path` tells.

    Args:
        table: The rows.
        path: Where they will go; only its ending matters here.
        escape_formulas: Put an apostrophe before text in CSV that a spreadsheet would run.
    """
    check_suffix(path)
    if path.suffix == ".csv":
        return lambda file: _fill_csv(_escaped(table) if escape_formulas else table, file)
    return lambda file: _fill_parquet(table, file)


def check_suffix(path: Path) -> None:
    """Refuse a name that tells no format.

    Example:
        >>> check_suffix(Path("synthetic.xlsx"))
        Traceback (most recent call last):
        tabpe.errors.OutputError: synthetic.xlsx: expected a name that ends in .csv, .parquet, .pq.
    """
    if path.suffix not in SUFFIXES:
        raise OutputError(f"{path}: expected a name that ends in {', '.join(SUFFIXES)}.")


def _fill_csv(table: pa.Table, file: BinaryIO) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.schema.names)
    for batch in table.to_batches(max_chunksize=BATCH_ROWS):
        writer.writerows(zip(*(_csv_cells(column) for column in batch.columns), strict=True))
    text.detach()


def _csv_cells(column: pa.Array) -> list[Any]:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return list(
        (column.cast(pa.string()) if pa.types.is_boolean(column.type) else column).to_pylist()
    )


def _fill_parquet(table: pa.Table, file: BinaryIO) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table, file)


def _escaped(table: pa.Table) -> pa.Table:
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type) or pa.types.is_string(field.type):
            text = table.column(place).cast(pa.string())
            safe = pc.if_else(
                pc.match_substring_regex(text, FORMULA_STARTS),
                pc.binary_join_element_wise("'", text, ""),
                text,
            )
            table = table.set_column(place, field.name, safe)
    return table
