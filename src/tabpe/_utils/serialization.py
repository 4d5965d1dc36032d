"""Read and write plain values and arrays, strictly and without pickle.

`read_dataclass` reads plain values back by the types of the fields. A value that does not fit is an
`ArchiveError` that names the field. Nothing is converted except what JSON can not distinguish:
lists are tuples, words are members of an enum, 1 is 1.0.

`Archive` is a saved model: a versioned zip of JSON and plain arrays. Nothing is executed on load.
Its members are stored without compression, so a file takes about as much memory as it is long: a
few kilobytes can not expand to gigabytes, however members overlap or archives are nested.
"""

from __future__ import annotations

import dataclasses
import enum
import io
import json
import math
import re
import struct
import sys
import types
import typing
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from tabpe._utils import files
from tabpe._utils.files import open_regular
from tabpe._utils.validation import is_encodable_text
from tabpe.errors import ArchiveError, TabpeError, shown

T = TypeVar("T")


def read_dataclass(kind: type[T], plain: Any, *, where: str) -> T:
    """Read a dataclass from plain values.

    Keys that are not fields are ignored: they are for human readers.

    Args:
        kind: A dataclass whose fields have types that plain values can represent.
        plain: The plain values.
        where: Its name in errors.

    Example:
        >>> @dataclasses.dataclass
        ... class Visit:
        ...     ward: str
        ...     days: tuple[int, ...] = ()
        >>> read_dataclass(Visit, {"ward": "heart", "days": [1, 2]}, where="visit")
        Visit(ward='heart', days=(1, 2))
        >>> read_dataclass(Visit, {"ward": "heart", "days": [1, "2"]}, where="visit")
        Traceback (most recent call last):
        tabpe.errors.ArchiveError: visit.days[1]='2': expected a whole number.
    """
    try:
        found: T = _build_dataclass(kind, plain, where)
    except RecursionError:
        raise ArchiveError(f"{where}: nested too deeply.") from None
    return found


def read_value(hint: Any, given: Any, *, where: str) -> Any:
    """Read a value of type `hint` from a plain value.

    Example:
        >>> read_value(tuple[float, ...], [1, 2.5], where="bounds")
        (1.0, 2.5)
    """
    try:
        return _parse_value(hint, given, where)
    except RecursionError:
        raise ArchiveError(f"{where}: nested too deeply.") from None


def _build_dataclass(kind: Any, plain: Any, where: str) -> Any:
    given = _parse_mapping((str, Any), plain, where, deep=False)
    hints = typing.get_type_hints(kind)
    found = {}
    for field in dataclasses.fields(kind):
        if field.name in given:
            found[field.name] = _parse_value(
                hints[field.name], given[field.name], f"{where}.{field.name}"
            )
        elif _is_required(field):
            raise ArchiveError(f"{where}.{field.name}: missing.")
    try:
        return kind(**found)
    except ArchiveError:
        raise
    except TabpeError as error:
        raise ArchiveError(f"{where}: {error}") from None


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _parse_value(hint: Any, given: Any, where: str) -> Any:
    if dataclasses.is_dataclass(hint):
        return _build_dataclass(hint, given, where)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _parse_enum(hint, given, where)
    if hint in _SCALARS:
        check, expected = _SCALARS[hint]
        if not check(given):
            raise _make_type_error(where, given, expected)
        return float(given) if hint is float else given
    return _COMPOUNDS[typing.get_origin(hint)](typing.get_args(hint), given, where)


def _parse_enum(kind: type[enum.Enum], given: Any, where: str) -> enum.Enum:
    for member in kind:
        if type(member.value) is type(given) and member.value == given:
            return member
    raise _make_type_error(
        where, given, f"one of {', '.join(str(member.value) for member in kind)}"
    )


def _parse_sequence(hints: tuple[Any, ...], given: Any, where: str) -> list[Any]:
    if not isinstance(given, (list, tuple)):
        raise _make_type_error(where, given, "a list")
    return [_parse_value(hints[0], item, f"{where}[{index}]") for index, item in enumerate(given)]


def _parse_tuple(hints: tuple[Any, ...], given: Any, where: str) -> tuple[Any, ...]:
    return tuple(_parse_sequence(hints, given, where))


def _parse_mapping(
    hints: tuple[Any, ...], given: Any, where: str, *, deep: bool = True
) -> dict[str, Any]:
    if not isinstance(given, Mapping) or not all(map(is_encodable_text, given)):
        raise _make_type_error(where, given, "a mapping")
    if not deep:
        return dict(given)
    return {key: _parse_value(hints[1], item, f"{where}.{key}") for key, item in given.items()}


def _parse_union(hints: tuple[Any, ...], given: Any, where: str) -> Any:
    refused = None
    for hint in hints:
        try:
            return _parse_value(hint, given, where)
        except ArchiveError as error:
            refused = refused or error
    raise refused or _make_type_error(where, given, "another value")


def _parse_literal(options: tuple[Any, ...], given: Any, where: str) -> Any:
    for option in options:
        if type(option) is type(given) and option == given:
            return option
    raise _make_type_error(where, given, f"one of {', '.join(map(str, options))}")


def is_plain(given: Any) -> bool:
    """Return whether a value survives a round trip through JSON."""
    if isinstance(given, Mapping):
        return all(map(is_encodable_text, given)) and all(map(is_plain, given.values()))
    if isinstance(given, (list, tuple)):
        return all(map(is_plain, given))
    return is_encodable_text(given) or given is None or isinstance(given, bool) or _is_number(given)


def _is_number(given: Any) -> bool:
    number = isinstance(given, (int, float)) and not isinstance(given, bool)
    return number and abs(given) <= sys.float_info.max


def _make_type_error(where: str, given: Any, expected: str) -> ArchiveError:
    return ArchiveError(f"{where}={shown(given)}: expected {expected}.")


_SCALARS: dict[Any, tuple[Callable[[Any], bool], str]] = {
    Any: (is_plain, "plain values"),
    bool: (lambda given: isinstance(given, bool), "true or false"),
    float: (_is_number, "a finite number"),
    int: (lambda given: type(given) is int, "a whole number"),
    str: (is_encodable_text, "text"),
    type(None): (lambda given: given is None, "null"),
}
_COMPOUNDS: dict[Any, Callable[[tuple[Any, ...], Any, str], Any]] = {
    dict: _parse_mapping,
    Mapping: _parse_mapping,
    list: _parse_sequence,
    Sequence: _parse_sequence,
    tuple: _parse_tuple,
    types.UnionType: _parse_union,
    typing.Union: _parse_union,
    typing.Literal: _parse_literal,
}


def parse_strict_json(text: str | bytes) -> Any:
    """Parse JSON strictly.

    Raises:
        ValueError: If it is not JSON, has a duplicate key, NaN or Infinity, or a number that no
            float can hold.

    Example:
        >>> parse_strict_json('{"a": [1, null]}')
        {'a': [1, None]}
        >>> parse_strict_json('{"a": NaN}')
        Traceback (most recent call last):
        ValueError: NaN is not a JSON number
        >>> parse_strict_json("1e999")
        Traceback (most recent call last):
        ValueError: a number that no float can hold
    """
    return json.loads(
        text,
        object_pairs_hook=_reject_duplicate_keys,
        parse_constant=_reject_constant,
        parse_float=_parse_float,
        parse_int=_parse_int,
    )


def _reject_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key is given twice")
    return dict(pairs)


def _reject_constant(constant: str) -> float:
    raise ValueError(f"{constant} is not a JSON number")


def _parse_float(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError("a number that no float can hold")
    return number


def _parse_int(digits: str) -> int:
    _parse_float(digits)
    return int(digits)


FORMAT = 2
LARGEST_ARCHIVE = 8 * 2**30
LARGEST_TEXT = 64 * 2**20
_TEXT, _ARRAYS, _ARRAY = "model.json", "rows.npz", ".npy"
_LONGEST_HEADER = 2**12
_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '(?P<kind>[<>|][fiu][1248])', "
    rb"'fortran_order': (?P<fortran>True|False), 'shape': \((?P<shape>[\d, ]*)\), \} *\n",
    re.DOTALL,
)
_UNREADABLE = (
    OSError, EOFError, KeyError, ValueError, NotImplementedError, RuntimeError, OverflowError,
    TypeError, MemoryError, struct.error, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Archive:
    """The content of a saved model: public values and synthetic rows.

    Args:
        text: Plain values.
        arrays: Arrays by name.
    """

    text: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]

    def save(self, path: Path) -> None:
        """Write the archive atomically."""
        files.write_file(path, self.write_into)

    def write_into(self, file: BinaryIO) -> None:
        """Write the archive into an open file."""
        if any(array.dtype.hasobject for array in self.arrays.values()):
            raise ArchiveError("arrays of objects can not be saved: that would need pickle.")
        arrays = io.BytesIO()
        np.savez(arrays, **dict[str, Any](self.arrays))
        with zipfile.ZipFile(file, "w") as archive:
            text = json.dumps({"format": FORMAT, **self.text}, indent=2)
            for name, part in ((_TEXT, text), (_ARRAYS, arrays.getvalue())):
                # Without the time of writing, which would reveal how long counting rows took.
                archive.writestr(zipfile.ZipInfo(name), part)

    @classmethod
    def load(cls, path: Path) -> Archive:
        """Read an archive."""
        with open_regular(path, ArchiveError) as file:
            try:
                text, arrays = _read_parts(path, file)
            except ArchiveError:
                raise
            except _UNREADABLE:
                raise ArchiveError(f"{path}: not a saved tabpe model.") from None
        if not isinstance(text, dict) or text.get("format") != FORMAT:
            raise ArchiveError(f"{path}: saved in another format: expected {FORMAT}.")
        return cls(text, arrays)


def _read_parts(path: Path, file: BinaryIO) -> tuple[Any, dict[str, NDArray[Any]]]:
    with zipfile.ZipFile(file) as archive:
        _check_parts(path, archive, _get_length(file))
        if set(archive.namelist()) != {_TEXT, _ARRAYS}:
            raise ValueError("unknown members")
        if archive.getinfo(_TEXT).file_size > LARGEST_TEXT:
            raise ArchiveError(f"{path}: its text has more than {LARGEST_TEXT:,} bytes.")
        text = parse_strict_json(archive.read(_TEXT))
        arrays = io.BytesIO(archive.read(_ARRAYS))
    with zipfile.ZipFile(arrays) as inner:
        _check_parts(path, inner, _get_length(arrays))
        return text, {
            part.filename.removesuffix(_ARRAY): _read_array(inner, part)
            for part in inner.infolist()
        }


def _read_array(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> NDArray[Any]:
    """Read an array of numbers in the format of numpy.

    Not with numpy, which evaluates the header and allocates the memory that the header claims.
    """
    with archive.open(part) as file:
        header = _HEADER.fullmatch(file.readline(_LONGEST_HEADER))
        if header is None or not part.filename.endswith(_ARRAY):
            raise ValueError("not an array of plain numbers")
        shape = [int(size) for size in header["shape"].decode().split(",") if size.strip()]
        kind = np.dtype(header["kind"].decode())
        if part.file_size != header.end() + math.prod(shape) * kind.itemsize:
            raise ValueError("not as long as its shape says")
        numbers = np.frombuffer(file.read(), kind)
    return numbers.reshape(shape, order="F" if header["fortran"] == b"True" else "C")


def _check_parts(path: Path, archive: zipfile.ZipFile, length: int) -> None:
    """Refuse members that are duplicated, compressed, or together longer than the file."""
    parts = archive.infolist()
    if len({part.filename for part in parts}) < len(parts):
        raise ArchiveError(f"{path}: a member of the saved model is duplicated.")
    if any(part.compress_type != zipfile.ZIP_STORED for part in parts):
        raise ArchiveError(
            f"{path}: its members are compressed: expected format {FORMAT}, in which they are not."
        )
    if sum(part.file_size for part in parts) > min(length, LARGEST_ARCHIVE):
        raise ArchiveError(
            f"{path}: its members are longer than the file, or than {LARGEST_ARCHIVE:,} bytes."
        )


def _get_length(file: BinaryIO) -> int:
    return file.seek(0, io.SEEK_END)
