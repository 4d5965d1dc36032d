"""CSV and Parquet files, strictly.

CSV cells are read as text; what they mean is for the schema to say. Nothing is guessed and
nothing is repaired: ragged rows, duplicate headers and foreign encodings are errors, which name
the file, the column and the row, and never a cell.
"""

from __future__ import annotations

import csv
import glob
import io
import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from tabpe._arrow import attempt
from tabpe.errors import DataError

CSV_SUFFIXES = (".csv", ".csv.gz")
PARQUET_SUFFIXES = (".parquet", ".pq")
LARGEST_TABLE = 16 * 2**30
_UNREADABLE = (UnicodeDecodeError, csv.Error, EOFError)


def read_table(path: str | Path, *, max_bytes: int = LARGEST_TABLE) -> pa.Table:
    """Read a file, or all files that match a pattern, into one Arrow table.

    Args:
        path: A `.csv`, `.csv.gz` or `.parquet` file, or a pattern such as `part-*.parquet`.
        max_bytes: The most memory that the table may take; guards against compressed files
            that unfold without end.

    Raises:
        DataError: If there is no such file, or it is not a plain table with unique, named
            columns and at least one row.
    """
    files = _matching(path)
    tables = [_read_one(file, max_bytes) for file in files]
    for file, table in zip(files, tables, strict=True):
        if table.schema.names != tables[0].schema.names:
            raise DataError(f"{file}: its columns differ from those of {files[0]}.")
    joined = attempt(lambda: pa.concat_tables(tables, promote_options="permissive"))
    if joined is None:
        raise DataError(f"{path}: the files hold different types in one column.")
    return joined


def _matching(path: str | Path) -> list[Path]:
    if Path(path).is_file():
        return [Path(path)]
    files = sorted(Path(match) for match in glob.glob(str(path)) if Path(match).is_file())  # noqa: PTH207
    if not files:
        raise DataError(f"{path}: no such file.")
    return files


def _read_one(path: Path, max_bytes: int) -> pa.Table:
    name = path.name.lower()
    try:
        if name.endswith(CSV_SUFFIXES):
            table = _read_csv(path, max_bytes)
        elif name.endswith(PARQUET_SUFFIXES):
            table = _read_parquet(path, max_bytes)
        else:
            known = ", ".join(CSV_SUFFIXES + PARQUET_SUFFIXES)
            raise DataError(f"{path}: expected a file that ends in {known}.")
    except OSError as error:
        raise DataError(f"{path}: can not read ({error.strerror or 'damaged file'}).") from None
    check_names(table.schema.names, where=str(path))
    if table.num_rows == 0:
        raise DataError(f"{path}: there is a header and no row below it.")
    return table


def check_names(names: list[str], *, where: str) -> None:
    """Refuse columns without a name and names that stand twice."""
    for place, name in enumerate(names, start=1):
        if not name.strip():
            raise DataError(f"{where}: column {place} has no name.")
        if names.count(name) > 1:
            raise DataError(f"{where}: the column {name!r} stands there twice.")


def _read_parquet(path: Path, max_bytes: int) -> pa.Table:
    table = attempt(lambda: _parquet(path, max_bytes))
    if table is None:
        raise DataError(f"{path}: not a readable Parquet file.")
    return table


def _parquet(path: Path, max_bytes: int) -> pa.Table:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        check_names(file.schema_arrow.names, where=str(path))
        return _gathered(path, file.schema_arrow, file.iter_batches(), max_bytes)


def _read_csv(path: Path, max_bytes: int) -> pa.Table:
    names = _header(path)
    check_names(names, where=str(path))
    table = attempt(lambda: _csv(path, names, max_bytes))
    if table is None:
        raise DataError(_csv_fault(path, len(names)))
    if "\n" in (table.column(-1)[-1].as_py() if table.num_rows else ""):
        _refuse_open_quote(path)
    return table


def _csv(path: Path, names: list[str], max_bytes: int) -> pa.Table:
    from pyarrow import csv as arrow_csv

    convert = arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()))
    parse = arrow_csv.ParseOptions(newlines_in_values=True)
    with (
        _bytes(path) as stream,
        arrow_csv.open_csv(stream, parse_options=parse, convert_options=convert) as reader,
    ):
        return _gathered(path, reader.schema, reader, max_bytes)


def _gathered(
    path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch], max_bytes: int
) -> pa.Table:
    kept, size = [], 0
    for batch in batches:
        size += batch.nbytes
        if size > max_bytes:
            raise DataError(f"{path}: unfolds to more than {max_bytes:,} bytes.")
        kept.append(batch)
    return pa.Table.from_batches(kept, schema=schema)


def _bytes(path: Path) -> Any:
    packed = path.name.lower().endswith(".gz")
    return pa.input_stream(str(path), compression="gzip" if packed else None)


def _refuse_open_quote(path: Path) -> None:
    """A quote that is never closed makes all the rest of the file its cell."""
    if attempt(lambda: sum(1 for _ in _rows(path)), csv.Error) is None:
        raise DataError(f"{path}: a quotation mark is opened and never closed.")


def _header(path: Path) -> list[str]:
    rows = attempt(lambda: list(itertools.islice(_rows(path), 1)), *_UNREADABLE)
    if rows is None:
        raise DataError(_csv_fault(path, 0))
    if not rows:
        raise DataError(f"{path}: the file is empty.")
    return rows[0]


def _csv_fault(path: Path, width: int) -> str:
    """Say what is wrong with a CSV file that Arrow refused, without a cell of it."""
    number = 0
    try:
        for number, row in enumerate(_rows(path)):
            if len(row) != width:
                return f"{path}: row {number} has {len(row)} cells where the header has {width}."
    except UnicodeDecodeError:
        return f"{path}: not UTF-8 text: save it as UTF-8."
    except (*_UNREADABLE, OSError):
        return f"{path}: not a readable CSV file."
    if number == 0:
        return f"{path}: there is a header and no row below it."
    return f"{path}: not a readable CSV file."


def _rows(path: Path) -> Iterator[list[str]]:
    """Yield the rows that are not blank, the header first."""
    with _bytes(path) as stream:
        text: Any = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        yield from (row for row in csv.reader(text, strict=True) if row)
