"""The types of PostgreSQL: what is asked for, and what becomes of the answer."""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from tabpe.io.sql.reader import is_plain

# What reads as text: a code, an address, or letters that are filled up with blanks.
_TEXTS = ("bpchar", "citext", "cidr", "inet", "macaddr", "macaddr8", "uuid")
# What Arrow has a plain type for that means something else.
_REFUSED = ("money", "json", "jsonb")
_UNNAMED = re.compile(r"unnamed<oid:(\d+)>")
# The first day of the calendar of PostgreSQL, 4714 before our era. What is infinite, or too late
# for Arrow, comes out before it.
_FIRST_DAY = -2_440_588
_MICROSECONDS_A_DAY = 86_400_000_000
_FIRST = {32: _FIRST_DAY, 64: _FIRST_DAY * _MICROSECONDS_A_DAY}


@dataclass(frozen=True)
class Translated:
    """A column on its way from PostgreSQL to Arrow.

    Args:
        kind: Its type in Arrow.
        as_text: Whether it is asked for as text.
        refused: What PostgreSQL calls its type, if that can not be read.
        is_number: Whether its cells are numbers as text, which is exact.
    """

    kind: pa.DataType
    as_text: bool = False
    refused: str | None = None
    is_number: bool = False

    def term(self, name: str) -> str:
        """Return what to select, for a name that is quoted already."""
        return f"{name}::text" if self.as_text else name

    def cells(self, column: pa.Array) -> pa.Array:
        """Return cells as they came in the type of the column.

        A moment that is infinite, or beyond what Arrow can hold, is no value.
        """
        if pa.types.is_timestamp(self.kind) or pa.types.is_date(self.kind):
            column = _without_endless(column)
        if isinstance(column, pa.ExtensionArray):
            column = column.storage
        return _without_nan(column) if self.is_number else column


def translated(field: pa.Field, enums: Set[str]) -> Translated:
    """Return how a column is read.

    Args:
        field: The column as the driver tells it.
        enums: Types that list their values, by name and by number.
    """
    kind, name = field.type, _type_name(field)
    if name in _REFUSED:
        return Translated(pa.string(), refused=name)
    if name == "numeric":
        return Translated(pa.string(), is_number=True)
    if name in _TEXTS or name in enums:
        return Translated(pa.string(), as_text=True)
    if is_plain(kind):
        return Translated(kind)
    return Translated(pa.string(), refused=name)


def _type_name(field: pa.Field) -> str:
    """Return what PostgreSQL calls a type; its number if it is younger than the connection."""
    told = dict(field.metadata or {})
    name = told.get(b"POSTGRESQL:type") or told.get(b"ADBC:postgresql:typname") or b""
    found = name.decode() or getattr(field.type, "extension_name", str(field.type))
    unnamed = _UNNAMED.fullmatch(found)
    return unnamed[1] if unnamed else found.removeprefix("arrow.")


def _without_nan(text: pa.Array) -> pa.Array:
    """Return the text of numbers; what is not a number has no value."""
    missing = pc.fill_null(pc.equal(pc.utf8_lower(text), "nan"), True)  # noqa: FBT003
    return pc.if_else(missing, pa.scalar(None, text.type), text)


def _without_endless(column: pa.Array) -> pa.Array:
    """Return moments without those that are infinite or too late for Arrow, which are no value."""
    bits = column.type.bit_width
    numbers = column.view(pa.int32() if bits == 32 else pa.int64())  # noqa: PLR2004
    beyond = pc.less(numbers, _FIRST[bits])
    return pc.if_else(pc.fill_null(beyond, False), pa.scalar(None, column.type), column)  # noqa: FBT003
