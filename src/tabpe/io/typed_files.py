"""Files whose cells have types of their own: spreadsheets, JSON lines, Stata, SAS and SPSS.

Every cell becomes canonical text by itself: a number as Python writes it, a date as ISO 8601. Text
is normalised by the rules of its column, and cells of other types are not, so that a spreadsheet
may hold `1,5` as text beside 1.5 as a number.
"""

from __future__ import annotations

import itertools
import json
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from tabpe._utils.extras import require_package
from tabpe.errors import DataError
from tabpe.io.batches import Limits, check_names, iterate_safely, read_safely
from tabpe.io.canonical import format_cell
from tabpe.io.text_streams import LONGEST_ROW, FileHead, bound_size, open_as_text, strip_compression
from tabpe.schema.table_format import CellRules, TableFormat, TableReading

EXCEL = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")
JSON_LINES = (".jsonl", ".ndjson")
STATISTICS = {
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
}
TYPED_SUFFIXES = (*EXCEL, *JSON_LINES, *STATISTICS)
_ROWS_AT_ONCE = 2**13
_SHORTEST_LINE = 3  # an empty object and a line end


def open_typed_file(path: Path, limits: Limits, reading: TableReading) -> TypedFile | None:
    """Return the reader of a file with typed cells; None for any other suffix.

    Example:
        >>> type(open_typed_file(Path("visits.xlsx"), Limits(), TableReading())).__name__
        'ExcelFile'
    """
    name = path.name.lower()
    if name.endswith(EXCEL):
        return ExcelFile(path, limits, reading)
    if strip_compression(name).endswith(JSON_LINES):
        return JsonLinesFile(path, limits, reading)
    return StatisticsFile(path, limits, reading) if name.endswith(tuple(STATISTICS)) else None


@dataclass(frozen=True)
class TypedFile:
    """A file whose cells have types of their own, read as canonical text.

    Args:
        path: Its path.
        limits: The most to read of it.
        reading: The layout of the file, and what its cells mean.
        first_row: The number of rows before this part of it.
    """

    path: Path
    limits: Limits
    reading: TableReading
    first_row: int = 0

    has_typed_cells: ClassVar[bool] = True
    names_are_data: ClassVar[bool] = False
    kind: ClassVar[str] = "typed"

    def divide_into(self, most: int) -> list[TypedFile]:  # noqa: ARG002
        """Return the whole file."""
        return [self]

    def read_head(self) -> FileHead:
        """Return its columns and an upper bound of its rows."""
        names, rows = read_safely(self.path, self._read_names, self._describe_fault)
        check_names(names, where=str(self.path))
        return FileHead(pa.schema([(name, pa.string()) for name in names]), rows)

    def read_batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield its rows as canonical text; the other columns are left out."""
        return iterate_safely(self.path, self._iterate_batches(names), self._describe_fault)

    def _iterate_batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        rules = [self.reading.rules.get(name, CellRules()) for name in names]
        rows = self._iterate_rows(names)
        while some := list(itertools.islice(rows, _ROWS_AT_ONCE)):
            cells = zip(*some, strict=True)
            columns = [
                pa.array([_format_typed(value, rule) for value in column], pa.string())
                for column, rule in zip(cells, rules, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, names=list(names))

    @property
    def _layout(self) -> TableFormat:
        return self.reading.layout or TableFormat()

    def _describe_fault(self) -> str:
        return f"not a readable {self.kind} file."

    def _read_names(self) -> tuple[list[str], int]:
        """Return the names of the columns, and an upper bound of the number of rows."""
        raise NotImplementedError

    def _iterate_rows(self, names: Sequence[str]) -> Iterator[Sequence[Any]]:
        """Yield the cells of some columns, row by row."""
        raise NotImplementedError


def _format_typed(value: Any, rules: CellRules) -> str | None:
    text = format_cell(value)
    return rules.normalize(text) if isinstance(value, str) and text is not None else text


class ExcelFile(TypedFile):
    """A sheet of a workbook, with a header."""

    kind = "Excel"

    def _read_names(self) -> tuple[list[str], int]:
        rows = self._read_sheet()
        return _list_header(rows[0]) if rows else [], max(0, len(rows) - 1)

    def _iterate_rows(self, names: Sequence[str]) -> Iterator[Sequence[Any]]:
        rows = self._read_sheet()
        header = _list_header(rows[0]) if rows else []
        indices = [header.index(name) for name in names]
        for row in rows[1:]:
            if not _is_blank_row(row):
                yield [None if row[index] == "" else row[index] for index in indices]

    def _read_sheet(self) -> list[list[Any]]:
        """Return the rows of the sheet, from the header on."""
        calamine = require_package("python_calamine", "excel", f"{self.path}: reading Excel files")
        self._check_size()
        failures = (calamine.CalamineError, OSError, ValueError)
        book = _call_quietly(lambda: calamine.CalamineWorkbook.from_path(str(self.path)), failures)
        if book is None:
            raise DataError(f"{self.path}: {self._describe_fault()}")
        sheet = self._layout.sheet or book.sheet_names[0]
        if sheet not in book.sheet_names:
            raise DataError(
                f"{self.path}: no sheet {sheet!r}: write the name of one of its "
                f"{len(book.sheet_names)} sheets as format: {{sheet: ...}}."
            )
        rows = _call_quietly(lambda: book.get_sheet_by_name(sheet).to_python(), failures)
        if rows is None:
            raise DataError(f"{self.path}: {self._describe_fault()}")
        filled = itertools.dropwhile(_is_blank_row, rows[self._layout.skip :])
        return [list(row) for row in filled]

    def _check_size(self) -> None:
        """Refuse an archive that would not fit in memory."""
        if zipfile.is_zipfile(self.path):
            with zipfile.ZipFile(self.path) as archive:
                size = sum(info.file_size for info in archive.infolist())
            self.limits.check_limit("whole_bytes", size, where=str(self.path))


def _is_blank_row(row: Iterable[Any]) -> bool:
    return all(cell in ("", None) for cell in row)


def _list_header(row: Sequence[Any]) -> list[str]:
    """Return the names of a header, without blank ones at its end."""
    names = [format_cell(cell) or "" for cell in row]
    while names and not names[-1].strip():
        names.pop()
    return names


def _call_quietly(call: Callable[[], Any], failures: tuple[type[Exception], ...]) -> Any:
    """Return the result of a call, or None: the message of its error may quote a cell."""
    try:
        return call()
    except failures:
        return None


class JsonLinesFile(TypedFile):
    """A file with a JSON object on each line.

    Its columns are those that are declared: a key that an object lacks is a missing cell, and other
    keys are ignored, so that no row decides which columns there are. Where nothing is declared,
    such as for a draft, they are the keys of all objects.
    """

    kind = "JSON lines"
    names_are_data: ClassVar[bool] = True

    def _read_names(self) -> tuple[list[str], int]:
        most_rows = bound_size(self.path, self.limits) // _SHORTEST_LINE + 1
        if self.reading.names:
            return list(self.reading.names), most_rows
        names: dict[str, None] = {}
        for entry in self._iterate_objects():
            names.update(dict.fromkeys(entry))
            self.limits.check_limit("columns", len(names), where=str(self.path))
        return list(names), most_rows

    def _iterate_rows(self, names: Sequence[str]) -> Iterator[Sequence[Any]]:
        for entry in self._iterate_objects():
            yield [entry.get(name) for name in names]

    def _iterate_objects(self) -> Iterator[dict[str, Any]]:
        number = 0
        with open_as_text(self.path, self.limits, self._layout) as text:
            while line := text.readline(LONGEST_ROW + 1):
                if len(line) > LONGEST_ROW:
                    raise DataError(f"{self.path}: a row of more than {LONGEST_ROW:,} characters.")
                if not line.strip():
                    continue
                number += 1
                found = _call_quietly(lambda: json.loads(line), (ValueError, RecursionError))
                if not isinstance(found, dict):
                    raise DataError(f"{self.path}: row {number} is not a JSON object on one line.")
                yield found


class StatisticsFile(TypedFile):
    """A file of Stata, SAS or SPSS. Values are codes: their labels are not read."""

    kind = "Stata, SAS or SPSS"

    def _read_names(self) -> tuple[list[str], int]:
        found, about = self._read(metadataonly=True)
        rows = about.number_rows
        return list(about.column_names), len(found) if rows is None else int(rows)

    def _iterate_rows(self, names: Sequence[str]) -> Iterator[Sequence[Any]]:
        size = self.path.stat().st_size
        self.limits.check_limit("whole_bytes", size, where=str(self.path))
        columns, _ = self._read(usecols=list(names), output_format="dict")
        yield from zip(*(columns[name] for name in names), strict=True)

    def _read(self, **options: Any) -> tuple[Any, Any]:
        pyreadstat = require_package(
            "pyreadstat", "statistics", f"{self.path}: reading Stata, SAS and SPSS files"
        )
        name = next(kind for kind in STATISTICS if self.path.name.lower().endswith(kind))
        read = getattr(pyreadstat, STATISTICS[name])
        failures = (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, OSError, ValueError)
        found = _call_quietly(lambda: read(str(self.path), **options), failures)
        if found is None:
            raise DataError(f"{self.path}: {self._describe_fault()}")
        return found[0], found[1]
