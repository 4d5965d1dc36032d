"""Parts of a table, to be read apart: each row is in one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from tabpe.io.source import Source


@runtime_checkable
class Divisible(Protocol):
    """A table that can be cut."""

    def parts(self, most: int) -> Sequence[Source]:
        """Return at most so many parts, about even in size; a part may have no row."""
        ...


def parts_of(source: Source, most: int) -> list[Source]:
    """Return a table in parts, about even in size; as a whole if it can not be cut.

    Args:
        source: The table.
        most: How many parts to make at most.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.io import open_source
        >>> [part.most_rows for part in parts_of(open_source(pa.table({"age": range(7)})), 3)]
        [2, 2, 3]
    """
    return list(source.parts(most)) if isinstance(source, Divisible) else [source]
