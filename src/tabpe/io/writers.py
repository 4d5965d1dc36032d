"""Tables to CSV and Parquet, for `tabpe._utils.files` to put in place."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Literal

import pyarrow as pa
import pyarrow.compute as pc

from tabpe._utils.arrays import is_text
from tabpe.errors import OutputError

SUFFIXES = (".csv", ".parquet", ".pq")
BATCH_ROWS = 65_536
# Formulas also start after blanks and control characters, which some spreadsheets skip, and with
# full-width signs (the last four). After apostrophes too, so that escaping is injective.
FORMULA_STARTS = r"^[\pZ\pC']*[=+\-@\x{ff1d}\x{ff0b}\x{ff0d}\x{ff20}]|^'*[\t\r\n]"


def make_table_writer(
    table: pa.Table, path: Path, *, escape_formulas: bool = False
) -> Callable[[BinaryIO], None]:
    """Return a function that writes `table` to a file, in the format of the suffix of `path`.

    Args:
        table: The rows.
        path: Where they will go; only its suffix matters here.
        escape_formulas: Put an apostrophe before CSV text, column names included, that a
            spreadsheet would run as a formula.
    """
    check_suffix(path)
    if path.suffix.lower() == ".csv":
        return lambda file: _fill_csv(_escape_table(table) if escape_formulas else table, file)
    return lambda file: _fill_parquet(table, file)


def check_suffix(path: Path) -> None:
    """Refuse a file name without a known suffix.

    Example:
        >>> check_suffix(Path("synthetic.xlsx"))
        Traceback (most recent call last):
        tabpe.errors.OutputError: synthetic.xlsx: expected a name that ends in .csv, .parquet, .pq.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise OutputError(f"{path}: expected a name that ends in {', '.join(SUFFIXES)}.")


def _fill_csv(table: pa.Table, file: BinaryIO) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n", quoting=_choose_quoting(table))
    writer.writerow(table.schema.names)
    for batch in table.to_batches(max_chunksize=BATCH_ROWS):
        writer.writerows(zip(*(_format_csv_cells(column) for column in batch.columns), strict=True))
    text.detach()


def _choose_quoting(table: pa.Table) -> Literal[0, 2]:
    """Quote all text if one has a carriage return, which the csv module does not quote."""
    texts = [pa.chunked_array([table.schema.names]), *map(_get_text_column, table.columns)]
    if any(pc.any(pc.match_substring(text, "\r")).as_py() for text in texts if text is not None):
        return csv.QUOTE_NONNUMERIC
    return csv.QUOTE_MINIMAL


def _get_text_column(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return a column of text as plain text, and None for any other."""
    encoded = pa.types.is_dictionary(column.type)
    kind = column.type.value_type if encoded else column.type
    return column.cast(kind).cast(pa.string()) if is_text(kind) else None


def _format_csv_cells(column: pa.Array) -> list[Any]:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if column.type in (pa.bool_(), pa.float16(), pa.float32()):
        column = column.cast(pa.string())
    return list(column.to_pylist())


def _fill_parquet(table: pa.Table, file: BinaryIO) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table, file)


def _escape_table(table: pa.Table) -> pa.Table:
    for index, name in enumerate(table.schema.names):
        text = _get_text_column(table.column(index))
        if text is not None:
            table = table.set_column(index, name, _escape_text(text))
    return table.rename_columns(escape_names(table.schema.names))


def escape_names(names: Sequence[str]) -> list[str]:
    """Return column names as they are written where formulas are escaped.

    Example:
        >>> escape_names(["age", "=1+1"])
        ['age', "'=1+1"]
    """
    escaped: list[str] = _escape_text(pa.array(names, pa.string())).to_pylist()
    return escaped


def _escape_text(text: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    formula = pc.match_substring_regex(text, FORMULA_STARTS)
    return pc.if_else(formula, pc.binary_join_element_wise("'", text, ""), text)
