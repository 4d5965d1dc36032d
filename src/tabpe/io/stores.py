"""Tables behind the address of a store: S3, Google Cloud Storage, Azure, HDFS.

Arrow finds and reads the files. Which of them count, what folders named `key=value` say, and that
the cells of CSV are text, is as it is for files on this machine.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from tabpe._addresses import scheme_of, without_secrets
from tabpe._arrow import attempt
from tabpe.errors import DataError
from tabpe.io.datasets import DatasetSource
from tabpe.io.faults import UNREADABLE, check_names
from tabpe.io.files import KINDS, ArrowFile, CsvFile, ParquetFile
from tabpe.io.folders import keys_of
from tabpe.io.limits import Limits

T = TypeVar("T")
_FORMATS = {ParquetFile: "parquet", ArrowFile: "ipc"}
# A header is shorter.
_HEADER_BYTES = 2**20
_PATIENCE = 30


def local_path(address: str) -> Path:
    """Return the path of a `file://` address.

    Example:
        >>> local_path("file:///data/visits%202024.csv").as_posix()
        '/data/visits 2024.csv'
    """
    parts = urlsplit(str(address))
    if parts.netloc not in {"", "localhost"} or parts.query or parts.fragment:
        raise DataError(
            f"{without_secrets(address)}: expected file:// and the path of a file on this machine."
        )
    return Path(unquote(parts.path))


def open_store(address: str, limits: Limits) -> DatasetSource:
    """Return what reads the files behind an address, a file or a folder.

    Privacy: the address may hold keys. Errors have the place alone, and nothing of what Arrow says.

    Args:
        address: Such as `s3://bucket/patients/`.
        limits: The most to read.

    Raises:
        DataError: If the store can not be reached, or there is no table.
    """
    from pyarrow.fs import FileSystem

    where = without_secrets(address)
    filesystem, root = _tried(where, lambda: FileSystem.from_uri(_patient(address)))
    store = _Store(filesystem, root, where, limits)
    return DatasetSource(store.dataset(), limits)


@dataclass(frozen=True, eq=False)
class _Store:
    """A folder or a file in a store."""

    filesystem: Any
    root: str
    where: str
    limits: Limits

    def dataset(self) -> Any:
        """Return all files as one dataset, in the order of their names."""
        import pyarrow.dataset as ds

        files = self._files()
        form = self._format(files)
        keys = [keys_of(self._below(file)) for file in files]
        schema = self._joined([self._schema(form, file) for file in files], files)
        columns = pa.schema([(name, pa.string()) for name, _ in keys[0]])
        check_names([*schema.names, *columns.names], where=self.where)
        return ds.FileSystemDataset(
            [
                form.make_fragment(file, self.filesystem, partition_expression=_expression(key))
                for file, key in zip(files, keys, strict=True)
            ],
            pa.schema([*schema, *columns]),
            form,
            self.filesystem,
        )

    def _files(self) -> list[str]:
        from pyarrow.fs import FileSelector, FileType

        (found,) = _tried(self.where, lambda: self.filesystem.get_file_info([self.root]))
        if found.type == FileType.NotFound:
            raise DataError(f"{self.where}: no such file.")
        if found.type == FileType.File:
            return [found.path]
        below = FileSelector(self.root, recursive=True)
        entries = _tried(self.where, lambda: self.filesystem.get_file_info(below))
        files = [entry.path for entry in entries if entry.type == FileType.File]
        shown = sorted(file for file in files if not _is_hidden(self._below(file)))
        self.limits.check("files", len(shown), where=self.where)
        if not shown:
            raise DataError(f"{self.where}: no file in this folder.")
        return shown

    def _below(self, file: str) -> PurePosixPath:
        path, root = PurePosixPath(file), PurePosixPath(self.root)
        return path.relative_to(root) if path != root else PurePosixPath(path.name)

    def _format(self, files: Sequence[str]) -> Any:
        import pyarrow.dataset as ds

        kinds = {self._kind(file) for file in files}
        if len(kinds) > 1:
            raise DataError(f"{self.where}: expected files of one kind in a folder of a store.")
        (kind,) = kinds
        if kind is not CsvFile:
            return {"parquet": ds.ParquetFileFormat, "ipc": ds.IpcFileFormat}[_FORMATS[kind]]()
        from pyarrow import csv as arrow_csv

        names = self._header(files[0])
        return ds.CsvFileFormat(
            arrow_csv.ParseOptions(newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
            ),
        )

    def _kind(self, file: str) -> Any:
        if file.lower().endswith(".gz"):
            raise DataError(f"{file}: Arrow unpacks no CSV in a store: unpack it, or use Parquet.")
        for suffix, kind in KINDS.items():
            if file.lower().endswith(suffix):
                return kind
        raise DataError(f"{file}: expected a file that ends in {', '.join(KINDS)}.")

    def _header(self, file: str) -> list[str]:
        def read() -> list[list[str]]:
            with self.filesystem.open_input_stream(file) as stream:
                text = stream.read(_HEADER_BYTES).decode("utf-8-sig", errors="ignore")
            return list(itertools.islice((row for row in csv.reader(io.StringIO(text)) if row), 1))

        rows = _tried(file, read)
        if not rows:
            raise DataError(f"{file}: the file is empty.")
        check_names(rows[0], where=file)
        return rows[0]

    def _schema(self, form: Any, file: str) -> pa.Schema:
        if form.default_extname == "csv":
            return pa.schema([(name, pa.string()) for name in self._header(file)])
        return _tried(file, lambda: form.inspect(file, self.filesystem)).remove_metadata()

    def _joined(self, schemas: Sequence[pa.Schema], files: Sequence[str]) -> pa.Schema:
        for file, schema in zip(files, schemas, strict=True):
            check_names(schema.names, where=file)
            if schema.names != schemas[0].names:
                raise DataError(f"{file}: its columns differ from those of {files[0]}.")
        joined = attempt(partial(pa.unify_schemas, schemas, promote_options="permissive"))
        if joined is None:
            raise DataError(f"{self.where}: the files hold different types in one column.")
        return joined


def _patient(address: str) -> str:
    """Return an address that gives up; Google's client tries for a quarter of an hour."""
    if scheme_of(address) not in {"gs", "gcs"} or "retry_limit_seconds=" in address:
        return address
    return f"{address}{'&' if '?' in address else '?'}retry_limit_seconds={_PATIENCE}"


def _expression(keys: Sequence[tuple[str, str | None]]) -> Any:
    import pyarrow.dataset as ds

    told = [
        ds.field(name).is_null() if value is None else ds.field(name) == value
        for name, value in keys
    ]
    return None if not told else _all(told)


def _all(told: Sequence[Any]) -> Any:
    first, *others = told
    for other in others:
        first &= other
    return first


def _is_hidden(below: PurePosixPath) -> bool:
    """Whether a file, or a folder above it, is one to pass over."""
    *folders, name = below.parts
    return name.startswith((".", "_")) or any(
        folder.startswith(".") or (folder.startswith("_") and "=" not in folder)
        for folder in folders
    )


def _tried(where: str, call: Callable[[], T]) -> T:
    """Return what `call` gets from a store; of a failure nothing is kept but its class."""
    try:
        return call()
    except (OSError, ValueError, *UNREADABLE, pa.ArrowException) as error:
        problem = type(error).__name__
    raise DataError(
        f"{where}: can not be read ({problem}): check the address, and the keys and the region in "
        f"the environment."
    )
