"""Arrow datasets, and files in stores: S3, Google Cloud Storage, Azure, HDFS.

Arrow finds and reads the files. Which files count, what folders named `key=value` mean, and that
CSV cells are text, is the same as for local files (`tabpe.io.files`).
"""

from __future__ import annotations

import csv
import functools
import io
import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from tabpe._utils.arrays import try_call
from tabpe._utils.files import get_scheme, strip_secrets
from tabpe.errors import DataError
from tabpe.io.batches import (
    UNREADABLE,
    Batch,
    Limits,
    check_names,
    group_evenly,
    iterate_safely,
    regroup_batches,
)
from tabpe.io.canonical import find_nested_columns
from tabpe.io.files import (
    FILE_TYPES,
    ArrowFile,
    CsvFile,
    ParquetFile,
    ParquetReader,
    parse_partition_keys,
)
from tabpe.io.frames import ARROW

# Formats that store the number of rows.
_FORMATS_WITH_ROW_COUNT = ("parquet", "arrow", "feather", "ipc")


@dataclass(frozen=True, eq=False)
class DatasetSource:
    """A `pyarrow.dataset.Dataset`.

    Args:
        dataset: The dataset.
        limits: The most to read of it.
        chosen: The fragments to read, each with the number of rows of its file before it; None
            for all. A part of a table may have no row.
    """

    dataset: Any
    limits: Limits
    chosen: Sequence[tuple[Any, int]] | None = None

    def __post_init__(self) -> None:
        self.limits.check_limit("columns", len(self.names), where="data")
        check_names(self.names, where="data")

    @property
    def library(self) -> str:
        """The library of the output frames: pyarrow."""
        return ARROW

    @property
    def nested(self) -> frozenset[str]:
        """The columns of a nested type."""
        return find_nested_columns(self.dataset.schema)

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self.dataset.schema.names)

    @property
    def most_rows(self) -> int | None:
        """The number of rows, if all its files store theirs."""
        fragments = [one for one in self._list_fragments() if one is not self.dataset]
        counts = [_get_row_count(fragment) for fragment in fragments] or [None]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    def batches(self, names: Sequence[str] | None = None) -> Iterator[Batch]:
        """Read fragment after fragment."""
        wanted = self.names if names is None else list(names)
        return self.limits.check_batches(self._iterate_batches(wanted), where="data")

    def divide_into(self, most: int) -> list[DatasetSource]:
        """Return parts: whole files, or row groups of Parquet files."""
        pieces = [
            piece for fragment in self._list_fragments() for piece in _divide_fragment(fragment)
        ]
        sizes = [size for *_, size in pieces]
        return [
            replace(self, chosen=[(fragment, first) for fragment, first, _ in part])
            for part in group_evenly(pieces, sizes, most)
        ]

    def _iterate_batches(self, wanted: list[str]) -> Iterator[Batch]:
        rows = 0
        chosen = (
            [(one, 0) for one in self._list_fragments()] if self.chosen is None else self.chosen
        )
        for fragment, before in chosen:
            file, first = getattr(fragment, "path", None), before
            for table in regroup_batches(self._read_fragment(fragment, wanted)):
                yield Batch(table, file, first if file else rows)
                first += table.num_rows
                rows += table.num_rows

    def _list_fragments(self) -> list[Any]:
        """Return the fragments; the dataset itself if it is filtered, which hides them."""
        if self.chosen is not None:
            return [fragment for fragment, _ in self.chosen]
        fragments = try_call(lambda: list(self.dataset.get_fragments()), ValueError)
        return [self.dataset] if fragments is None else fragments

    def _read_fragment(self, fragment: Any, wanted: list[str]) -> Iterator[pa.RecordBatch]:
        path = Path(getattr(fragment, "path", None) or "data")
        return iterate_safely(
            path, self._scan_fragment(fragment, wanted), lambda: "not readable by Arrow."
        )

    def _scan_fragment(self, fragment: Any, wanted: list[str]) -> Iterator[pa.RecordBatch]:
        of_schema = {} if fragment is self.dataset else {"schema": self._get_file_schema(fragment)}
        if _is_parquet(fragment):
            # Arrow's own scan would decode a row group as a whole.
            batches = self._decode_parquet(fragment, wanted)
        else:
            # Limited readahead: the default is millions of rows.
            batches = fragment.to_batches(
                columns=wanted, batch_readahead=1, fragment_readahead=1, **of_schema
            )
        for batch in batches:
            batch.validate(full=True)
            self.limits.check_cells(batch, where=getattr(fragment, "path", None) or "data")
            yield batch

    def _get_file_schema(self, fragment: Any) -> pa.Schema:
        """Return the file's own types: a cast could fail because of a single cell."""
        own = fragment.physical_schema
        return pa.schema(
            [own.field(one.name) if one.name in own.names else one for one in self.dataset.schema]
        )

    def _decode_parquet(self, fragment: Any, wanted: list[str]) -> Iterator[pa.RecordBatch]:
        """Yield a Parquet file with the columns of the dataset, in the types of the file."""
        from pyarrow.dataset import get_partition_keys
        from pyarrow.fs import LocalFileSystem

        keys = get_partition_keys(fragment.partition_expression)
        schema = pa.schema([self.dataset.schema.field(name) for name in wanted])
        groups = [group.id for group in fragment.row_groups]
        is_far = not isinstance(fragment.filesystem, LocalFileSystem)
        source = fragment.filesystem.open_input_file(fragment.path)
        with ParquetReader(source, fragment.path, self.limits, is_far=is_far) as table:
            own = [name for name in table.schema.names if name not in keys]
            # A batch without columns would have no rows.
            chosen = [name for name in wanted if name in own] or own[:1]
            for batch in table.read_batches(chosen, groups):
                yield _complete_batch(batch, keys, schema)


def _complete_batch(
    batch: pa.RecordBatch, keys: dict[str, Any], schema: pa.Schema
) -> pa.RecordBatch:
    """Return a batch with partition keys, and nulls where the file lacks a column."""
    columns = []
    for field in schema:
        if field.name in keys or field.name not in batch.schema.names:
            known = pa.repeat(pa.scalar(keys.get(field.name)), batch.num_rows)
            columns.append(known.cast(field.type))
        else:
            columns.append(batch.column(field.name))
    return pa.RecordBatch.from_arrays(columns, names=schema.names)


def _is_parquet(fragment: Any) -> bool:
    import pyarrow.dataset

    kind = getattr(pyarrow.dataset, "ParquetFileFragment", None)
    return kind is not None and isinstance(fragment, kind) and fragment.buffer is None


def _get_row_count(fragment: Any) -> int | None:
    """Return the number of rows, if the format stores it."""
    kind = getattr(getattr(fragment, "format", None), "default_extname", None)
    return try_call(fragment.count_rows, OSError) if kind in _FORMATS_WITH_ROW_COUNT else None


def _divide_fragment(fragment: Any) -> list[tuple[Any, int, int]]:
    """Return the row groups of a fragment, each with the rows before it and its own rows."""
    split = getattr(fragment, "split_by_row_group", None)
    groups = None if split is None else try_call(split, OSError)
    if groups is None:
        return [(fragment, 0, _get_row_count(fragment) or 0)]
    sizes = [sum(group.num_rows for group in piece.row_groups) for piece in groups]
    before = itertools.accumulate(sizes, initial=0)
    return list(zip(groups, before, sizes, strict=False))


T = TypeVar("T")
_FORMATS = {ParquetFile: "parquet", ArrowFile: "ipc"}
# Text whose layout is stated by a schema.
_LOCAL_ONLY = (".tsv", ".tab", ".txt")
_HEADER_BYTES = 2**20
_TIMEOUT_SECONDS = 30


def parse_local_path(address: str) -> Path:
    """Return the path of a `file://` address.

    Example:
        >>> parse_local_path("file:///data/visits%202024.csv").as_posix()
        '/data/visits 2024.csv'
    """
    parts = urlsplit(str(address))
    if parts.netloc not in {"", "localhost"} or parts.query or parts.fragment:
        raise DataError(
            f"{strip_secrets(address)}: expected file:// and the path of a file on this machine."
        )
    return Path(unquote(parts.path))


def open_store(address: str, limits: Limits) -> DatasetSource:
    """Return a source for the file or folder behind an address.

    Privacy: the address may hold keys. Errors name the location only, and drop Arrow's message.

    Args:
        address: Such as `s3://bucket/patients/`.
        limits: The most to read.

    Raises:
        DataError: If the store can not be reached, or there is no table.
    """
    from pyarrow.fs import FileSystem

    where = strip_secrets(address)
    filesystem, root = _read_store_safely(where, lambda: FileSystem.from_uri(_add_timeout(address)))
    store = _StoreFolder(filesystem, root, where, limits)
    return DatasetSource(store.build_dataset(), limits)


@dataclass(frozen=True, eq=False)
class _StoreFolder:
    """A folder or a file in a store."""

    filesystem: Any
    root: str
    where: str
    limits: Limits

    def build_dataset(self) -> Any:
        """Return all files as one dataset, in the order of their names."""
        import pyarrow.dataset as ds

        files = self._list_files()
        form = self._choose_format(files)
        keys = [parse_partition_keys(self._get_relative_path(file)) for file in files]
        schema = self._join_schemas([self._read_schema(form, file) for file in files], files)
        columns = pa.schema([(name, pa.string()) for name, _ in keys[0]])
        check_names([*schema.names, *columns.names], where=self.where)
        return ds.FileSystemDataset(
            [
                form.make_fragment(
                    file, self.filesystem, partition_expression=_build_expression(key)
                )
                for file, key in zip(files, keys, strict=True)
            ],
            pa.schema([*schema, *columns]),
            form,
            self.filesystem,
        )

    def _list_files(self) -> list[str]:
        from pyarrow.fs import FileSelector, FileType

        (found,) = _read_store_safely(
            self.where, lambda: self.filesystem.get_file_info([self.root])
        )
        if found.type == FileType.NotFound:
            raise DataError(f"{self.where}: no such file.")
        if found.type == FileType.File:
            return [found.path]
        below = FileSelector(self.root, recursive=True)
        entries = _read_store_safely(self.where, lambda: self.filesystem.get_file_info(below))
        files = [entry.path for entry in entries if entry.type == FileType.File]
        shown = sorted(file for file in files if not _is_hidden(self._get_relative_path(file)))
        self.limits.check_limit("files", len(shown), where=self.where)
        if not shown:
            raise DataError(f"{self.where}: no file in this folder.")
        return shown

    def _get_relative_path(self, file: str) -> PurePosixPath:
        path, root = PurePosixPath(file), PurePosixPath(self.root)
        return path.relative_to(root) if path != root else PurePosixPath(path.name)

    def _choose_format(self, files: Sequence[str]) -> Any:
        import pyarrow.dataset as ds

        kinds = {self._get_file_type(file) for file in files}
        if len(kinds) > 1:
            raise DataError(f"{self.where}: expected files of one kind in a folder of a store.")
        (kind,) = kinds
        if kind is not CsvFile:
            return {"parquet": ds.ParquetFileFormat, "ipc": ds.IpcFileFormat}[_FORMATS[kind]]()
        from pyarrow import csv as arrow_csv

        names = self._read_header(files[0])
        return ds.CsvFileFormat(
            arrow_csv.ParseOptions(newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
            ),
        )

    def _get_file_type(self, file: str) -> Any:
        if file.lower().endswith(".gz"):
            raise DataError(
                f"{file}: compressed CSV can not be read from a store: decompress it, or use "
                f"Parquet."
            )
        known = {suffix: kind for suffix, kind in FILE_TYPES.items() if suffix not in _LOCAL_ONLY}
        for suffix, kind in known.items():
            if file.lower().endswith(suffix):
                return kind
        raise DataError(f"{file}: expected a file that ends in {', '.join(known)}.")

    def _read_header(self, file: str) -> list[str]:
        def read() -> list[list[str]]:
            with self.filesystem.open_input_stream(file) as stream:
                text = stream.read(_HEADER_BYTES).decode("utf-8-sig", errors="ignore")
            return list(itertools.islice((row for row in csv.reader(io.StringIO(text)) if row), 1))

        rows = _read_store_safely(file, read)
        if not rows:
            raise DataError(f"{file}: the file is empty.")
        check_names(rows[0], where=file)
        return rows[0]

    def _read_schema(self, form: Any, file: str) -> pa.Schema:
        if form.default_extname == "csv":
            return pa.schema([(name, pa.string()) for name in self._read_header(file)])
        return _read_store_safely(
            file, lambda: form.inspect(file, self.filesystem)
        ).remove_metadata()

    def _join_schemas(self, schemas: Sequence[pa.Schema], files: Sequence[str]) -> pa.Schema:
        for file, schema in zip(files, schemas, strict=True):
            check_names(schema.names, where=file)
            if schema.names != schemas[0].names:
                raise DataError(f"{file}: its columns differ from those of {files[0]}.")
        joined = try_call(
            functools.partial(pa.unify_schemas, schemas, promote_options="permissive")
        )
        if joined is None:
            raise DataError(f"{self.where}: the files hold different types in one column.")
        return joined


def _add_timeout(address: str) -> str:
    """Return an address with a timeout; Google's client retries for 15 minutes by default."""
    if get_scheme(address) not in {"gs", "gcs"} or "retry_limit_seconds=" in address:
        return address
    return f"{address}{'&' if '?' in address else '?'}retry_limit_seconds={_TIMEOUT_SECONDS}"


def _build_expression(keys: Sequence[tuple[str, str | None]]) -> Any:
    import pyarrow.dataset as ds

    equalities = [
        ds.field(name).is_null() if value is None else ds.field(name) == value
        for name, value in keys
    ]
    return functools.reduce(operator.and_, equalities) if equalities else None


def _is_hidden(below: PurePosixPath) -> bool:
    """Whether a file, or a folder above it, is to be skipped."""
    *folders, name = below.parts
    return name.startswith((".", "_")) or any(
        folder.startswith(".") or (folder.startswith("_") and "=" not in folder)
        for folder in folders
    )


def _read_store_safely(where: str, call: Callable[[], T]) -> T:
    """Return the result of `call`; of an error only its class is kept."""
    try:
        return call()
    except (OSError, ValueError, *UNREADABLE, pa.ArrowException) as error:
        problem = type(error).__name__
    raise DataError(
        f"{where}: can not be read ({problem}): check the address, and the keys and the region in "
        f"the environment."
    )
