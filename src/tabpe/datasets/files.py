"""Where the files of data sets are looked for: given, shared, in the cache, else downloaded.

1. the folder that the variable `TABPE_DATA` names
2. `../shared/data` beside the working folder, and beside a checkout of the source
3. the cache in the data folder of the user, to which downloads go
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from tabpe import _home
from tabpe._arrow import attempt
from tabpe.datasets.download import Remote, download
from tabpe.errors import DataError, OutputError
from tabpe.io import read_table
from tabpe.schema import Categorical, Column, Integer, Schema

VARIABLE = "TABPE_DATA"
_SHARED = Path("shared", "data")


@dataclass(frozen=True)
class DataFile:
    """A file of a data set.

    Args:
        name: Its name in a data folder.
        remote: From where it can be downloaded.
    """

    name: str
    remote: Remote

    def found(self) -> Path:
        """Return where the file is, after a download if it is nowhere.

        Raises:
            DataError: If it is nowhere and can not be downloaded.
        """
        here = self.here()
        if here is not None:
            return here
        try:
            return download(self.remote, _cache() / self.name)
        except (DataError, OutputError) as error:
            reason = str(error).rstrip(".")
        raise DataError(self._missing(reason))

    def here(self) -> Path | None:
        """Return where on this machine the file is; None if it is nowhere."""
        paths = (folder / self.name for folder in _folders())
        return next((path for path in paths if path.is_file()), None)

    def _missing(self, reason: str) -> str:
        places = ", ".join(str(folder) for folder in _folders())
        return (
            f"{self.name}: not in {places}, and it can not be downloaded ({reason}). Where there "
            f"is a network, load the data set once and copy the file from the cache, or make it of "
            f"{' and '.join(self.remote.urls)} as docs/how-to/data-sets.md says; then set "
            f"{VARIABLE} to its folder."
        )


def read(file: DataFile, schema: Schema) -> pa.Table:
    """Return the columns of a file that a schema declares, with the types that it declares."""
    path = file.found()
    table = read_table(path)
    lacking = [name for name in schema.names if name not in table.column_names]
    if lacking:
        raise DataError(f"{path}: no column {', '.join(map(repr, lacking))}: another file?")
    return pa.table({column.name: _typed(path, table, column) for column in schema.columns})


def _typed(path: Path, table: pa.Table, column: Column) -> pa.ChunkedArray:
    cells = table[column.name]
    typed = attempt(lambda: cells.cast(_kind(column)))
    if typed is None:
        raise DataError(f"{path}: column {column.name!r} is not of type {column.type_name}.")
    return typed


def _kind(column: Column) -> pa.DataType:
    if isinstance(column, Categorical):
        return pa.string() if isinstance(column.values[0], str) else pa.int64()
    return pa.int64() if isinstance(column, Integer) else pa.float64()


def _folders() -> Iterator[Path]:
    given = os.environ.get(VARIABLE)
    if given:
        yield Path(given)
    yield Path.cwd().parent / _SHARED
    checkout = Path(__file__).resolve().parents[3]
    if (checkout / "pyproject.toml").is_file() and checkout != Path.cwd():
        yield checkout.parent / _SHARED
    yield _cache()


def _cache() -> Path:
    return _home.data_folder() / "datasets"
