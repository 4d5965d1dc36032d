"""How large a table may be: generous for tables, and the end of what unfolds without end.

Errors name the limit and never what was found: how many rows there are is private.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from tabpe import _validate
from tabpe.errors import DataError
from tabpe.io.batches import Batch, longest_text

_PREFIX = "TABPE_MAX_"


@dataclass(frozen=True)
class Limits:
    """The most of everything that is read from files.

    Each can be set for a process by a variable of its environment, such as `TABPE_MAX_ROWS`.

    Args:
        bytes: Bytes of a table, unfolded.
        whole_bytes: The same of a table that is in memory as a whole, to draft a schema.
        rows: Rows of a table.
        columns: Columns of a table.
        page_bytes: Bytes of the pages of a Parquet file that have to be in memory at the same time.
        cell_bytes: Bytes of one cell of text, in a column that is read.
        files: Files that a folder or a pattern stands for.

    Example:
        >>> Limits().columns
        10000
        >>> Limits.of({"TABPE_MAX_ROWS": "1000000"}).rows
        1000000
    """

    bytes: int = 2**40
    whole_bytes: int = 2**34
    rows: int = 10**10
    columns: int = 10_000
    page_bytes: int = 2**30
    cell_bytes: int = 2**17
    files: int = 100_000

    def __post_init__(self) -> None:
        for name, value in dataclasses.asdict(self).items():
            _validate.whole(name, value, least=1)

    @classmethod
    def of(cls, environment: Mapping[str, str] | None = None) -> Limits:
        """Return the limits that the environment sets, and the usual ones for all others."""
        given = os.environ if environment is None else environment
        names = {field.name: _variable(field.name) for field in dataclasses.fields(cls)}
        return cls(
            **{name: _count(key, given[key]) for name, key in names.items() if given.get(key)}
        )

    def check(self, name: str, found: int, *, where: str) -> None:
        """Refuse what is above the limit of that name.

        Example:
            >>> Limits(columns=2).check("columns", 3, where="visits.csv")
            Traceback (most recent call last):
            tabpe.errors.DataError: visits.csv: more than 2 columns; TABPE_MAX_COLUMNS allows more.
        """
        most = getattr(self, name)
        if found > most:
            does, what = ("unfolds to ", "bytes") if "bytes" in name else ("", name)
            what += " at once" if name == "page_bytes" else ""
            raise DataError(
                f"{where}: {does}more than {most:,} {what}; {_variable(name)} allows more."
            )

    def held(self, batches: Iterator[Batch], *, where: str) -> Iterator[Batch]:
        """Yield batches of one table as long as they are within the limits together."""
        rows = size = 0
        for batch in batches:
            rows, size = rows + batch.table.num_rows, size + batch.table.nbytes
            self.check("rows", rows, where=batch.file or where)
            self.check("bytes", size, where=batch.file or where)
            yield batch

    def check_cells(self, batch: pa.RecordBatch, *, where: str) -> None:
        """Refuse a cell that is too long, by its column."""
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if longest_text(column) > self.cell_bytes:
                raise DataError(
                    f"{where}: column {name!r} holds a cell of more than {self.cell_bytes:,} "
                    f"bytes: shorten it or drop the column; {_variable('cell_bytes')} allows more."
                )


def _variable(name: str) -> str:
    return f"{_PREFIX}{name.upper()}"


def _count(variable: str, text: str) -> int:
    return _validate.whole(variable, int(text) if text.isdecimal() else text, least=1)
