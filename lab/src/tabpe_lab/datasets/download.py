"""Files of published data sets: found on this machine, or downloaded and checked.

A file is looked for in

1. the folder that the variable `TABPE_DATA` names
2. `../shared/data` beside the working folder, and beside a checkout of the source
3. the cache in the data folder of the user, to which downloads go

A download is converted to the form that the loaders read, and its content must have a known
SHA-256: a source that has changed is refused. Of some files only the size of each part is known, or
the name that Git gives to its content; then these are checked. Only data sets that are loaded are
downloaded.
"""

from __future__ import annotations

import hashlib
import os
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from tabpe._utils import files
from tabpe._utils.arrays import try_call
from tabpe.errors import DataError, OutputError
from tabpe.io import read_table
from tabpe.schema import Categorical, Column, Integer, Schema

SECONDS = 60.0
Opener = Callable[[str], BinaryIO]


@dataclass(frozen=True)
class ConvertedFile:
    """A file as it is kept.

    Args:
        file: Its bytes.
        content: Its content before compression, which differs between versions.
    """

    file: bytes
    content: bytes


@dataclass(frozen=True)
class RemoteFile:
    """A file that is converted from published ones.

    Args:
        urls: The published parts.
        convert: Converts the parts to the file, and refuses what they can not be.
        sha256: SHA-256 of its content; None if it was never seen whole.
        most: The largest size of a part, in bytes.
        sizes: The size of each part, in bytes; none if `sha256` says enough.
        blobs: The name of each part in Git, as far as it is known: SHA-1 of its size and content.
    """

    urls: tuple[str, ...]
    convert: Callable[[Sequence[bytes]], ConvertedFile]
    sha256: str | None
    most: int = 64 * 2**20
    sizes: tuple[int, ...] = ()
    blobs: tuple[str | None, ...] = ()


def download_file(remote: RemoteFile, path: Path, *, opener: Opener | None = None) -> Path:
    """Download and convert a file, atomically.

    Args:
        remote: The parts and their conversion.
        path: The file; its folder is created.
        opener: Opens a URL; None for the network.

    Raises:
        DataError: If a part can not be had, is too large, or is not what it was.
    """
    parts = [_fetch_part(url, remote.most, opener or opened) for url in remote.urls]
    _check_parts(remote, parts)
    converted = _convert_parts(remote, parts)
    digest = hashlib.sha256(converted.content).hexdigest()
    if remote.sha256 is not None and digest != remote.sha256:
        raise DataError(f"{remote.urls[0]}: the content has changed since it was last looked at.")
    files.make_private_folder(path.parent)
    files.write_file(path, files.make_filler(converted.file))
    return path


def opened(url: str) -> BinaryIO:
    """Open a URL over the network."""
    if not url.startswith("https://"):
        raise DataError(f"{url}: expected a URL that begins with https.")
    answer: BinaryIO = urllib.request.urlopen(url, timeout=SECONDS)  # noqa: S310 - https, see above
    return answer


def _fetch_part(url: str, most: int, opener: Opener) -> bytes:
    try:
        with opener(url) as answer:
            content = answer.read(most + 1)
    except OSError as error:
        reason = getattr(error, "reason", None) or error
        raise DataError(f"{url}: {reason}.") from None
    if len(content) > most:
        raise DataError(f"{url}: larger than {most:,} bytes.")
    return content


def _check_parts(remote: RemoteFile, parts: Sequence[bytes]) -> None:
    """Refuse parts of another size, or with another name in Git."""
    for url, part, size in zip(remote.urls, parts, remote.sizes, strict=False):
        if len(part) != size:
            raise DataError(f"{url}: {len(part):,} bytes, expected {size:,}: it has changed.")
    for url, part, blob in zip(remote.urls, parts, remote.blobs, strict=False):
        if blob is not None and compute_git_blob(part) != blob:
            raise DataError(f"{url}: not the content that its authors committed.")


def compute_git_blob(content: bytes) -> str:
    r"""Return the name that Git gives to a file of this content.

    Example:
        >>> compute_git_blob(b"hello\n")
        'ce013625030ba8dba906f756967f9e9ca394464a'
    """
    named = b"blob %d\0%b" % (len(content), content)
    return hashlib.sha1(named, usedforsecurity=False).hexdigest()


def _convert_parts(remote: RemoteFile, parts: Sequence[bytes]) -> ConvertedFile:
    try:
        return remote.convert(parts)
    except Exception as error:  # whatever is wrong with it, it is not what it was
        kind = type(error).__name__
    raise DataError(f"{remote.urls[0]}: not the kind of file that it was ({kind}).")


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
    remote: RemoteFile

    def find_or_download(self) -> Path:
        """Return where the file is, after a download if it is nowhere.

        Raises:
            DataError: If it is nowhere and can not be downloaded.
        """
        here = self.find_local()
        if here is not None:
            return here
        try:
            return download_file(self.remote, _cache() / self.name)
        except (DataError, OutputError) as error:
            reason = str(error).rstrip(".")
        raise DataError(self._describe_missing(reason))

    def find_local(self) -> Path | None:
        """Return where on this machine the file is; None if it is nowhere."""
        paths = (folder / self.name for folder in _list_folders())
        return next((path for path in paths if path.is_file()), None)

    def _describe_missing(self, reason: str) -> str:
        places = ", ".join(str(folder) for folder in _list_folders())
        return (
            f"{self.name}: not in {places}, and it can not be downloaded ({reason}). Where there "
            f"is a network, load the data set once and copy the file from the cache, or make it of "
            f"{' and '.join(self.remote.urls)} as docs/how-to/data-sets.md says; then set "
            f"{VARIABLE} to its folder."
        )


def read_columns(file: DataFile, schema: Schema) -> pa.Table:
    """Return the columns of a file that a schema declares, with the types that it declares."""
    path = file.find_or_download()
    table = read_table(path)
    lacking = [name for name in schema.names if name not in table.column_names]
    if lacking:
        raise DataError(f"{path}: no column {', '.join(map(repr, lacking))}: another file?")
    return pa.table({column.name: _cast_column(path, table, column) for column in schema.columns})


def _cast_column(path: Path, table: pa.Table, column: Column) -> pa.ChunkedArray:
    cells = table[column.name]
    typed = try_call(lambda: cells.cast(_get_arrow_type(column)))
    if typed is None:
        raise DataError(f"{path}: column {column.name!r} is not of type {column.type_name}.")
    return typed


def _get_arrow_type(column: Column) -> pa.DataType:
    if isinstance(column, Categorical):
        return pa.string() if isinstance(column.values[0], str) else pa.int64()
    return pa.int64() if isinstance(column, Integer) else pa.float64()


def _list_folders() -> Iterator[Path]:
    given = os.environ.get(VARIABLE)
    if given:
        yield Path(given)
    yield Path.cwd().parent / _SHARED
    checkout = Path(__file__).resolve().parents[4]
    if (checkout / "pyproject.toml").is_file() and checkout != Path.cwd():
        yield checkout.parent / _SHARED
    yield _cache()


def _cache() -> Path:
    return files.get_data_folder() / "datasets"
