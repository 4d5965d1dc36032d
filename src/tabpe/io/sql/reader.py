"""`Reader`: what a database is to a source, whichever it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from tabpe._arrow import is_text

# Kinds of columns that rows can be made of.
_PLAIN: tuple[Callable[[pa.DataType], bool], ...] = (
    is_text,
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_date,
    pa.types.is_timestamp,
    pa.types.is_time,
    pa.types.is_null,
)


@dataclass(frozen=True)
class Offer:
    """The columns that a table or a query has.

    Args:
        schema: Their names and types, as batches have them.
        refused: What the database calls the types of those that can not be read.
    """

    schema: pa.Schema
    refused: Mapping[str, str]


class Reader(Protocol):
    """A table or a query of a database that is open."""

    @property
    def offer(self) -> Offer:
        """Its columns, known without a look at a row."""
        ...

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Ask for some columns of all rows, in batches; nothing else leaves the database."""
        ...

    @property
    def cancel(self) -> Callable[[], object] | None:
        """What stops the database from another thread; None if only one thread may use it."""
        ...

    def close(self) -> None:
        """Let go of what was opened."""
        ...


def offer_of(schema: pa.Schema, refused: Mapping[str, str] | None = None) -> Offer:
    """Return columns as they are; those of a type that is not plain can not be read."""
    unread = {field.name: str(field.type) for field in schema if not is_plain(field.type)}
    return Offer(schema.remove_metadata(), {**unread, **(refused or {})})


def is_plain(kind: pa.DataType) -> bool:
    """Whether a cell of that type is one value: text, a truth, a number or a moment."""
    if pa.types.is_dictionary(kind):
        return is_plain(kind.value_type)
    return any(is_one(kind) for is_one in _PLAIN)
